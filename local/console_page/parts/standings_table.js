// Entries as a table. What moves slides to its new place and, where `moves` are given, says by how much.
import { html } from 'htm/preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { number } from '../format.js';
import { Ago, BucketName, ParticipantName, ScoreText } from './text.js';

const SLIDE_MILLISECONDS = 450;
const MOVES_MILLISECONDS = 12_000; // as long as console.css has them fade
const still = matchMedia('(prefers-reduced-motion: reduce)');

export function StandingsTable({ entries, board, period, highlighted, moves, label }) {
  const body = useRef();
  useSlide(body, entries);
  return html`<table class="standings" aria-label=${label}>
    <thead>
      <tr>
        <th scope="col" class="number">Rank</th>
        ${moves && html`<th scope="col"><span class="hidden-text">Moved</span></th>`}
        <th scope="col">Participant</th>
        <th scope="col" class="wide">Rank bucket</th>
        <th scope="col" class="number">Score</th>
        <th scope="col" class="number wide">Achieved</th>
      </tr>
    </thead>
    <tbody ref=${body}>
      ${entries.map((entry) => {
        const { id } = entry.participant;
        const isHighlighted = id === highlighted;
        return html`<tr key=${id} data-participant=${id} aria-current=${isHighlighted ? 'true' : undefined}>
          <td class="number rank">${entry.rank ? number(entry.rank.rank) : '–'}</td>
          ${moves && html`<td class="moved"><${Move} key=${moves.get(id)?.number} ...${moves.get(id)} /></td>`}
          <th scope="row">
            <${ParticipantName} participant=${entry.participant} board=${board.id} period=${period} />
          </th>
          <td class="wide">
            ${entry.rank && html`<${BucketName} name=${entry.rank.bucket.name} buckets=${board.rankBuckets} />`}
          </td>
          <td class="number"><${ScoreText} display=${entry.score.display} /></td>
          <td class="number wide muted"><${Ago} at=${entry.achievedAt} /></td>
        </tr>`;
      })}
    </tbody>
  </table>`;
}

function Move({ kind, by }) {
  if (kind === undefined) return null;
  if (kind === 'new') return html`<span class="move new">new</span>`;
  if (kind === 'score')
    return html`<span class="move score" title="New score"
      >•<span class="hidden-text">new score</span></span
    >`;
  const up = by > 0;
  return html`<span class="move ${up ? 'up' : 'down'}">
    <span aria-hidden="true">${up ? '▲' : '▼'}${Math.abs(by)}</span>
    <span class="hidden-text">${up ? 'up' : 'down'} ${Math.abs(by)}</span>
  </span>`;
}

// Return how each participant moved when the entries last changed, by id. `key` names the standings.
export function useMoves(entries, key) {
  const memory = useRef({ count: 0 }).current;
  if (memory.key !== key) Object.assign(memory, { key, entries: null, moves: new Map() });
  if (entries && entries !== memory.entries) {
    if (memory.entries) memory.moves = compare(memory, entries);
    memory.entries = entries;
  }
  const [, forget] = useState(0);
  useEffect(() => {
    const timer = setTimeout(() => {
      memory.moves = new Map();
      forget(memory.count);
    }, MOVES_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [memory.moves]);
  return memory.moves;
}

function compare(memory, entries) {
  const before = new Map(memory.entries.map((entry) => [entry.participant.id, entry]));
  const moves = new Map();
  for (const { participant, rank, score } of entries) {
    const old = before.get(participant.id);
    const by = old ? (old.rank?.rank ?? 0) - (rank?.rank ?? 0) : 0;
    const kind = !old ? 'new' : by ? 'rank' : old.score.display !== score.display ? 'score' : null;
    if (kind) moves.set(participant.id, { kind, by, number: (memory.count += 1) });
    else if (memory.moves.has(participant.id)) moves.set(participant.id, memory.moves.get(participant.id));
  }
  return moves;
}

// Slide rows from where they were to where they are.
function useSlide(body, entries) {
  const places = useRef(new Map());
  useLayoutEffect(() => {
    const rows = [...body.current.rows];
    const now = new Map(rows.map((row) => [row.dataset.participant, row.offsetTop]));
    for (const row of still.matches ? [] : rows) {
      const from = places.current.get(row.dataset.participant);
      const distance = from === undefined ? 0 : from - row.offsetTop;
      if (distance) {
        const frames = [{ transform: `translateY(${distance}px)` }, { transform: 'none' }];
        row.animate(frames, { duration: SLIDE_MILLISECONDS, easing: 'cubic-bezier(0.2, 0.8, 0.2, 1)' });
      }
    }
    places.current = now;
  }, [entries]);
}
