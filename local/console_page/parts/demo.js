// The demo's button and how far its import is, which the local server alone offers.
import { html } from 'htm/preact';
import { demoUrl } from '../config.js';
import { percent } from '../format.js';
import { go } from '../router.js';
import { apiKey, useIsOperator } from '../session.js';
import { Store, useStore } from '../store.js';
import { Card } from './card.js';
import { say } from './toasts.js';

const POLL_MILLISECONDS = 500;
const demo = new Store(null); // null where there is none

async function ask(method) {
  const response = await fetch(demoUrl, { method, headers: { 'x-api-key': apiKey() } });
  if (!response.ok) throw new Error((await response.json()).message);
  demo.set(await response.json());
}

async function follow() {
  let shown = demo.value.done > 0;
  while (demo.value?.state === 'running') {
    await new Promise((resolve) => setTimeout(resolve, POLL_MILLISECONDS));
    await ask('GET').catch(() => {}); // the server may be restarting
    if (!shown && demo.value.done > 0) {
      shown = true;
      go(['boards', demo.value.board]);
    }
  }
  if (demo.value?.state === 'done') say('The demo is loaded.');
  if (demo.value?.state === 'failed') say(`The demo was not loaded: ${demo.value.message}`, 'bad');
}

async function start() {
  try {
    await ask('POST');
  } catch (error) {
    say(error.message, 'bad');
    return;
  }
  follow();
}

// A page that is opened while the demo is loaded follows it too.
ask('GET').then(
  () => demo.value.state === 'running' && follow(),
  () => {},
);

export function DemoButton() {
  const state = useStore(demo);
  const isOperator = useIsOperator();
  if (!isOperator || !state) return null;
  const running = state.state === 'running';
  return html`<button type="button" class="button primary" disabled=${running} onClick=${start}>
    ${running ? 'Loading the demo…' : 'Load the Formula 1 demo'}
  </button>`;
}

export function DemoCard() {
  const state = useStore(demo);
  const isOperator = useIsOperator();
  if (!isOperator || !state) return null;
  return html`<${Card} title="Formula 1 demo">
    <p class="muted">
      A board for each season since 1950, one of fastest laps, one of pit stops. What is there already is not
      imported again, so an interrupted import resumes.
    </p>
    <p><${DemoButton} /></p>
  <//>`;
}

export function DemoProgress() {
  const state = useStore(demo);
  if (state?.state !== 'running') return null;
  const share = state.total ? (100 * state.done) / state.total : 0;
  return html`<div class="progress">
    <label for="demo-progress">Loading the Formula 1 demo, ${percent(Math.floor(share))}</label>
    <progress id="demo-progress" max="100" value=${share}></progress>
  </div>`;
}
