// Chooses the period: a kind, and how many before the current one.
import { html } from 'htm/preact';
import { ago } from '../format.js';
import { periodName } from '../queries.js';

const LABELS = { ALL_TIME: 'All time', DAILY: 'Day', WEEKLY: 'Week', MONTHLY: 'Month' };

// Return {kind, back} of a period's name such as daily or weekly-previous-2; kind is null of an explicit key.
export function readPeriod(name, kinds) {
  const [, before, back] = /^(.*?)(?:-previous(?:-(\d+))?)?$/.exec(name);
  const kind = kinds.find((each) => periodName(each) === before) ?? null;
  return { kind, back: kind && before !== name ? Number(back ?? 1) : 0 };
}

function nameOf(kind, back) {
  const name = periodName(kind);
  if (!back) return name;
  return back === 1 ? `${name}-previous` : `${name}-previous-${back}`;
}

export function Periods({ board, period, shownKey, onChange }) {
  const { kind, back } = readPeriod(period, board.periods);
  if (kind === 'ALL_TIME' && board.periods.length === 1) return null; // nothing to choose
  const current = board.currentPeriods.find((each) => each.kind === kind);
  return html`<div class="periods">
    <div class="segments" role="group" aria-label="Period">
      ${board.periods.map(
        (each) =>
          html`<button
            key=${each}
            type="button"
            aria-pressed=${each === kind}
            onClick=${() => onChange(nameOf(each, 0))}
          >
            ${LABELS[each]}
          </button>`,
      )}
    </div>
    ${
      kind &&
      kind !== 'ALL_TIME' &&
      html`<div class="segments" role="group" aria-label="Earlier and later">
        <button
          type="button"
          aria-label="The period before"
          onClick=${() => onChange(nameOf(kind, back + 1))}
        >
          ‹
        </button>
        <button
          type="button"
          aria-label="The period after"
          disabled=${back === 0}
          onClick=${() => onChange(nameOf(kind, back - 1))}
        >
          ›
        </button>
      </div>`
    }
    <span class="muted period-key">
      ${kind === 'ALL_TIME' ? '' : (back === 0 && current?.key) || shownKey || period}
      ${back === 0 && current?.endsAt && html` · ends ${ago(current.endsAt)}`}
      ${current?.endsAt && ` · ${board.timeZone}`}
    </span>
  </div>`;
}
