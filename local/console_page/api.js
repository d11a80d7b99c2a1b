// Sends GraphQL requests, and keeps the latest with what each cost.
import { endpoint } from './config.js';
import { apiKey } from './session.js';
import { Store } from './store.js';

const KEPT = 50;
const COUNTED_MILLISECONDS = [0, 1_200, 2_500]; // counters follow a score by about a second
const TIMEOUT_MILLISECONDS = 30_000;

export const requests = new Store([]); // the newest first
export const changes = new Store(0); // grows with each mutation: what is shown may be out of date
let count = 0;

// `type` is the API's errorType, or Unreachable if there was no answer.
class ApiError extends Error {
  constructor(type, message, request) {
    super(message);
    this.type = type;
    this.request = request;
  }
}

// Return the data and the request with its cost. Throw an ApiError if the response has errors.
export async function send(query, variables = {}) {
  const start = performance.now();
  const request = { number: (count += 1), name: nameOf(query), query, variables, at: new Date() };
  let body;
  try {
    body = await post(query, variables);
  } catch {
    finish(request, start, 'Unreachable');
    throw new ApiError('Unreachable', 'The server does not answer.', request);
  }
  const [error] = body.errors ?? [];
  const type = error && (error.errorType ?? 'Error');
  request.consumed = body.extensions?.consumed ?? null; // operators alone are told
  finish(request, start, type);
  if (error) throw new ApiError(type, error.message, request);
  if (/^\s*mutation/.test(query)) {
    for (const wait of COUNTED_MILLISECONDS) setTimeout(() => changes.set(changes.value + 1), wait);
  }
  return { data: body.data, request };
}

async function post(query, variables) {
  const response = await fetch(endpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-api-key': apiKey() },
    body: JSON.stringify({ query, variables }),
    signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
  });
  return response.json();
}

function finish(request, start, error = null) {
  request.milliseconds = performance.now() - start;
  request.error = error;
  requests.set([request, ...requests.value].slice(0, KEPT));
}

function nameOf(query) {
  return /^\s*(?:query|mutation)\s+(\w+)/.exec(query)?.[1] ?? 'Query';
}
