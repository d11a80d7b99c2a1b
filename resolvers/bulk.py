"""submitScores: many submissions, board by board, each with an outcome of its own."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from core.domain.errors import InvalidInput, LeaderboardError
from core.domain.limits import MAX_SUBMISSIONS
from core.submissions.submit import submit_scores
from resolvers.inputs import SubmitScoreInput
from resolvers.request.context import Context
from resolvers.types.submission import SubmissionOutcome

if TYPE_CHECKING:
    from core.domain.model import SubmitResult


async def submit_many(context: Context, inputs: Sequence[SubmitScoreInput]) -> list[SubmissionOutcome]:
    """Submit scores to any boards, and give the outcomes in the order of the inputs.

    Raises:
        InvalidInput: too many at once; nothing is stored.
    """
    if len(inputs) > MAX_SUBMISSIONS:
        raise InvalidInput(f"inputs: must be at most {MAX_SUBMISSIONS}, not {len(inputs)}")
    by_board: defaultdict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(inputs):
        by_board[one.leaderboard_id].append(at)
    found = await asyncio.gather(
        *(_submit(context, board_id, [inputs[at] for at in places]) for board_id, places in by_board.items())
    )
    outcomes = {
        at: outcome
        for places, of_board in zip(by_board.values(), found, strict=True)
        for at, outcome in zip(places, of_board, strict=True)
    }
    return [outcomes[at] for at in range(len(inputs))]


async def _submit(
    context: Context, board_id: str, inputs: Sequence[SubmitScoreInput]
) -> list[SubmissionOutcome]:
    try:
        board = await asyncio.to_thread(context.boards.get, board_id)
    except LeaderboardError as refusal:
        return [SubmissionOutcome.refused(refusal) for _ in inputs]
    refused: dict[int, SubmitResult | Exception] = {}
    submissions = {}
    for at, one in enumerate(inputs):
        try:
            context.caller.check_submits(board, one.participant_id)
            submissions[at] = one.submission()
        except LeaderboardError as refusal:
            refused[at] = refusal
    results = await asyncio.to_thread(
        submit_scores, context.db, board, list(submissions.values()), now=context.now()
    )
    told = refused | dict(zip(submissions, results, strict=True))
    return [SubmissionOutcome.of(board, told[at]) for at in range(len(inputs))]
