// Numbers, times and scores as text.
const LANGUAGE = 'en-GB';
const numbers = new Intl.NumberFormat(LANGUAGE);
const short = new Intl.NumberFormat(LANGUAGE, { maximumSignificantDigits: 3, notation: 'compact' });
const units = new Intl.NumberFormat(LANGUAGE, { maximumFractionDigits: 1 });
const days = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: 'medium' });
const minutes = new Intl.DateTimeFormat(LANGUAGE, { dateStyle: 'medium', timeStyle: 'short' });
const clock = new Intl.DateTimeFormat(LANGUAGE, { timeStyle: 'medium' });
const relative = new Intl.RelativeTimeFormat(LANGUAGE, { numeric: 'auto' });

const STEPS = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 7],
];

export const number = (value) => numbers.format(value);
export const unitCount = (value) => units.format(value);
export const time = (date) => clock.format(new Date(date));
export const dateTime = (date) => minutes.format(new Date(date));
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;
export const percent = (value) => `${units.format(value)}%`;

// Return such as "3 minutes ago" or "in 2 hours"; the date if that is more than a week away.
export function ago(date) {
  let value = (new Date(date) - Date.now()) / 1000;
  for (const [unit, size] of STEPS) {
    if (Math.abs(value) < size) return relative.format(Math.round(value), unit);
    value /= size;
  }
  return days.format(new Date(date));
}

// Return a score's display as its first component and the rest, which may be long.
export function splitScore(display) {
  const [first, ...rest] = display.split(' / ');
  return { first, rest };
}

// Return the components' values of "25 / 3": those that are left out are their lowest, or 0.
export function readScore(text, components) {
  const given = text.split('/').map((part) => part.trim());
  return components.map(({ min }, index) => given[index] || (index ? (min ?? '0') : ''));
}

// Return a component's value as a number for a chart.
export function chartNumber(value, kind) {
  return kind === 'TIMESTAMP' ? Date.parse(value) / 1000 : Number(value);
}

// Return a number of a chart's axis as text.
export function chartText(value, kind) {
  if (kind === 'TIMESTAMP') return days.format(new Date(value * 1000));
  if (kind !== 'DURATION') return short.format(value);
  const total = Math.abs(value);
  const [hours, rest] = [Math.floor(total / 3600), total % 3600];
  const seconds = rest % 60;
  const two = (part) => String(Math.floor(part)).padStart(2, '0');
  if (hours) return `${hours}:${two(rest / 60)}:${two(seconds)}`;
  if (total >= 60) return `${Math.floor(rest / 60)}:${two(seconds)}`;
  return `${units.format(value)} s`;
}
