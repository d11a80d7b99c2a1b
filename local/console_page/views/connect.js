// Where the API is and how to call it.
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { endpoint, graphiqlUrl, keys, placesUrl } from '../config.js';
import { useTitle } from '../title.js';
import { Card } from '../parts/card.js';
import { DemoCard } from '../parts/demo.js';
import { Copy } from '../parts/copy.js';
import { Loading, Problem } from '../parts/states.js';

const EXAMPLE = `curl ${endpoint} -H 'x-api-key: ${keys.operator}' -H 'content-type: application/json' \\
  -d '{"query": "{ leaderboards { items { id title } } }"}'`;
const SUBSCRIBE = `.venv/bin/leaderboard watch BOARD PARTICIPANT   # each change of rank bucket
.venv/bin/leaderboard watch BOARD --top         # each change of the top`;

export function ConnectView() {
  useTitle('Connect');
  const [{ places, error }, setState] = useState({});
  useEffect(() => {
    fetch(placesUrl, { headers: { accept: 'application/json' } })
      .then(async (response) => setState({ places: await response.json() }))
      .catch(() => setState({ error: { type: 'Unreachable' } }));
  }, []);
  return html`<div class="view">
    <header class="view-head">
      <div><h1>Connect</h1></div>
      <a class="button" href=${graphiqlUrl}>Open GraphiQL</a>
    </header>
    <${Card} title="Addresses and keys">
      ${error && html`<${Problem} error=${error} />`} ${!error && !places && html`<${Loading} />`}
      ${
        places &&
        html`<dl class="pairs">
          ${Object.entries(places).map(
            ([name, text]) =>
              html`<div key=${name}>
                <dt>${name}</dt>
                <dd>${text}</dd>
              </div>`,
          )}
        </dl>`
      }
    <//>
    <${DemoCard} />
    <${Card} title="A first request">
      <pre tabindex="0">${EXAMPLE}</pre>
      <p><${Copy} text=${EXAMPLE} /></p>
    <//>
    <${Card} title="Live events in a terminal">
      <pre tabindex="0">${SUBSCRIBE}</pre>
      <p><${Copy} text=${SUBSCRIBE} /></p>
    <//>
  </div>`;
}
