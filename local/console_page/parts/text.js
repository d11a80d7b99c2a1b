// Text that users wrote: shown as it is, in its own direction.
import { html } from 'htm/preact';
import { ago, dateTime, splitScore } from '../format.js';
import { link } from '../router.js';

const SHOWN_COMPONENTS = 3; // after the first

export function ParticipantName({ participant, board, period, plain = false }) {
  const { id, displayName } = participant;
  if (!id) return html`<span class="muted">forgotten</span>`;
  const name = html`<bdi class="name">${displayName ?? id}</bdi>`;
  return html`<span class="participant">
    ${plain ? name : html`<a href=${link(['participants', id], { board, period })}>${name}</a>`}
    ${!plain && displayName && displayName !== id && html`<bdi class="id">${id}</bdi>`}
  </span>`;
}

export function ScoreText({ display }) {
  const { first, rest } = splitScore(display);
  return html`<span class="score" title=${rest.length ? display : undefined}>
    <span class="score-first">${first}</span>
    ${rest.length > 0 && html`<span class="score-rest"> / ${shorten(rest)}</span>`}
  </span>`;
}

function shorten(rest) {
  const shown = rest.slice(0, SHOWN_COMPONENTS).join(' / ');
  return rest.length > SHOWN_COMPONENTS ? `${shown} …` : shown;
}

export const Ago = ({ at }) => html`<time datetime=${at} title=${dateTime(at)}>${ago(at)}</time>`;

// One of eight shades by the bucket's place among its board's.
export function shade(name, buckets) {
  const at = buckets.findIndex((bucket) => bucket.name === name);
  return at < 0 ? 7 : Math.round((at * 7) / Math.max(buckets.length - 1, 1));
}

export function BucketName({ name, buckets = [] }) {
  return html`<span class="bucket"
    ><i class="dot" data-shade=${shade(name, buckets)}></i><bdi>${name}</bdi></span
  >`;
}
