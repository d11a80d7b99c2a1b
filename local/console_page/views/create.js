// Creates a board: each choice with what it means, and the GraphQL that comes of them.
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { send } from '../api.js';
import { CREATE, newBoard, toInput } from '../board_form.js';
import { go, link } from '../router.js';
import { useTitle } from '../title.js';
import { Card } from '../parts/card.js';
import { Copy } from '../parts/copy.js';
import { Choice, Field, Options } from '../parts/field.js';
import { Problem } from '../parts/states.js';
import { say } from '../parts/toasts.js';

const POLICIES = [
  ['BEST', 'Best', 'The better of the standing and the new score: high scores, fastest laps.'],
  ['LATEST', 'Latest', 'The newest score, better or worse: ratings, current weights.'],
  ['SUM', 'Sum', 'Each score is added: steps, points of a season.'],
];
const TIES = [
  ['EARLIEST', 'Earliest first', 'Who reached the score first stands above.'],
  ['LATEST', 'Latest first', 'Who reached it last stands above.'],
  ['PARTICIPANT', 'By id', 'The smaller participant id stands above, whenever it was.'],
];
const PERIODS = [
  ['ALL_TIME', 'All time', 'Never ends.'],
  ['DAILY', 'Daily', 'Begins anew each day; kept for 35 days.'],
  ['WEEKLY', 'Weekly', 'ISO weeks from Monday; kept for a year.'],
  ['MONTHLY', 'Monthly', 'Calendar months; kept for three years.'],
];
const ACCESS = [
  ['READ', 'Read', 'Clients read the board and subscribe to it. Your servers submit.'],
  ['SUBMIT', 'Read and submit', 'Signed-in participants also submit their own scores.'],
  ['NONE', 'Nothing', 'For clients the board does not exist.'],
];
const MODES = [
  ['STREAM', 'From the stream', 'Ranks follow about a second later. The cheapest.'],
  ['TRANSACTIONAL', 'With the score', 'Ranks are current at once; each write costs more.'],
  ['INLINE', 'Right after the score', 'Nearly current; counts may drift, which `leaderboard check` finds.'],
];
const KINDS = [
  ['INTEGER', 'Whole number'],
  ['DECIMAL', 'Decimal number'],
  ['DURATION', 'Duration, such as 1:27.452'],
  ['TIMESTAMP', 'Time, such as 2026-11-30T12:00:00Z'],
];
const ORDERS = [
  ['DESCENDING', 'Highest is best'],
  ['ASCENDING', 'Lowest is best'],
];
const MOST_COMPONENTS = 32;

export function CreateView() {
  useTitle('New board');
  const [board, setBoard] = useState(newBoard);
  const [state, setState] = useState({ busy: false, error: null });
  const set = (name) => (value) => setBoard((before) => ({ ...before, [name]: value }));
  const input = toInput(board);
  const submit = async (event) => {
    event.preventDefault();
    setState({ busy: true, error: null });
    try {
      const { data } = await send(CREATE, { input });
      say('Board created.');
      go(['boards', data.createLeaderboard.id]);
    } catch (error) {
      setState({ busy: false, error });
    }
  };
  return html`<div class="view">
    <header class="view-head">
      <div>
        <p class="crumbs"><a href=${link(['boards'])}>Boards</a> <span aria-hidden="true">/</span> new</p>
        <h1>New board</h1>
      </div>
    </header>
    <form class="columns" onSubmit=${submit}>
      <div class="main">
        <${Card} title="Name">
          <div class="pair">
            <${Field}
              label="Id"
              name="id"
              required
              maxlength="256"
              value=${board.id}
              onInput=${set('id')}
              hint="In requests and addresses; it cannot be changed."
            />
            <${Field}
              label="Title"
              name="title"
              maxlength="256"
              value=${board.title}
              onInput=${set('title')}
              hint="Optional; shown instead of the id."
            />
          </div>
        <//>
        <${Card} title="Score">
          <${Components} components=${board.components} onChange=${set('components')} />
          <${Options}
            legend="What a submission does to the standing score"
            name="policy"
            value=${board.policy}
            onChange=${set('policy')}
            options=${POLICIES}
          />
          <${Options}
            legend="Of two equal scores"
            name="tieBreak"
            value=${board.tieBreak}
            onChange=${set('tieBreak')}
            options=${TIES}
          />
        <//>
        <${Card} title="Periods">
          <${Options}
            legend="Standings to keep; a score counts in one period of each"
            name="periods"
            value=${board.periods}
            onChange=${set('periods')}
            options=${PERIODS}
          />
          <${TimeZone} value=${board.timeZone} onChange=${set('timeZone')} />
        <//>
        <${Card} title="Rank buckets">
          <${Buckets} buckets=${board.rankBuckets} onChange=${set('rankBuckets')} />
        <//>
        <${Card} title="Access and counters">
          <${Options}
            legend="What clients may do"
            name="clientAccess"
            value=${board.clientAccess}
            onChange=${set('clientAccess')}
            options=${ACCESS}
          />
          <${Options}
            legend="When rank counters are updated"
            name="counterMode"
            value=${board.counterMode}
            onChange=${set('counterMode')}
            options=${MODES}
          />
          <div class="pair">
            <${Field}
              label="Most submissions a second"
              name="peakWritesPerSecond"
              type="number"
              min="1"
              required
              value=${board.peakWritesPerSecond}
              onInput=${set('peakWritesPerSecond')}
              hint="Determines the number of index shards."
            />
            <${Field}
              label="Expected entries"
              name="expectedSize"
              type="number"
              min="1"
              value=${board.expectedSize}
              onInput=${set('expectedSize')}
              hint="Optional; determines the size of the rank counters."
            />
          </div>
        <//>
      </div>
      <div class="side sticky">
        <${Card} title="GraphQL">
          <pre tabindex="0">${CREATE}</pre>
          <pre tabindex="0" class="input">${JSON.stringify({ input }, null, 2)}</pre>
          <p class="row">
            <${Copy} text=${CREATE} label="Copy GraphQL" /><${Copy}
              text=${JSON.stringify({ input }, null, 2)}
              label="Copy variables"
            />
          </p>
          ${state.error && html`<${Problem} error=${state.error} />`}
          <button class="button primary full" disabled=${state.busy}>
            ${state.busy ? 'Creating…' : 'Create board'}
          </button>
        <//>
      </div>
    </form>
  </div>`;
}

