// Live events over graphql-transport-ws: one socket, connected again whenever it is lost.
import { createClient } from 'graphql-ws';
import { useEffect, useRef } from 'preact/hooks';
import { socketUrl } from './config.js';
import { apiKey, role } from './session.js';
import { Store } from './store.js';

const LONGEST_WAIT_MILLISECONDS = 4_000;

export const connection = new Store('connecting'); // connecting, live or lost
export const reconnections = new Store(0); // whoever shows state queries it again when this grows

let client = null;
let wasLost = false;
const clients = new Store(null);

function connect() {
  client?.dispose();
  client = createClient({
    url: socketUrl,
    connectionParams: () => ({ 'x-api-key': apiKey() }),
    lazy: false,
    keepAlive: 10_000,
    retryAttempts: Infinity,
    shouldRetry: () => true,
    retryWait: (retries) =>
      new Promise((resolve) => {
        const wait = Math.min(300 * 2 ** retries, LONGEST_WAIT_MILLISECONDS);
        setTimeout(resolve, wait * (0.5 + Math.random() / 2));
      }),
    onNonLazyError: () => connection.set('lost'),
    on: { connected, closed: (event) => lost(event) },
  });
  clients.set(client);
}

function connected() {
  connection.set('live');
  if (wasLost) reconnections.set(reconnections.value + 1);
  wasLost = false;
}

function lost(event) {
  if (event?.code === 1000) return; // this page closed it, to connect with another key
  wasLost = true;
  connection.set('lost');
}

// Have `onEvent` called with the data of each event while the component shows; not at all without variables.
export function useSubscription(query, variables, onEvent) {
  const latest = useRef(onEvent);
  latest.current = onEvent;
  const text = variables && JSON.stringify(variables);
  useEffect(() => {
    if (!text) return undefined;
    let stop = () => {};
    const start = () => {
      stop();
      stop = client.subscribe(
        { query, variables: JSON.parse(text) },
        { next: ({ data }) => data && latest.current(data), error: () => {}, complete: () => {} },
      );
    };
    start();
    const unwatch = clients.watch(start);
    return () => {
      unwatch();
      stop();
    };
  }, [query, text]);
}

role.watch(connect);
connect();
