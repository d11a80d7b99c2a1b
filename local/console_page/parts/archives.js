// The board's archives, with the best entries of each.
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { dateTime, number, plural } from '../format.js';
import { ARCHIVES } from '../queries.js';
import { useQuery } from '../use_query.js';
import { Card } from './card.js';
import { Empty, Loading, Problem } from './states.js';
import { ParticipantName, ScoreText } from './text.js';

export function Archives({ board }) {
  const [tokens, setTokens] = useState([null]); // of this page and those before
  const { data, error, loading, request, reload } = useQuery(ARCHIVES, {
    id: board.id,
    nextToken: tokens.at(-1),
  });
  const page = data?.leaderboard.archives;
  let content;
  if (error && !data) content = html`<${Problem} error=${error} onRetry=${reload} />`;
  else if (loading) content = html`<${Loading} rows="2" label="Loading the archives" />`;
  else if (!page.items.length)
    content = html`<${Empty} title="No archives yet"
      ><p class="muted">
        Ended periods are archived by themselves; operators archive standings at any time.
      </p><//
    >`;
  else
    content = page.items.map(
      (archive) => html`<${Archive} key=${archive.id} archive=${archive} board=${board} />`,
    );
  return html`<${Card} title="Archives" request=${request}>
    ${content}
    ${
      (page?.nextToken || tokens.length > 1) &&
      html`<p class="row">
        <button
          class="button small"
          disabled=${tokens.length === 1}
          onClick=${() => setTokens(tokens.slice(0, -1))}
        >
          ‹ Newer
        </button>
        <button
          class="button small"
          disabled=${!page?.nextToken}
          onClick=${() => setTokens([...tokens, page.nextToken])}
        >
          Older ›
        </button>
      </p>`
    }
  <//>`;
}

function Archive({ archive, board }) {
  const { period, takenAt, size, entries } = archive;
  return html`<details class="archive">
    <summary>
      <strong>${period}</strong>
      <span class="muted">${dateTime(takenAt)} · ${plural(size, 'entry', 'entries')}</span>
    </summary>
    <table aria-label="Best entries of ${period}">
      <thead>
        <tr>
          <th scope="col" class="number">Rank</th>
          <th scope="col">Participant</th>
          <th scope="col" class="number">Score</th>
        </tr>
      </thead>
      <tbody>
        ${entries.items.map(
          ({ participant, score, rank }, at) =>
            html`<tr key=${at}>
              <td class="number rank">${rank ? number(rank.rank) : '–'}</td>
              <th scope="row"><${ParticipantName} participant=${participant} board=${board.id} /></th>
              <td class="number"><${ScoreText} display=${score.display} /></td>
            </tr>`,
        )}
      </tbody>
    </table>
    ${
      size > entries.items.length &&
      html`<p class="muted">
        And ${number(size - entries.items.length)} more:${' '}
        <code>leaderboard export ${board.id} --archive ${archive.id}</code>
      </p>`
    }
  </details>`;
}