function Components({ components, onChange }) {
  const add = () =>
    onChange([...components, { ...newBoard().components[0], name: `score ${components.length + 1}` }]);
  const change = (at, name) => (value) =>
    onChange(components.map((each, index) => (index === at ? { ...each, [name]: value } : each)));
  return html` ${components.map(
      (component, at) =>
        html`<fieldset class="component" key=${at}>
          <legend>${components.length === 1 ? 'Component' : `Component ${at + 1}`}</legend>
          <${Field} label="Name" required value=${component.name} onInput=${change(at, 'name')} />
          <${Choice} label="Kind" value=${component.kind} onChange=${change(at, 'kind')} options=${KINDS} />
          <${Choice}
            label="Best"
            value=${component.order}
            onChange=${change(at, 'order')}
            options=${ORDERS}
          />
          <${Field} label="Lowest accepted" value=${component.min} onInput=${change(at, 'min')} />
          <${Field} label="Highest accepted" value=${component.max} onInput=${change(at, 'max')} />
          ${
            components.length > 1 &&
            html`<button
              type="button"
              class="button small"
              aria-label="Remove component ${at + 1}"
              onClick=${() => onChange(components.filter((_, index) => index !== at))}
            >
              Remove
            </button>`
          }
        </fieldset>`,
    )}
    <p class="row">
      <button
        type="button"
        class="button small"
        disabled=${components.length >= MOST_COMPONENTS}
        onClick=${add}
      >
        Add a component
      </button>
      <span class="muted"
        >Components are compared in turn: the second decides between those of equal first ones.</span
      >
    </p>`;
}

function TimeZone({ value, onChange }) {
  return html` <${Field}
      label="Time zone"
      name="timeZone"
      list="time-zones"
      required
      value=${value}
      onInput=${onChange}
      hint="Where days, weeks and months begin."
    />
    <datalist id="time-zones">
      ${Intl.supportedValuesOf('timeZone').map((zone) => html`<option key=${zone} value=${zone}></option>`)}
    </datalist>`;
}

function Buckets({ buckets, onChange }) {
  if (!buckets) {
    return html`<p class="muted">Top 1, 3, 10, 100, 1%, 10%, 50% and everyone, unless you name your own.</p>
      <p>
        <button type="button" class="button small" onClick=${() => onChange(newBuckets())}>
          Name your own
        </button>
      </p>`;
  }
  const change = (at, name) => (value) =>
    onChange(buckets.map((each, index) => (index === at ? { ...each, [name]: value } : each)));
  return html` <p class="muted">
      Best first. Each ends at a rank or at a share of the board; the last may have neither.
    </p>
    ${buckets.map(
      (bucket, at) =>
        html`<fieldset class="component" key=${at}>
          <legend>Bucket ${at + 1}</legend>
          <${Field} label="Name" required value=${bucket.name} onInput=${change(at, 'name')} />
          <${Field} label="Last rank" type="number" min="1" value=${bucket.to} onInput=${change(at, 'to')} />
          <${Field}
            label="Or top %"
            type="number"
            min="0"
            max="100"
            step="any"
            value=${bucket.topPercent}
            onInput=${change(at, 'topPercent')}
          />
          <button
            type="button"
            class="button small"
            aria-label="Remove bucket ${at + 1}"
            disabled=${buckets.length === 1}
            onClick=${() => onChange(buckets.filter((_, index) => index !== at))}
          >
            Remove
          </button>
        </fieldset>`,
    )}
    <p class="row">
      <button
        type="button"
        class="button small"
        onClick=${() => onChange([...buckets.slice(0, -1), { name: '', to: '', topPercent: '' }, buckets.at(-1)])}
      >
        Add a bucket
      </button>
      <button type="button" class="button small" onClick=${() => onChange(null)}>Use the default</button>
    </p>`;
}

const newBuckets = () => [
  { name: 'podium', to: '3', topPercent: '' },
  { name: 'top 10%', to: '', topPercent: '10' },
  { name: 'everyone', to: '', topPercent: '' },
];
