"""What subscribers receive. Pure."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from core.domain.model import Board, Entry


class RankChangeCause(StrEnum):
    """Whose score changed a participant's rank: their own, or others'."""

    OWN_SCORE = "OWN_SCORE"
    OTHERS = "OTHERS"


@dataclass(frozen=True, slots=True)
class RankChange:
    """A participant's move from one rank bucket to another; `previous_...` is None for a new entry."""

    board: Board
    period: str
    participant_id: str
    previous_bucket: str | None
    bucket: str
    previous_rank: int | None
    rank: int
    cause: RankChangeCause
    version: int  # grows with time for one participant
    at: datetime


@dataclass(frozen=True, slots=True)
class TopChange:
    """A board's new top, best first, each entry with its rank."""

    board: Board
    period: str
    entries: tuple[tuple[int, Entry], ...]
    version: int
    at: datetime


Event = RankChange | TopChange


@dataclass(frozen=True, slots=True)
class Published:
    """Which events are `done`, delivered or refused for good, and which have an `uncertain` outcome."""

    done: Collection[Event] = ()
    uncertain: Collection[Event] = ()


Publish = Callable[[Sequence[Event]], Published]
