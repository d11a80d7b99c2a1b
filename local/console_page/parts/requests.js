// What requests cost, beside what they loaded and all in one panel, with their GraphQL to copy.
import { html } from 'htm/preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { requests } from '../api.js';
import { endpoint } from '../config.js';
import { plural, time, unitCount } from '../format.js';
import { apiKey } from '../session.js';
import { Store, useStore } from '../store.js';
import { Copy } from './copy.js';

const NO_PANEL = { open: false, number: null };
const panel = new Store(NO_PANEL);

const togglePanel = () => panel.set(panel.value.open ? NO_PANEL : { open: true, number: null });

const totalUnits = ({ readUnits, writeUnits }) => readUnits + writeUnits;

export function costText({ consumed, milliseconds }) {
  const took = `${Math.max(1, Math.round(milliseconds))} ms`;
  if (!consumed) return took;
  const count = totalUnits(consumed);
  const units = `${unitCount(count)} ${count === 1 ? 'unit' : 'units'}`;
  return `${units} · ${plural(consumed.requests, 'request')} · ${took}`;
}

// What a request cost; a click shows its GraphQL.
export function Cost({ request }) {
  if (!request) return null;
  const show = () => panel.set({ open: true, number: request.number });
  return html`<button type="button" class="cost" title="Show the GraphQL" onClick=${show}>
    ${costText(request)}
  </button>`;
}

export function PanelButton() {
  const all = useStore(requests);
  const { open } = useStore(panel);
  const units = all.reduce((sum, { consumed }) => sum + (consumed ? totalUnits(consumed) : 0), 0);
  return html`<button type="button" class="button small" aria-expanded=${open} onClick=${togglePanel}>
    Requests <span class="count">${unitCount(units)} units</span>
  </button>`;
}

export function RequestPanel() {
  const { open, number } = useStore(panel);
  const all = useStore(requests);
  const heading = useRef();
  useLayoutEffect(() => {
    if (!open) return undefined;
    const opener = document.activeElement;
    heading.current.focus();
    const close = (event) => event.key === 'Escape' && panel.set(NO_PANEL);
    addEventListener('keydown', close);
    return () => {
      removeEventListener('keydown', close);
      opener?.focus();
    };
  }, [open]);
  if (!open) return null;
  return html`<aside class="panel" aria-label="Requests">
    <header>
      <h2 tabindex="-1" ref=${heading}>Requests</h2>
      <button type="button" class="button small" onClick=${togglePanel}>Close</button>
    </header>
    <p class="muted">
      The last ${all.length} of this page, newest first. Units are those that DynamoDB reports; operators
      alone see them.
    </p>
    <ol>
      ${all.map((request) => html`<${Item} key=${request.number} request=${request} open=${request.number === number} />`)}
    </ol>
  </aside>`;
}

function Item({ request, open }) {
  const { name, query, variables, error, at } = request;
  return html`<li>
    <details open=${open}>
      <summary>
        <span class="request-name">${name}${error && html`<span class="badge bad">${error}</span>`}</span>
        <span class="muted">${costText(request)} · ${time(at)}</span>
      </summary>
      <pre tabindex="0">${query}</pre>
      <pre tabindex="0">${JSON.stringify(variables, null, 2)}</pre>
      <p class="row">
        <${Copy} text=${query} label="Copy GraphQL" />
        <${Copy} text=${JSON.stringify(variables, null, 2)} label="Copy variables" />
        <${Copy} text=${curl(query, variables)} label="Copy curl" />
      </p>
    </details>
  </li>`;
}

function curl(query, variables) {
  const body = JSON.stringify({ query, variables }).replaceAll("'", "'\\''");
  return `curl ${endpoint} -H 'x-api-key: ${apiKey()}' -H 'content-type: application/json' -d '${body}'`;
}
