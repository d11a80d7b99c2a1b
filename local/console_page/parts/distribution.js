// How scores are spread: a chart with the rank buckets' edges and a participant's place, and the same as a table.
import { html } from 'htm/preact';
import { useMemo, useState } from 'preact/hooks';
import { chartNumber, number, plural } from '../format.js';
import { distribution } from '../queries.js';
import { useQuery, useReloadAfter } from '../use_query.js';
import { Card } from './card.js';
import { Chart } from './chart.js';
import { Empty, Loading, Problem } from './states.js';
import { BucketName, shade } from './text.js';

const EVERY = 30_000;

export function Distribution({ board, period, marker, standings }) {
  const query = useMemo(() => distribution(board.rankBuckets), [board.rankBuckets]);
  const { data, error, loading, request, reload } = useQuery(
    query,
    { id: board.id, period },
    { every: EVERY },
  );
  useReloadAfter(standings, reload);
  const { kind, name } = board.components[0];
  const chart = useMemo(() => data && read(data.leaderboard, board), [data]);
  const [hovered, setHovered] = useState(null);
  let content;
  if (error && !data) content = html`<${Problem} error=${error} onRetry=${reload} />`;
  else if (loading) content = html`<${Loading} label="Loading the distribution" />`;
  else if (!chart.bins.length) content = html`<${Empty} title="No scores to show yet." />`;
  else {
    const bin = chart.bins[hovered];
    content = html` <${Chart}
        ...${chart}
        kind=${kind}
        ascending=${board.components[0].order === 'ASCENDING'}
        marker=${marker}
        onHover=${setHovered}
        label="Entries by ${name}, from the worst to the best; the table below has the figures"
      />
      <p class="hovered muted" aria-hidden="true">
        ${bin ? binText(bin) : `Entries by ${name}, the best on the right`}
      </p>
      <${Buckets} board=${board} edges=${chart.edges} />
      <details>
        <summary>As a table</summary>
        <${BinTable} bins=${chart.bins} name=${name} />
      </details>`;
  }
  return html`<${Card} title="Distribution" request=${request}>${content}<//>`;
}

const binText = ({ from, to, count, buckets }) =>
  `${from} to ${to}: ${plural(count, 'entry', 'entries')}, ${buckets.join(', ')}`;

const sorted = (values, kind) =>
  values.map((value) => chartNumber(value, kind)).sort((one, other) => one - other);

function read(leaderboard, { components: [{ kind }], rankBuckets }) {
  const { best, worst } = leaderboard; // the outermost bins reach further than the scores do
  const [low, high] = best && worst ? sorted([best.value[0], worst.value[0]], kind) : [-Infinity, Infinity];
  const bins = leaderboard.distribution.map((bin) => {
    const [from, to] = sorted([bin.from, bin.to], kind);
    return { ...bin, low: Math.max(from, low), high: Math.min(to, high) };
  });
  const edges = rankBuckets
    .map(({ name }, at) => ({ name, score: leaderboard[`edge${at}`] }))
    .filter(({ score }) => score) // null where the board has fewer entries
    .map(({ name, score: { value, display } }) => ({
      name,
      display,
      at: chartNumber(value[0], kind),
      shade: shade(name, rankBuckets),
    }));
  const lastShade = shade(rankBuckets.at(-1).name, rankBuckets);
  return { bins: bins.sort((one, other) => one.low - other.low), edges, lastShade };
}

function Buckets({ board, edges }) {
  const scores = new Map(edges.map(({ name, display }) => [name, display.split(' / ')[0]]));
  return html`<table class="buckets" aria-label="Rank buckets">
    <thead>
      <tr>
        <th scope="col">Rank bucket</th>
        <th scope="col" class="number">Reaches to</th>
        <th scope="col" class="number">Score to reach</th>
      </tr>
    </thead>
    <tbody>
      ${board.rankBuckets.map(
        ({ name, to, topPercent }) =>
          html`<tr key=${name}>
            <th scope="row"><${BucketName} name=${name} buckets=${board.rankBuckets} /></th>
            <td class="number">
              ${to != null ? `rank ${number(to)}` : topPercent != null ? `top ${topPercent}%` : 'everyone'}
            </td>
            <td class="number">${scores.get(name) ?? '–'}</td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}

function BinTable({ bins, name }) {
  return html`<table aria-label="Distribution">
    <thead>
      <tr>
        <th scope="col">From (${name})</th>
        <th scope="col">To</th>
        <th scope="col" class="number">Entries</th>
        <th scope="col">Rank buckets</th>
      </tr>
    </thead>
    <tbody>
      ${bins.map(
        (bin) =>
          html`<tr key=${bin.from}>
            <td>${bin.from}</td>
            <td>${bin.to}</td>
            <td class="number">${number(bin.count)}</td>
            <td><bdi>${bin.buckets.join(', ')}</bdi></td>
          </tr>`,
      )}
    </tbody>
  </table>`;
}
