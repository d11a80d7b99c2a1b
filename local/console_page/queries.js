// The GraphQL of the console's reads and subscriptions.
const ENTRY = `
      period
      hidden
      achievedAt
      submissions
      participant { id displayName }
      score { value display }
      rank { rank position total percentile exact asOf bucket { name } }`;

export const BOARDS = `query Boards($nextToken: String) {
  leaderboards(limit: 40, nextToken: $nextToken) {
    nextToken
    items {
      id
      title
      policy
      periods
      clientAccess
      closed
      createdAt
      components { name kind order }
    }
  }
}`;

// Sizes are asked for by period, since a board need not keep standings of all time. A query has at most 50 aliases
// and 1,000 tokens: hence pages of 40 boards, and a fragment for each period.
export function boardSizes(boards) {
  const parameters = boards.map((_, at) => `$id${at}: ID!`).join(', ');
  const fields = boards.map(({ periods }, at) => `  b${at}: leaderboard(id: $id${at}) { ...${periods[0]} }`);
  const fragments = [...new Set(boards.map(({ periods }) => periods[0]))].map(
    (kind) => `fragment ${kind} on Leaderboard {
  size(period: "${periodName(kind)}")
  top(limit: 1, period: "${periodName(kind)}") { participant { id displayName } score { display } }
}`,
  );
  const variables = boards.map(({ id }, at) => [`id${at}`, id]);
  return [
    `query Sizes(${parameters}) {\n${fields.join('\n')}\n}\n\n${fragments.join('\n\n')}`,
    Object.fromEntries(variables),
  ];
}

export const periodName = (kind) => kind.toLowerCase().replace('_', '-');

export const BOARD = `query Board($id: ID!) {
  leaderboard(id: $id) {
    id
    title
    policy
    tieBreak
    periods
    timeZone
    counterMode
    clientAccess
    clientTimeAllowance
    createdAt
    closed
    version
    components { name kind order decimals min max }
    rankBuckets { name from to topPercent }
    currentPeriods { kind key startsAt endsAt }
  }
}`;

export const STANDINGS = `query Standings($id: ID!, $period: String, $limit: Int) {
  leaderboard(id: $id) {
    size(period: $period)
    top(period: $period, limit: $limit) {${ENTRY}
    }
  }
}`;

// With the best and the worst score, and that at the end of each rank bucket that has one.
export function distribution(buckets) {
  const fields = buckets.map(({ to, topPercent }, at) => {
    const argument = to == null ? `topPercent: ${topPercent}` : `rank: ${to}`;
    return to == null && topPercent == null
      ? ''
      : `\n    edge${at}: scoreFor(${argument}, period: $period) { value display }`;
  });
  return `query Distribution($id: ID!, $period: String) {
  leaderboard(id: $id) {
    distribution(bins: 40, period: $period) { from to count buckets }
    best: scoreFor(rank: 1, period: $period) { value }
    worst: scoreFor(topPercent: 100, period: $period) { value }${fields.join('')}
  }
}`;
}

export const AROUND = `query Around($id: ID!, $period: String, $participantId: ID!, $radius: Int) {
  leaderboard(id: $id) {
    around(participantId: $participantId, radius: $radius, period: $period) {${ENTRY}
    }
  }
}`;

export const ENTRY_AT = `query EntryAt($id: ID!, $period: String, $position: Int!) {
  leaderboard(id: $id) {
    entryAt(position: $position, period: $period) { participant { id } }
  }
}`;

export const RANK_OF = `query RankOf($id: ID!, $period: String, $score: [String!]!) {
  leaderboard(id: $id) {
    rankOf(score: $score, period: $period) { rank total percentile exact bucket { name } }
  }
}`;

export const ARCHIVES = `query Archives($id: ID!, $nextToken: String) {
  leaderboard(id: $id) {
    archives(limit: 5, nextToken: $nextToken) {
      nextToken
      items {
        id
        period
        takenAt
        size
        entries(limit: 10) { items { participant { id displayName } score { display } rank { rank } } }
      }
    }
  }
}`;

export const PARTICIPANT = `query Participant($id: ID!, $nextToken: String) {
  participant(id: $id) {
    id
    displayName
    entries(limit: 50, nextToken: $nextToken) {
      nextToken
      items {
        leaderboardId${ENTRY}
      }
    }
  }
}`;

export const TOP_CHANGES = `subscription TopChanges($id: ID!, $period: String!) {
  onTopChange(leaderboardId: $id, period: $period) { version at }
}`;

export const BUCKET_CHANGES = `subscription BucketChanges($id: ID!, $participantId: ID!) {
  onRankBucketChange(leaderboardId: $id, participantId: $participantId) {
    leaderboardId
    period
    previousBucket
    bucket
    previousRank
    rank
    cause
    version
    at
  }
}`;
