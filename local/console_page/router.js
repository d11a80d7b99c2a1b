// Views by the address's hash: #/boards/race?period=daily is {path: ['boards', 'race'], options: {period: 'daily'}}.
import { Store } from './store.js';

function read() {
  const [path, options] = location.hash.replace(/^#\/?/, '').split('?');
  return {
    path: path.split('/').filter(Boolean).map(decode),
    options: Object.fromEntries(new URLSearchParams(options)),
  };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export const route = new Store(read());
addEventListener('hashchange', () => route.set(read()));

export function link(path, options = {}) {
  const given = Object.entries(options).filter(([, value]) => value != null && value !== '');
  const query = given.length ? `?${new URLSearchParams(given)}` : '';
  return `#/${path.map(encodeURIComponent).join('/')}${query}`;
}

export function go(path, options) {
  location.hash = link(path, options);
}

// Change the options without a new entry in the browser's history.
export function replaceOptions(options) {
  history.replaceState(null, '', link(route.value.path, options));
  route.set(read());
}
