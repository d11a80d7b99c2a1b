// A new board as the form has it, texts that may be empty, and as the API takes it.
export const CREATE = `mutation Create($input: CreateLeaderboardInput!) {
  createLeaderboard(input: $input) { id }
}`;

const KINDS_OF_PERIOD = ['ALL_TIME', 'DAILY', 'WEEKLY', 'MONTHLY'];

export const newBoard = () => ({
  id: '',
  title: '',
  components: [{ name: 'score', kind: 'INTEGER', order: 'DESCENDING', min: '', max: '' }],
  policy: 'BEST',
  tieBreak: 'EARLIEST',
  periods: ['ALL_TIME'],
  timeZone: 'UTC',
  rankBuckets: null, // the default ones
  clientAccess: 'READ',
  counterMode: 'STREAM',
  peakWritesPerSecond: '1000',
  expectedSize: '',
});

export function toInput(board) {
  return withoutEmpty({
    ...board,
    components: board.components.map(withoutEmpty),
    periods: KINDS_OF_PERIOD.filter((kind) => board.periods.includes(kind)),
    rankBuckets: board.rankBuckets?.map(({ name, to, topPercent }) =>
      withoutEmpty({ name, to: to && Number(to), topPercent: topPercent && Number(topPercent) }),
    ),
    peakWritesPerSecond: Number(board.peakWritesPerSecond),
    expectedSize: board.expectedSize && Number(board.expectedSize),
  });
}

function withoutEmpty(values) {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '' && value != null));
}
