// The bar at the top: where to go, whether events come, and who the page acts as.
import { html } from 'htm/preact';
import { graphiqlUrl, keys } from '../config.js';
import { connection } from '../live.js';
import { go, link } from '../router.js';
import { role } from '../session.js';
import { useStore } from '../store.js';
import { PanelButton } from './requests.js';

const PLACES = [
  ['boards', 'Boards'],
  ['connect', 'Connect'],
];
const STATES = { connecting: 'Connecting', live: 'Live', lost: 'Reconnecting' };
const ROLES = [
  ['operator', 'Operator', `Key ${keys.operator}: may do everything`],
  ['public', 'Public', `Key ${keys.public}: what public clients may do`],
];

export function Header({ current }) {
  const state = useStore(connection);
  return html`<header class="top">
      <a class="brand" href=${link(['boards'])}
        ><img src="console/icon.svg" alt="" width="22" height="22" />Leaderboard</a
      >
      <nav aria-label="Main">
        ${PLACES.map(
          ([name, label]) =>
            html`<a key=${name} href=${link([name])} aria-current=${name === current ? 'page' : undefined}
              >${label}</a
            >`,
        )}
        <a href=${graphiqlUrl}>GraphiQL</a>
      </nav>
      <${ParticipantSearch} />
      <div class="top-end">
        <span class="connection" data-state=${state} role="status"><i class="dot"></i>${STATES[state]}</span>
        <${RoleSwitch} />
        <${PanelButton} />
      </div>
    </header>
    ${
      state === 'lost' &&
      html`<p class="banner" role="alert">
        The connection is lost. What you see may be out of date; it is loaded again once the server is back.
      </p>`
    }`;
}

function ParticipantSearch() {
  const search = (event) => {
    event.preventDefault();
    const id = new FormData(event.target).get('participant').trim();
    if (id) go(['participants', id]);
  };
  return html`<form class="search" role="search" onSubmit=${search}>
    <input
      name="participant"
      type="search"
      placeholder="Participant"
      aria-label="Go to a participant by id"
      autocomplete="off"
    />
  </form>`;
}

function RoleSwitch() {
  const current = useStore(role);
  return html`<div class="segments" role="group" aria-label="Act as">
    ${ROLES.map(
      ([name, label, meaning]) =>
        html`<button
          key=${name}
          type="button"
          aria-pressed=${current === name}
          title=${meaning}
          onClick=${() => role.set(name)}
        >
          ${label}
        </button>`,
    )}
  </div>`;
}
