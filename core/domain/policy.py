"""What a submission makes of the standing entry. Pure."""

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
    board: Board, entry: Entry | None, score: tuple[int, ...], achieved_at: datetime
) -> Standing | None:
    """Give what stands after a submission, or None where the entry stays as it is.

    BEST keeps whichever whole rank key is better, so never a mix of two submissions. LATEST keeps the one
    achieved last, whatever order they arrive in. SUM adds component by component.

    Raises:
        InvalidScore: a sum leaves its component's bounds.
    """
    offered = Standing(score, achieved_at)
    if entry is None:
        return offered
    if board.policy is ScorePolicy.BEST:
        key = rank_key.encode(board, score, achieved_at, entry.participant_id)
        return offered if key < entry.rank_key else None
    if board.policy is ScorePolicy.LATEST:
        return offered if achieved_at >= entry.achieved_at and score != entry.score else None
    if not any(score):
        return None
    total = tuple(map(sum, zip(entry.score, score, strict=True)))
    for component, value in zip(board.components, total, strict=True):
        check_bounds(component, value)
    # A sum is reached with the last of its parts, in whatever order they arrive.
    return Standing(total, max(entry.achieved_at, achieved_at))
