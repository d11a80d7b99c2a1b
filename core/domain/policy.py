"""What a submission does to the standing entry, by the board's policy. Pure."""

from dataclasses import dataclass
from datetime import datetime

from core.domain import rank_key
from core.domain.model import Board, Entry, ScorePolicy
from core.domain.scores import check_bounds


@dataclass(frozen=True, slots=True)
class Standing:
    """A score and when it was reached."""

    score: tuple[int, ...]
    achieved_at: datetime


def next_standing(
    board: Board,
    entry: Entry | None,
    score: tuple[int, ...],
    achieved_at: datetime,
    previous: Standing | None = None,
) -> Standing | None:
    """Return what stands after a submission, None if the entry stays as it is.

    BEST keeps the better rank key as a whole, never a mix of two submissions. LATEST keeps the score achieved
    last, in whatever order they arrive. SUM adds component by component; a sum that returns to the score
    before the last change (`previous`), as after +10 and -10, keeps the time at which that was achieved.

    Raises:
        InvalidScore: a sum leaves its component's bounds.
    """
    submitted = Standing(score, achieved_at)
    if entry is None:
        return submitted
    if board.policy is ScorePolicy.BEST:
        key = rank_key.encode(board, score, achieved_at, entry.participant_id)
        return submitted if key < entry.rank_key else None
    if board.policy is ScorePolicy.LATEST:
        return submitted if achieved_at >= entry.achieved_at and score != entry.score else None
    if not any(score):
        return None
    total = tuple(map(sum, zip(entry.score, score, strict=True)))
    for component, value in zip(board.components, total, strict=True):
        check_bounds(component, value)
    if previous is not None and total == previous.score:
        return previous
    # A sum is achieved with the latest of its parts, in whatever order they arrive.
    return Standing(total, max(entry.achieved_at, achieved_at))
