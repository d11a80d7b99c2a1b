// What operators do: each with its form, what it means, and its mutation.
import { readScore } from './format.js';
import { Store } from './store.js';

export const opened = new Store(null); // the operation whose dialog shows

const REASON = { name: 'reason', label: 'Reason', hint: 'Kept in the audit record.' };
const text = (value) => value?.trim() || null;

function scoreField(components) {
  const names = components.map(({ name }) => name);
  return {
    name: 'score',
    label: names.length === 1 ? `Score (${names[0]})` : 'Score',
    hint: scoreHint(components),
    required: true,
  };
}

export function scoreHint(components) {
  const [{ kind, order }] = components;
  const example = {
    INTEGER: '9011',
    DECIMAL: '25.5',
    DURATION: '1:27.452',
    TIMESTAMP: '2026-11-30T12:00:00Z',
  };
  const best = order === 'DESCENDING' ? 'highest is best' : 'lowest is best';
  if (components.length === 1) return `Such as ${example[kind]}; the ${best}.`;
  const names = components.slice(0, 4).map(({ name }) => name);
  return `${names.join(' / ')}${components.length > 4 ? ' / …' : ''}; what you leave out counts as 0.`;
}

export const submitScore = (board) => ({
  title: 'Submit a score',
  explanation: {
    BEST: 'The better of this and the standing score is kept.',
    LATEST: 'This replaces an older score, better or worse.',
    SUM: 'This is added to the standing score.',
  }[board.policy],
  fields: [
    { name: 'participantId', label: 'Participant', hint: 'An id, such as a user’s id.', required: true },
    scoreField(board.components),
    { name: 'displayName', label: 'Display name', hint: 'Optional; shown instead of the id.' },
  ],
  verb: 'Submit',
  mutation: `mutation Submit($input: SubmitScoreInput!) {
  submitScore(input: $input) {
    accepted
    entries { period score { display } }
  }
}`,
  variables: ({ participantId, score, displayName }) => ({
    input: {
      leaderboardId: board.id,
      participantId,
      score: readScore(score, board.components),
      ...(text(displayName) && { displayName: text(displayName) }),
    },
  }),
  done: ({ submitScore: { accepted } }) =>
    accepted ? 'Score accepted.' : 'Nothing changed: a better or later score stands.',
});

export const correctEntry = (board, participantId) => ({
  title: 'Correct the score',
  subject: participantId,
  explanation: 'Sets the score in every current period, up or down, whatever the policy.',
  fields: [scoreField(board.components), { ...REASON, required: true }],
  verb: 'Correct',
  mutation: `mutation Correct($input: CorrectEntryInput!) {
  correctEntry(input: $input) { period score { display } }
}`,
  variables: ({ score, reason }) => ({
    input: { leaderboardId: board.id, participantId, score: readScore(score, board.components), reason },
  }),
  done: () => 'Score corrected.',
});

function moderation(field, boardId, participantId, returned, { title, explanation, verb, done, danger }) {
  const name = field.replace(/^./, (letter) => letter.toUpperCase());
  return {
    title,
    subject: participantId,
    explanation,
    fields: [REASON],
    verb,
    danger,
    mutation: `mutation ${name}($leaderboardId: ID!, $participantId: ID!, $reason: String) {
  ${field}(leaderboardId: $leaderboardId, participantId: $participantId, reason: $reason) { ${returned} }
}`,
    variables: ({ reason }) => ({ leaderboardId: boardId, participantId, reason: text(reason) }),
    done: () => done,
  };
}

export const hideEntry = (boardId, participantId) =>
  moderation('hideEntry', boardId, participantId, 'hidden', {
    title: 'Hide the participant',
    explanation:
      'Takes their rank on this board in all periods. Scores are kept and still change; you can restore them.',
    verb: 'Hide',
    done: 'Participant hidden.',
  });

export const restoreEntry = (boardId, participantId) =>
  moderation('restoreEntry', boardId, participantId, 'hidden', {
    title: 'Restore the participant',
    explanation: 'Gives back the rank, with the scores and times that they had.',
    verb: 'Restore',
    done: 'Participant restored.',
  });

export const removeEntry = (boardId, participantId) =>
  moderation('removeEntry', boardId, participantId, 'score { display }', {
    title: 'Remove from this board',
    explanation:
      'Removes their entries in all periods. For 30 days, scores that were achieved before now are refused.',
    verb: 'Remove',
    danger: true,
    done: 'Participant removed from the board.',
  });

export const forgetParticipant = (participantId) => ({
  title: 'Forget the participant',
  subject: participantId,
  explanation:
    'Erases them from all boards, periods and archives. Archived places stay, without id and name. ' +
    'This cannot be undone.',
  confirm: participantId,
  fields: [],
  verb: 'Forget',
  danger: true,
  mutation: `mutation Forget($id: ID!) {
  forgetParticipant(id: $id) { entriesRemoved }
}`,
  variables: () => ({ id: participantId }),
  done: ({ forgetParticipant: { entriesRemoved } }) => `Forgotten; entries removed: ${entriesRemoved}.`,
});

function onBoard(field, boardId, { title, explanation, verb, done, ...rest }) {
  const name = field.replace(/^./, (letter) => letter.toUpperCase());
  return {
    title,
    subject: boardId,
    explanation,
    fields: [REASON],
    verb,
    mutation: `mutation ${name}($id: ID!, $reason: String) {
  ${field}(id: $id, reason: $reason) { id closed }
}`,
    variables: ({ reason }) => ({ id: boardId, reason: text(reason) }),
    done: () => done,
    ...rest,
  };
}

export const closeBoard = (boardId) =>
  onBoard('closeLeaderboard', boardId, {
    title: 'Close the board',
    explanation:
      'Submissions are refused within 5 seconds, until you reopen it. Everything can still be read.',
    verb: 'Close board',
    done: 'Board closed.',
  });

export const reopenBoard = (boardId) =>
  onBoard('reopenLeaderboard', boardId, {
    title: 'Reopen the board',
    explanation: 'Submissions are accepted again within 5 seconds.',
    verb: 'Reopen board',
    done: 'Board reopened.',
  });

export const deleteBoard = (boardId, whenDone) =>
  onBoard('deleteLeaderboard', boardId, {
    title: 'Delete the board',
    explanation: 'Deletes all its entries, counters and archives. This cannot be undone.',
    confirm: boardId,
    verb: 'Delete board',
    danger: true,
    done: 'Board deleted; its data is deleted in the background.',
    whenDone,
  });

export const archiveBoard = (boardId, period) => ({
  title: 'Archive the standings',
  subject: boardId,
  explanation:
    'Keeps these standings with their ranks as they are now. A large board is archived in the background.',
  fields: [
    {
      name: 'period',
      label: 'Period',
      hint: 'Such as all-time, daily or weekly-2026-W49.',
      value: period,
      required: true,
    },
    { name: 'limit', label: 'Best entries only', hint: 'How many; empty for all.', type: 'number', min: 1 },
  ],
  verb: 'Archive',
  mutation: `mutation Archive($leaderboardId: ID!, $period: String, $limit: Int) {
  archiveLeaderboard(leaderboardId: $leaderboardId, period: $period, limit: $limit) { id complete size }
}`,
  variables: (values) => ({
    leaderboardId: boardId,
    period: values.period,
    limit: values.limit ? Number(values.limit) : null,
  }),
  done: ({ archiveLeaderboard: { complete } }) =>
    complete ? 'Standings archived.' : 'The archive is being written; it is listed once it is complete.',
});
