"""submitScores: a batch of submissions, grouped by board, with an outcome for each."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from core.domain.errors import InvalidInput, LeaderboardError
from core.domain.limits import MAX_SUBMISSIONS
from core.storage.parallel import run_all
from core.submissions.submit import submit_scores
from resolvers.inputs import SubmitScoreInput
from resolvers.observability import traced
from resolvers.request.context import Context
from resolvers.types.submission import SubmissionOutcome

if TYPE_CHECKING:
    from core.domain.model import SubmitResult


def submit_many(context: Context, inputs: Sequence[SubmitScoreInput]) -> list[SubmissionOutcome]:
    """Submit scores to any boards; return the outcomes in the order of the inputs.

    Raises:
        InvalidInput: there are too many; nothing is stored.
    """
    if len(inputs) > MAX_SUBMISSIONS:
        raise InvalidInput(f"inputs: must have at most {MAX_SUBMISSIONS} submissions, not {len(inputs)}")
    by_board: defaultdict[str, list[int]] = defaultdict(list)
    for index, submission in enumerate(inputs):
        by_board[submission.leaderboard_id].append(index)
    batches = run_all(
        partial(_submit, context, board_id, [inputs[index] for index in indexes])
        for board_id, indexes in by_board.items()
    )
    outcomes = {
        index: outcome
        for indexes, batch in zip(by_board.values(), batches, strict=True)
        for index, outcome in zip(indexes, batch, strict=True)
    }
    return [outcomes[index] for index in range(len(inputs))]


def _submit(context: Context, board_id: str, inputs: Sequence[SubmitScoreInput]) -> list[SubmissionOutcome]:
    try:
        board = traced(context.boards.get, board_id)
    except LeaderboardError as refusal:
        return [SubmissionOutcome.refused(refusal) for _ in inputs]
    refused: dict[int, SubmitResult | Exception] = {}
    submissions = {}
    for index, submission in enumerate(inputs):
        try:
            given = submission.submission()
            context.caller.check_submits(board, given, context.now())
            submissions[index] = given
        except LeaderboardError as refusal:
            refused[index] = refusal
    results = traced(submit_scores, context.db, board, list(submissions.values()), now=context.now())
    outcomes = refused | dict(zip(submissions, results, strict=True))
    return [SubmissionOutcome.of(board, outcomes[index]) for index in range(len(inputs))]
