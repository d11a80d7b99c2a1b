// One board: its live top, who is where, how scores are spread, and what operators do with it.
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { ago, chartNumber, dateTime, number } from '../format.js';
import { connection, useSubscription } from '../live.js';
import * as operations from '../operations.js';
import { AROUND, BOARD, periodName, STANDINGS, TOP_CHANGES } from '../queries.js';
import { go, link, replaceOptions } from '../router.js';
import { useIsOperator } from '../session.js';
import { useStore } from '../store.js';
import { useTitle } from '../title.js';
import { useQuery, useReloadAfter } from '../use_query.js';
import { Archives } from '../parts/archives.js';
import { Card } from '../parts/card.js';
import { Distribution } from '../parts/distribution.js';
import { Find, RADIUS } from '../parts/find.js';
import { Periods, readPeriod } from '../parts/periods.js';
import { Cost } from '../parts/requests.js';
import { StandingsTable, useMoves } from '../parts/standings_table.js';
import { Empty, Loading, Problem } from '../parts/states.js';
import { ScoreText } from '../parts/text.js';

const SHORT_TOP = 25;
const LONG_TOP = 100;
const STANDINGS_EVERY = 10_000;

export function BoardView({ id, options }) {
  const { data, error, loading, request, reload } = useQuery(BOARD, { id });
  const board = data?.leaderboard;
  useTitle(board?.title ?? id);
  if (error && !board)
    return html`<div class="view">
      <p class="crumbs"><a href=${link(['boards'])}>Boards</a></p>
      <${Problem} error=${error} onRetry=${reload} />
    </div>`;
  if (loading || !board) return html`<div class="view"><${Loading} label="Loading the board" /></div>`;
  const period = options.period ?? periodName(board.periods[0]);
  return html`<div class="view">
    <${Head} board=${board} period=${period} request=${request} />
    <${Standings} key=${period} board=${board} period=${period} options=${options} />
  </div>`;
}

function Head({ board, period, request }) {
  const { id, title, closed, clientAccess } = board;
  const isOperator = useIsOperator();
  const open = (operation) => () => operations.opened.set(operation);
  return html`<header class="view-head">
    <div>
      <p class="crumbs">
        <a href=${link(['boards'])}>Boards</a> <span aria-hidden="true">/</span> <bdi>${id}</bdi>
      </p>
      <h1><bdi>${title ?? id}</bdi></h1>
      <p class="row tight">
        ${closed && html`<span class="badge warn">closed</span>`}
        ${clientAccess === 'NONE' && html`<span class="badge">private</span>`}
        ${clientAccess === 'SUBMIT' && html`<span class="badge">clients submit</span>`}
        <${Cost} request=${request} />
      </p>
    </div>
    ${
      isOperator &&
      html`<div class="row">
        <button class="button primary" disabled=${closed} onClick=${open(operations.submitScore(board))}>
          Submit score
        </button>
        <button class="button" onClick=${open(operations.archiveBoard(id, period))}>Archive</button>
        ${
          closed
            ? html`<button class="button" onClick=${open(operations.reopenBoard(id))}>Reopen</button>`
            : html`<button class="button" onClick=${open(operations.closeBoard(id))}>Close</button>`
        }
        <button class="button" onClick=${open(operations.deleteBoard(id, () => go(['boards'])))}>
          Delete
        </button>
      </div>`
    }
  </header>`;
}

