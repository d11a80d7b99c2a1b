// A client by the generated types: it compiles only if they say what the schema promises.
import type { BoardQuery, BucketSubscription, SubmitMutationVariables, TopSubscription } from './generated/operations';
import type { Leaderboard, TopChangeEntry } from './generated/types';

export const submission: SubmitMutationVariables = {
  input: { leaderboardId: 'race', participantId: 'ann', score: ['1:27.452'], metadata: '{"car":7}' },
};

export function names(data: BoardQuery): string[] {
  const entries = data.leaderboard?.top ?? [];
  return entries.map(({ participant }) => participant.displayName ?? participant.id);
}

export function endOf(board: Leaderboard): string | null {
  const [period] = board.currentPeriods;
  return period?.endsAt ?? null;
}

export function best(event: TopSubscription): Pick<TopChangeEntry, 'rank' | 'participantId'> | undefined {
  return event.onTopChange?.entries[0];
}

export function isNew(event: BucketSubscription): boolean {
  return event.onRankBucketChange?.previousBucket === null;
}

// @ts-expect-error a score is a list of strings
export const wrong: SubmitMutationVariables = { input: { leaderboardId: 'race', participantId: 'ann', score: 7 } };
