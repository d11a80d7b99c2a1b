// Finds a place, a participant, or what a score is worth.
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { send } from '../api.js';
import { number, percent, readScore } from '../format.js';
import { scoreHint } from '../operations.js';
import { ENTRY_AT, RANK_OF } from '../queries.js';
import { Card } from './card.js';
import { Field } from './field.js';
import { Cost } from './requests.js';
import { StandingsTable } from './standings_table.js';
import { Loading, Problem } from './states.js';
import { BucketName } from './text.js';

export const RADIUS = 4; // of the entries around a place

// `around` is the query of the entries around the participant who was looked for.
export function Find({ board, period, participantId, around, onFound }) {
  const [place, setPlace] = useState('');
  const [participant, setParticipant] = useState('');
  const [state, setState] = useState({});

  const findPlace = async (position) => {
    setPlace(String(position));
    try {
      const { data, request } = await send(ENTRY_AT, { id: board.id, period, position });
      const found = data.leaderboard.entryAt?.participant.id;
      setState({
        request,
        message: found ? null : `There is no place ${number(position)}: the board ends before it.`,
      });
      if (found) onFound(found);
    } catch (error) {
      setState({ error });
    }
  };
  const submit = (action) => (event) => {
    event.preventDefault();
    action();
  };

  return html`<${Card} title="Find" request=${state.request}>
    <div class="finders">
      <form onSubmit=${submit(() => findPlace(Number(place)))}>
        <${Field} label="Place" type="number" min="1" step="1" required value=${place} onInput=${setPlace} />
        <button class="button">Jump</button>
      </form>
      <form onSubmit=${submit(() => onFound(participant.trim()))}>
        <${Field} label="Participant id" required value=${participant} onInput=${setParticipant} />
        <button class="button">Find</button>
      </form>
      <${Worth} board=${board} period=${period} />
    </div>
    ${state.message && html`<p class="note" role="status">${state.message}</p>`}
    ${state.error && html`<${Problem} error=${state.error} />`}
    ${
      participantId &&
      html`<${Around}
        board=${board}
        period=${period}
        participantId=${participantId}
        query=${around}
        onPlace=${findPlace}
        onClose=${() => onFound(null)}
      />`
    }
  <//>`;
}

function Around({ board, period, participantId, query, onPlace, onClose }) {
  const { data, error, loading, request, reload } = query;
  if (error && !data) return html`<${Problem} error=${error} onRetry=${reload} />`;
  if (loading) return html`<${Loading} rows="9" label="Loading the entries around" />`;
  const entries = data.leaderboard.around;
  if (!entries)
    return html`<p class="note" role="status">
      <bdi>${participantId}</bdi> has no ranked entry in these standings.
    </p>`;
  const places = entries.map(({ rank }) => rank?.position).filter(Boolean);
  const [first, last] = [places[0], places.at(-1)];
  return html`<div class="around">
    ${first && html`<p class="muted">Places ${number(first)} to ${number(last)}; equal scores share a rank.</p>`}
    <${StandingsTable}
      entries=${entries}
      board=${board}
      period=${period}
      highlighted=${participantId}
      label="Entries around the place"
    />
    <p class="row">
      <button
        type="button"
        class="button small"
        disabled=${!first || first <= 1}
        onClick=${() => onPlace(Math.max(1, first - RADIUS - 1))}
      >
        Better places
      </button>
      <button
        type="button"
        class="button small"
        disabled=${!last}
        onClick=${() => onPlace(last + RADIUS + 1)}
      >
        Worse places
      </button>
      <button type="button" class="button small" onClick=${onClose}>Close</button>
      <${Cost} request=${request} />
    </p>
  </div>`;
}

function Worth({ board, period }) {
  const [score, setScore] = useState('');
  const [state, setState] = useState({});
  const submit = async (event) => {
    event.preventDefault();
    try {
      setState(await send(RANK_OF, { id: board.id, period, score: readScore(score, board.components) }));
    } catch (error) {
      setState({ error });
    }
  };
  const worth = state.data?.leaderboard.rankOf;
  return html`<form onSubmit=${submit}>
    <${Field}
      label="What a score would be worth"
      required
      value=${score}
      onInput=${setScore}
      hint=${scoreHint(board.components)}
    />
    <button class="button">Rank it</button>
    ${
      worth &&
      html`<p class="worth" role="status">
        Rank <strong>${number(worth.rank)}</strong> of ${number(worth.total)}, better than
        ${percent(worth.percentile)} ·${' '}
        <${BucketName} name=${worth.bucket.name} buckets=${board.rankBuckets} />
        <${Cost} request=${state.request} />
      </p>`
    }
    ${state.error && html`<${Problem} error=${state.error} />`}
  </form>`;
}