function Standings({ board, period, options }) {
  const [limit, setLimit] = useState(SHORT_TOP);
  const { data, error, loading, request, reload } = useQuery(
    STANDINGS,
    { id: board.id, period, limit },
    { every: STANDINGS_EVERY },
  );
  const { kind, back } = readPeriod(period, board.periods);
  const isLive = kind !== null && back === 0;
  useSubscription(TOP_CHANGES, isLive ? { id: board.id, period } : null, reload);
  const standings = data?.leaderboard;
  const entries = standings?.top;
  const moves = useMoves(entries, `${period} ${limit}`);
  const { participant } = options;
  const around = useQuery(
    AROUND,
    participant ? { id: board.id, period, participantId: participant, radius: RADIUS } : null,
  );
  useReloadAfter(standings, around.reload);
  const found = around.data?.leaderboard.around?.find((entry) => entry.participant.id === participant);
  const marker = found && {
    at: chartNumber(found.score.value[0], board.components[0].kind),
    label: found.participant.displayName ?? participant,
  };
  const choose = (changed) => replaceOptions({ ...options, ...changed });

  let top;
  if (error && !standings) top = html`<${Problem} error=${error} onRetry=${reload} />`;
  else if (loading) top = html`<${Loading} rows="10" label="Loading the top" />`;
  else if (!entries.length)
    top = html`<${Empty} title="No entries yet"
      ><p class="muted">Submit a score, and it shows here about a second later.</p><//
    >`;
  else
    top = html`<${StandingsTable}
      entries=${entries}
      board=${board}
      period=${period}
      highlighted=${participant}
      moves=${moves}
      label="Top"
    />`;

  return html`
    <${Periods}
      board=${board}
      period=${period}
      shownKey=${entries?.[0]?.period}
      onChange=${(next) => choose({ period: next })}
    />
    <${Facts} board=${board} standings=${standings} />
    <div class="columns">
      <${Card} title="Top" class="main" request=${request} aside=${html`<${LiveBadge} isLive=${isLive} />`}>
        ${error && standings && html`<p class="note" role="status">Not up to date: ${error.message}</p>`}
        ${top}
        ${
          standings?.size > limit &&
          limit === SHORT_TOP &&
          html`<footer class="card-foot">
            <button class="button small" onClick=${() => setLimit(LONG_TOP)}>
              Show the best ${LONG_TOP}
            </button>
          </footer>`
        }
      <//>
      <div class="side">
        <${Distribution} board=${board} period=${period} marker=${marker} standings=${standings} />
        <${Find}
          around=${around}
          board=${board}
          period=${period}
          participantId=${participant}
          onFound=${(id) => choose({ participant: id })}
        />
        <${Definition} board=${board} />
      </div>
    </div>
    <${Archives} board=${board} />
    <${LeaderNews} entries=${entries} />
  `;
}

function LiveBadge({ isLive }) {
  const state = useStore(connection);
  if (!isLive) return html`<span class="badge">as it ended</span>`;
  return state === 'live' && html`<span class="badge live"><i class="dot"></i>live</span>`;
}

function Facts({ board, standings }) {
  const best = standings?.top[0];
  return html`<dl class="facts">
    <div>
      <dt>Entries</dt>
      <dd>${standings ? number(standings.size) : '–'}</dd>
    </div>
    <div>
      <dt>Leader</dt>
      <dd>${best ? html`<bdi>${best.participant.displayName ?? best.participant.id}</bdi>` : '–'}</dd>
    </div>
    <div>
      <dt>Best score</dt>
      <dd>${best ? html`<${ScoreText} display=${best.score.display} />` : '–'}</dd>
    </div>
    <div>
      <dt>Ranks as of</dt>
      <dd>${best?.rank ? ago(best.rank.asOf) : '–'}</dd>
    </div>
  </dl>`;
}

function Definition({ board }) {
  const { components, policy, tieBreak, counterMode, clientAccess, timeZone, createdAt } = board;
  const scores = components
    .slice(0, 4)
    .map(
      ({ name, kind, order }) =>
        `${name} (${kind.toLowerCase()}, ${order === 'DESCENDING' ? 'highest' : 'lowest'} best)`,
    );
  const rows = [
    ['Score', scores.join(', then ') + (components.length > 4 ? `, and ${components.length - 4} more` : '')],
    [
      'Policy',
      { BEST: 'keeps the better score', LATEST: 'keeps the latest score', SUM: 'adds scores up' }[policy],
    ],
    [
      'Of equal scores',
      {
        EARLIEST: 'the earliest is first',
        LATEST: 'the latest is first',
        PARTICIPANT: 'the smaller id is first',
      }[tieBreak],
    ],
    ['Counters', counterMode.toLowerCase()],
    [
      'Clients',
      { NONE: 'do not see it', READ: 'read it', SUBMIT: 'read it and submit their own scores' }[clientAccess],
    ],
    ['Time zone', timeZone],
    ['Created', dateTime(createdAt)],
  ];
  return html`<${Card} title="Definition">
    <dl class="pairs">
      ${rows.map(
        ([name, text]) =>
          html`<div key=${name}>
            <dt>${name}</dt>
            <dd><bdi>${text}</bdi></dd>
          </div>`,
      )}
    </dl>
  <//>`;
}

// Tells screen readers of a new leader; a line for each change would be too many.
function LeaderNews({ entries }) {
  const leader = entries?.[0]?.participant;
  const [text, setText] = useState('');
  const [before, setBefore] = useState(leader?.id);
  useEffect(() => {
    if (leader && before && leader.id !== before) setText(`${leader.displayName ?? leader.id} leads.`);
    setBefore(leader?.id);
  }, [leader?.id]);
  return html`<p class="hidden-text" aria-live="polite">${text}</p>`;
}
