// A query whose result a component shows: loaded, kept while it is loaded again, and loaded again after a reconnection.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { changes, send } from './api.js';
import { reconnections } from './live.js';
import { role } from './session.js';

const AFTER_CHANGE_MILLISECONDS = 1_200;

// Return {data, error, request, loading, reload}. Without variables nothing is loaded.
// `every` is how often it is loaded again, in milliseconds, while the page is visible.
export function useQuery(query, variables, { every = 0 } = {}) {
  const text = variables && JSON.stringify(variables);
  const key = `${query} ${text}`;
  const [state, setState] = useState({ key: null });
  const flight = useRef({ key: null, again: false });

  const load = useCallback(async () => {
    if (!text) return;
    if (flight.current.key === key) {
      flight.current.again = true; // one at a time: what changes meanwhile is loaded after it
      return;
    }
    const mine = { key, again: false };
    flight.current = mine;
    do {
      mine.again = false;
      let next;
      try {
        next = { key, error: null, ...(await send(query, JSON.parse(text))) };
      } catch (error) {
        next = { key, error, request: error.request };
      }
      if (flight.current !== mine) return; // another query is shown by now
      // An error leaves what was there before.
      setState((before) => (before.key === key ? { ...before, ...next } : next));
    } while (mine.again);
    flight.current = { key: null, again: false };
  }, [key]);

  useEffect(() => {
    load();
    const whenVisible = () => document.visibilityState === 'visible' && load();
    const timer = every ? setInterval(whenVisible, every) : null;
    const unwatch = [changes, reconnections, role].map((store) => store.watch(load));
    return () => {
      clearInterval(timer);
      for (const end of unwatch) end();
      flight.current = { key: null, again: false };
    };
  }, [load, every]);

  const current = state.key === key ? state : {};
  return { ...current, loading: Boolean(text) && state.key !== key, reload: load };
}

// Load again soon after `standings` changed, and no more often than that.
export function useReloadAfter(standings, reload) {
  const timer = useRef(null);
  const latest = useRef(reload);
  latest.current = reload;
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current && !timer.current) {
      timer.current = setTimeout(() => {
        timer.current = null;
        latest.current();
      }, AFTER_CHANGE_MILLISECONDS);
    }
    isFirst.current = !standings;
  }, [JSON.stringify(standings)]);
  useEffect(() => () => clearTimeout(timer.current), []);
}
