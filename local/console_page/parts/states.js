// What shows instead of data: nothing yet, nothing there, or an error.
import { html } from 'htm/preact';

export function Loading({ rows = 5, label = 'Loading' }) {
  return html`<div class="loading" role="status">
    <span class="hidden-text">${label}…</span>
    ${Array.from({ length: rows }, (_, at) => html`<div class="bone" key=${at}></div>`)}
  </div>`;
}

export function Empty({ title, children }) {
  return html`<div class="empty">
    <p class="empty-title">${title}</p>
    ${children}
  </div>`;
}

export function Problem({ error, onRetry }) {
  const unreachable = error.type === 'Unreachable';
  return html`<div class="problem" role="alert">
    <p><strong>${unreachable ? 'The server does not answer' : error.type}</strong></p>
    <p>${unreachable ? 'It is tried again as soon as the connection is back.' : error.message}</p>
    ${onRetry && html`<button class="button small" onClick=${onRetry}>Try again</button>`}
  </div>`;
}
