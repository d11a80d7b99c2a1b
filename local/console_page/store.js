// A value that components can watch.
import { useEffect, useState } from 'preact/hooks';

export class Store {
  #watchers = new Set();

  constructor(value) {
    this.value = value;
  }

  set(value) {
    this.value = value;
    for (const watcher of this.#watchers) watcher(value);
  }

  // Return the function that ends it.
  watch(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }
}

export function useStore(store) {
  const [value, setValue] = useState(() => store.value);
  useEffect(() => {
    setValue(() => store.value); // it may have changed since the first render
    return store.watch((next) => setValue(() => next));
  }, [store]);
  return value;
}
