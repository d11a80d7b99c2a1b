// One participant: every board that they are on, their neighbours, and their rank bucket changes as they come.
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { number, percent, plural, time } from '../format.js';
import { useSubscription } from '../live.js';
import * as operations from '../operations.js';
import { AROUND, BOARD, BUCKET_CHANGES, PARTICIPANT } from '../queries.js';
import { link, replaceOptions } from '../router.js';
import { useIsOperator } from '../session.js';
import { useTitle } from '../title.js';
import { useQuery } from '../use_query.js';
import { Card } from '../parts/card.js';
import { StandingsTable } from '../parts/standings_table.js';
import { Empty, Loading, Problem } from '../parts/states.js';
import { Ago, BucketName, ScoreText } from '../parts/text.js';

const EVERY = 30_000; // events come at once
const FOLLOWED_BOARDS = 20;
const EVENTS_KEPT = 50;
const RADIUS = 5;
const NO_EVENTS = 'A line comes with each change of rank bucket, also when others overtake them.';

export function ParticipantView({ id, options }) {
  const [tokens, setTokens] = useState([null]);
  const { data, error, loading, request, reload } = useQuery(
    PARTICIPANT,
    { id, nextToken: tokens.at(-1) },
    { every: EVERY },
  );
  const participant = data?.participant;
  useTitle(participant?.displayName ?? id);
  if (error && !data) return html`<div class="view"><${Problem} error=${error} onRetry=${reload} /></div>`;
  if (loading) return html`<div class="view"><${Loading} label="Loading the participant" /></div>`;
  if (!participant) {
    return html`<div class="view">
      <${Empty} title="No such participant"
        ><p class="muted"><bdi>${id}</bdi> has no entry on any board.</p><//
      >
    </div>`;
  }
  const { items, nextToken } = participant.entries;
  const count = `${plural(items.length, 'entry', 'entries')}${nextToken ? ' on this page' : ''}`;
  const isChosen = (entry) =>
    entry.leaderboardId === options.board && (!options.period || entry.period === options.period);
  const chosen =
    items.find(isChosen) ?? items.find((entry) => entry.leaderboardId === options.board) ?? items[0];
  return html`<div class="view">
    <${Head} participant=${participant} />
    <div class="columns">
      <div class="main">
        <${Card} title="Boards" request=${request} aside=${html`<span class="muted">${count}</span>`}>
          <${Entries} entries=${items} chosen=${chosen} />
          ${
            (nextToken || tokens.length > 1) &&
            html`<p class="row">
              <button
                class="button small"
                disabled=${tokens.length === 1}
                onClick=${() => setTokens(tokens.slice(0, -1))}
              >
                ‹ Back
              </button>
              <button
                class="button small"
                disabled=${!nextToken}
                onClick=${() => setTokens([...tokens, nextToken])}
              >
                More ›
              </button>
            </p>`
          }
        <//>
      </div>
      <div class="side">
        ${chosen && html`<${Chosen} key="${chosen.leaderboardId} ${chosen.period}" entry=${chosen} />`}
        <${Events}
          participantId=${id}
          boards=${[...new Set(items.map((entry) => entry.leaderboardId))]}
          onEvent=${reload}
        />
      </div>
    </div>
  </div>`;
}

function Head({ participant: { id, displayName } }) {
  const isOperator = useIsOperator();
  const forget = () => operations.opened.set(operations.forgetParticipant(id));
  return html`<header class="view-head">
    <div>
      <p class="crumbs">Participant <span aria-hidden="true">/</span> <bdi>${id}</bdi></p>
      <h1><bdi>${displayName ?? id}</bdi></h1>
    </div>
    ${isOperator && html`<button class="button" onClick=${forget}>Forget everywhere</button>`}
  </header>`;
}

function Entries({ entries, chosen }) {
  return html`<table class="entries" aria-label="Entries on all boards">
    <thead>
      <tr>
        <th scope="col">Board</th>
        <th scope="col" class="number">Rank</th>
        <th scope="col" class="wide">Better than</th>
        <th scope="col" class="number">Score</th>
        <th scope="col"><span class="hidden-text">Choose</span></th>
      </tr>
    </thead>
    <tbody>
      ${entries.map((entry) => {
        const { leaderboardId: board, period, rank } = entry;
        return html`<tr key="${board} ${period}" aria-current=${entry === chosen ? 'true' : undefined}>
          <th scope="row">
            <a href=${link(['boards', board], { participant: entry.participant.id, period })}>
              <bdi class="name">${board}</bdi>
            </a>
            <span class="row tight">
              <span class="id">${period}</span>
              ${entry.hidden && html`<span class="badge warn">hidden</span>`}
            </span>
          </th>
          <td class="number">
            <span class="rank">${rank ? number(rank.rank) : '–'}</span>
            ${rank && html`<span class="muted"> of ${number(rank.total)}</span>`}
          </td>
          <td class="wide">${rank && html`<${Percentile} value=${rank.percentile} />`}</td>
          <td class="number"><${ScoreText} display=${entry.score.display} /></td>
          <td class="number">
            <button
              class="button small"
              aria-label="Show the neighbours on ${board}, ${period}"
              onClick=${() => replaceOptions({ board, period })}
            >
              Show
            </button>
          </td>
        </tr>`;
      })}
    </tbody>
  </table>`;
}

