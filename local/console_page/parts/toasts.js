// Short messages in the corner, which screen readers read out.
import { html } from 'htm/preact';
import { Store, useStore } from '../store.js';

const SHOWN_MILLISECONDS = 5_000;
const messages = new Store([]);
let count = 0;

export function say(text, kind = 'good') {
  const message = { number: (count += 1), text, kind };
  messages.set([...messages.value, message]);
  setTimeout(() => messages.set(messages.value.filter((each) => each !== message)), SHOWN_MILLISECONDS);
}

export function Toasts() {
  const shown = useStore(messages);
  return html`<div class="toasts" role="status" aria-live="polite">
    ${shown.map(({ number, text, kind }) => html`<div key=${number} class="toast" data-kind=${kind}>${text}</div>`)}
  </div>`;
}
