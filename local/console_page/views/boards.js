// All boards, with their sizes and leaders.
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { number, plural } from '../format.js';
import { BOARDS, boardSizes } from '../queries.js';
import { link } from '../router.js';
import { useIsOperator } from '../session.js';
import { useTitle } from '../title.js';
import { useQuery } from '../use_query.js';
import { DemoButton } from '../parts/demo.js';
import { Cost } from '../parts/requests.js';
import { Empty, Loading, Problem } from '../parts/states.js';
import { ParticipantName, ScoreText } from '../parts/text.js';

const SIZES_EVERY = 10_000;
const BOARDS_EVERY = 30_000;
const POLICIES = { BEST: 'best score', LATEST: 'latest score', SUM: 'sum of scores' };
const PERIODS = { ALL_TIME: 'all time', DAILY: 'day', WEEKLY: 'week', MONTHLY: 'month' };

export function BoardsView() {
  useTitle('Boards');
  const [tokens, setTokens] = useState([null]); // of the pages that show
  const [filter, setFilter] = useState('');
  const isOperator = useIsOperator();
  return html`<div class="view">
    <header class="view-head">
      <div><h1>Boards</h1></div>
      <div class="row">
        <input
          class="filter"
          type="search"
          placeholder="Filter boards"
          aria-label="Filter the boards"
          value=${filter}
          onInput=${(event) => setFilter(event.target.value)}
        />
        ${isOperator && html`<a class="button primary" href=${link(['create'])}>New board</a>`}
      </div>
    </header>
    ${tokens.map(
      (token, at) =>
        html`<${Boards}
          key=${token ?? ''}
          token=${token}
          filter=${filter}
          isLast=${at === tokens.length - 1}
          onMore=${(next) => setTokens([...tokens, next])}
        />`,
    )}
  </div>`;
}

function Boards({ token, filter, isLast, onMore }) {
  const { data, error, loading, request, reload } = useQuery(
    BOARDS,
    { nextToken: token },
    { every: BOARDS_EVERY },
  );
  const boards = data?.leaderboards.items ?? [];
  const [sizeQuery, sizeVariables] = boardSizes(boards);
  const sizes = useQuery(sizeQuery, boards.length ? sizeVariables : null, { every: SIZES_EVERY });
  if (error && !data) return html`<${Problem} error=${error} onRetry=${reload} />`;
  if (loading) return html`<${Loading} label="Loading the boards" />`;
  if (!boards.length) return token ? null : html`<${NoBoards} />`;
  const words = filter.toLowerCase();
  const shown = boards
    .map((board, at) => ({ board, standings: sizes.data?.[`b${at}`] }))
    .filter(({ board }) => `${board.id} ${board.title ?? ''}`.toLowerCase().includes(words));
  const { nextToken } = data.leaderboards;
  return html`<section class="card" aria-label="Boards">
    <table class="boards">
      <thead>
        <tr>
          <th scope="col">Board</th>
          <th scope="col" class="number">Entries</th>
          <th scope="col" class="wide">Leader</th>
          <th scope="col" class="wide number">Best score</th>
          <th scope="col" class="wide">Keeps</th>
        </tr>
      </thead>
      <tbody>
        ${shown.map((each) => html`<${Row} key=${each.board.id} ...${each} />`)}
      </tbody>
    </table>
    ${!shown.length && html`<${Empty} title="No board matches the filter." />`}
    <footer class="card-foot">
      <span class="muted">${plural(boards.length, 'board')}${nextToken ? ' so far' : ''}</span>
      <span class="row"><${Cost} request=${request} /><${Cost} request=${sizes.request} /></span>
      ${
        nextToken &&
        isLast &&
        html`<button class="button small" onClick=${() => onMore(nextToken)}>More boards</button>`
      }
    </footer>
  </section>`;
}

function Row({ board, standings }) {
  const { id, title, policy, periods, closed, clientAccess } = board;
  const leader = standings?.top[0];
  return html`<tr>
    <th scope="row">
      <a class="board-link" href=${link(['boards', id])}><bdi class="name">${title ?? id}</bdi></a>
      <span class="row tight">
        <bdi class="id">${id}</bdi>
        ${closed && html`<span class="badge warn">closed</span>`}
        ${clientAccess === 'NONE' && html`<span class="badge">private</span>`}
      </span>
    </th>
    <td class="number strong">
      ${standings ? number(standings.size) : html`<span class="bone short"></span>`}
    </td>
    <td class="wide">${leader && html`<${ParticipantName} participant=${leader.participant} plain />`}</td>
    <td class="wide number">${leader && html`<${ScoreText} display=${leader.score.display} />`}</td>
    <td class="wide muted">${POLICIES[policy]} · ${periods.map((kind) => PERIODS[kind]).join(', ')}</td>
  </tr>`;
}

function NoBoards() {
  const isOperator = useIsOperator();
  return html`<${Empty} title="There is no board yet">
    <p class="muted">
      ${
        isOperator
          ? 'Load Formula 1 since 1950 and watch a season’s standings move, or create a board of your own.'
          : 'An operator creates boards: act as one with the switch at the top.'
      }
    </p>
    <p class="row center">
      <${DemoButton} />
      ${isOperator && html`<a class="button" href=${link(['create'])}>Create a board</a>`}
    </p>
  <//>`;
}
