// A titled section with what it cost to load.
import { html } from 'htm/preact';
import { useId } from 'preact/hooks';
import { Cost } from './requests.js';

export function Card({ title, request, children, aside, class: name = '' }) {
  const id = useId();
  return html`<section class="card ${name}" aria-labelledby=${id}>
    <header class="card-head">
      <h2 id=${id}>${title}</h2>
      ${aside}
      <${Cost} request=${request} />
    </header>
    ${children}
  </section>`;
}
