// The distribution's chart, drawn with uPlot: bars in the rank buckets' shades, lines at their edges, and a marker.
import { html } from 'htm/preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import { chartText } from '../format.js';

const HEIGHT = 230;
const LABEL_GAP = 6;
const FONT = '11px system-ui, sans-serif';
const darkMode = matchMedia('(prefers-color-scheme: dark)');

export function Chart(props) {
  const box = useRef();
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    const element = box.current;
    let plot;
    const draw = () => {
      plot?.destroy();
      plot = new uPlot(options(latest.current, element.clientWidth), data(latest.current.bins), element);
    };
    draw();
    const resized = new ResizeObserver(() => {
      if (plot.width !== element.clientWidth) plot.setSize({ width: element.clientWidth, height: HEIGHT });
    });
    resized.observe(element);
    darkMode.addEventListener('change', draw);
    return () => {
      resized.disconnect();
      darkMode.removeEventListener('change', draw);
      plot.destroy();
    };
  }, [props.bins, props.marker?.at, props.marker?.label]);
  return html`<div class="chart" role="img" aria-label=${props.label} ref=${box}></div>`;
}

const data = (bins) => [bins.map(({ low, high }) => (low + high) / 2), bins.map(({ count }) => count)];

function options({ bins, edges, lastShade, kind, ascending, marker, onHover }, width) {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  const low = bins[0].low;
  const high = Math.max(...bins.map((bin) => bin.high));
  const margin = (high - low) * 0.02 || 1;
  const axis = { stroke: color('muted'), font: FONT, ticks: { show: false } };
  return {
    width,
    height: HEIGHT,
    padding: [26, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: false, y: false } },
    scales: {
      x: { time: false, dir: ascending ? -1 : 1, range: [low - margin, high + margin] },
      y: { range: (_, __, most) => [0, Math.max(most * 1.08, 1)] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        grid: { show: false },
        space: 70,
        values: (_, values) => values.map((value) => chartText(value, kind)),
      },
      {
        ...axis,
        size: 44,
        space: 40,
        grid: { stroke: color('line'), width: 1 },
        values: (_, values) => values.map((value) => (Number.isInteger(value) ? chartText(value) : '')),
      },
    ],
    series: [{}, { paths: () => null, points: { show: false } }],
    hooks: {
      draw: [
        (plot) => drawBars(plot, bins, edges, lastShade, color),
        (plot) => drawLines(plot, edges, color),
        (plot) => marker && drawMarker(plot, marker, color),
      ],
      setCursor: [(plot) => onHover(binAt(plot, bins))],
    },
  };
}

function binAt(plot, bins) {
  if (plot.cursor.left < 0) return null;
  const value = plot.posToVal(plot.cursor.left, 'x');
  const distances = bins.map(({ low, high }) => Math.max(low - value, value - high, 0));
  return distances.indexOf(Math.min(...distances));
}

// A bar has the shade of the rank bucket at each score, the best on the right.
function drawBars(plot, bins, edges, lastShade, color) {
  const { ctx } = plot;
  const pixel = devicePixelRatio;
  const floor = plot.valToPos(0, 'y', true);
  const starts = edges.map(({ at, shade }) => ({ shade, left: plot.valToPos(at, 'x', true) }));
  const shadeAt = (x) => starts.find(({ left }) => x >= left)?.shade ?? lastShade;
  for (const { low, high, count } of bins.filter((bin) => bin.count)) {
    const ends = [plot.valToPos(low, 'x', true), plot.valToPos(high, 'x', true)];
    const width = Math.max(Math.abs(ends[1] - ends[0]) - pixel, 3 * pixel);
    const left = (ends[0] + ends[1] - width) / 2;
    const top = Math.min(plot.valToPos(count, 'y', true), floor - 2 * pixel);
    const cuts = starts.map((start) => start.left).filter((x) => x > left + 2 * pixel && x < left + width);
    const pieces = [left, ...cuts.sort((one, other) => one - other), left + width];
    ctx.save();
    ctx.beginPath();
    ctx.roundRect(left, top, width, floor - top, [2 * pixel, 2 * pixel, 0, 0]);
    ctx.clip();
    pieces.slice(1).forEach((right, at) => {
      ctx.fillStyle = color(`shade-${shadeAt(right - pixel / 2)}`);
      ctx.fillRect(pieces[at], top, right - pieces[at], floor - top);
    });
    ctx.restore();
  }
}

// The best edges are often close together: a label that would cover another is left out.
function drawLines(plot, edges, color) {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.font = FONT.replace('11px', `${11 * devicePixelRatio}px`);
  ctx.textAlign = 'center';
  ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
  const taken = [];
  for (const { name, at } of edges) {
    const x = plot.valToPos(at, 'x', true);
    ctx.strokeStyle = color('line-strong');
    line(ctx, x, bbox.top, bbox.top + bbox.height);
    const half = ctx.measureText(name).width / 2;
    const middle = Math.min(Math.max(x, bbox.left + half), bbox.left + bbox.width - half);
    const gap = LABEL_GAP * devicePixelRatio;
    if (taken.every(([left, right]) => middle + half + gap < left || middle - half - gap > right)) {
      ctx.fillStyle = color('muted');
      ctx.fillText(name, middle, bbox.top - 8 * devicePixelRatio);
      taken.push([middle - half, middle + half]);
    }
  }
  ctx.restore();
}

function drawMarker(plot, { at, label }, color) {
  const { ctx, bbox } = plot;
  const x = plot.valToPos(at, 'x', true);
  ctx.save();
  ctx.strokeStyle = color('marker');
  ctx.fillStyle = color('marker');
  ctx.lineWidth = 2 * devicePixelRatio;
  line(ctx, x, bbox.top, bbox.top + bbox.height);
  ctx.font = `600 ${FONT.replace('11px', `${11 * devicePixelRatio}px`)}`;
  const isRight = x > bbox.left + bbox.width / 2;
  ctx.textAlign = isRight ? 'right' : 'left';
  ctx.fillText(label, x + (isRight ? -6 : 6) * devicePixelRatio, bbox.top + 12 * devicePixelRatio);
  ctx.restore();
}

function line(ctx, x, top, bottom) {
  ctx.beginPath();
  ctx.moveTo(x, top);
  ctx.lineTo(x, bottom);
  ctx.stroke();
}