function Percentile({ value }) {
  return html`<meter min="0" max="100" value=${value} aria-label="Better than ${percent(value)}"></meter>
    <span class="muted"> ${percent(value)}</span>`;
}

// The entry that is looked at: its neighbours, and what operators do with it.
function Chosen({ entry }) {
  const { leaderboardId: id, period, participant, rank, hidden } = entry;
  const board = useQuery(BOARD, { id }).data?.leaderboard;
  const variables = { id, period, participantId: participant.id, radius: RADIUS };
  const { data, error, request, reload } = useQuery(AROUND, variables, { every: EVERY });
  const neighbours = data?.leaderboard.around;
  return html`<${Card} title=${html`On <bdi>${board?.title ?? id}</bdi>`} request=${request}>
    ${
      rank &&
      html`<dl class="facts small">
        <div>
          <dt>Rank</dt>
          <dd>${number(rank.rank)}</dd>
        </div>
        <div>
          <dt>Rank bucket</dt>
          <dd><${BucketName} name=${rank.bucket.name} buckets=${board?.rankBuckets} /></dd>
        </div>
        <div>
          <dt>Achieved</dt>
          <dd><${Ago} at=${entry.achievedAt} /></dd>
        </div>
        <div>
          <dt>Submissions</dt>
          <dd>${number(entry.submissions)}</dd>
        </div>
      </dl>`
    }
    ${board && html`<${Actions} board=${board} participantId=${participant.id} hidden=${hidden} />`}
    ${error && !data && html`<${Problem} error=${error} onRetry=${reload} />`}
    ${
      neighbours &&
      board &&
      html`<${StandingsTable}
        entries=${neighbours}
        board=${board}
        period=${period}
        highlighted=${participant.id}
        label="Neighbours"
      />`
    }
    ${data && !neighbours && html`<p class="note">A hidden entry has no neighbours.</p>`}
  <//>`;
}

function Actions({ board, participantId, hidden }) {
  const isOperator = useIsOperator();
  if (!isOperator) return null;
  const open = (operation) => () => operations.opened.set(operation);
  return html`<p class="row">
    <button class="button small" onClick=${open(operations.correctEntry(board, participantId))}>
      Correct
    </button>
    ${
      hidden
        ? html`<button class="button small" onClick=${open(operations.restoreEntry(board.id, participantId))}>
            Restore
          </button>`
        : html`<button class="button small" onClick=${open(operations.hideEntry(board.id, participantId))}>
            Hide
          </button>`
    }
    <button class="button small" onClick=${open(operations.removeEntry(board.id, participantId))}>
      Remove
    </button>
  </p>`;
}

function Events({ participantId, boards, onEvent }) {
  const [events, setEvents] = useState([]);
  const followed = boards.slice(0, FOLLOWED_BOARDS);
  const add = ({ onRankBucketChange: event }) => {
    const isOld = (each) =>
      each.leaderboardId === event.leaderboardId &&
      each.period === event.period &&
      BigInt(each.version) >= BigInt(event.version);
    setEvents((before) => (before.some(isOld) ? before : [event, ...before].slice(0, EVENTS_KEPT)));
    onEvent();
  };
  return html`<${Card} title="Live events">
    ${followed.map(
      (board) =>
        html`<${Followed} key=${board} board=${board} participantId=${participantId} onEvent=${add} />`,
    )}
    ${!events.length && html`<p class="muted note">${NO_EVENTS}</p>`}
    <ol class="events" aria-live="polite">
      ${events.map(
        (event) =>
          html`<li key="${event.leaderboardId} ${event.version}">
            <time class="muted" datetime=${event.at}>${time(event.at)}</time>
            <span>
              <strong><bdi>${event.previousBucket ?? 'new'}</bdi> → <bdi>${event.bucket}</bdi></strong>
              <span class="muted">
                on <bdi>${event.leaderboardId}</bdi>, rank
                ${event.previousRank == null ? '' : `${number(event.previousRank)} → `}${number(event.rank)},
                ${event.cause === 'OTHERS' ? 'by others' : 'by their own score'}</span
              >
            </span>
          </li>`,
      )}
    </ol>
  <//>`;
}

function Followed({ board, participantId, onEvent }) {
  useSubscription(BUCKET_CHANGES, { id: board, participantId }, onEvent);
  return null;
}
