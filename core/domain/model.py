"""The nouns of a leaderboard, as immutable values."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from functools import cached_property
from typing import Final, Generic, TypeVar


class SortOrder(StrEnum):
    """Which end of a component is best: the highest or the lowest."""

    DESCENDING = "DESCENDING"
    ASCENDING = "ASCENDING"


class ScorePolicy(StrEnum):
    """What a new submission does to the standing entry."""

    BEST = "BEST"
    LATEST = "LATEST"
    SUM = "SUM"


class ScoreKind(StrEnum):
    """How a component is written and read."""

    INTEGER = "INTEGER"
    DECIMAL = "DECIMAL"
    DURATION = "DURATION"
    TIMESTAMP = "TIMESTAMP"


class TieBreak(StrEnum):
    """Who stands first among equal scores."""

    EARLIEST = "EARLIEST"
    LATEST = "LATEST"
    PARTICIPANT = "PARTICIPANT"


class PeriodKind(StrEnum):
    """How long a board's standings last."""

    ALL_TIME = "ALL_TIME"
    DAILY = "DAILY"
    WEEKLY = "WEEKLY"
    MONTHLY = "MONTHLY"


class CounterMode(StrEnum):
    """When the rank counters follow a score."""

    STREAM = "STREAM"
    TRANSACTIONAL = "TRANSACTIONAL"
    INLINE = "INLINE"


class ClientAccess(StrEnum):
    """What clients may do with a board: nothing, read it, or also submit scores of their own."""

    NONE = "NONE"
    READ = "READ"
    SUBMIT = "SUBMIT"


class RankStrategy(StrEnum):
    """How a rank is found."""

    AUTO = "AUTO"
    INDEX = "INDEX"
    TREE = "TREE"
    LADDER = "LADDER"
    APPROXIMATE = "APPROXIMATE"


class Unset(Enum):
    """Tells an argument that was left out from one that is null."""

    UNSET = "UNSET"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Component:
    """One number of a score. `low` and `high` bound it, in units of its last decimal place."""

    name: str
    kind: ScoreKind
    order: SortOrder
    decimals: int
    low: int
    high: int
    bounded_below: bool = False
    bounded_above: bool = False


@dataclass(frozen=True, slots=True)
class RankBucket:
    """A named stretch of ranks: up to place `to`, or up to `top_percent` of the board, or everyone else."""

    name: str
    to: int | None = None
    top_percent: float | None = None


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a board takes late scores, and keeps what does not stay for ever.

    A late score is taken for `grace_hours` after the end of the period that it was achieved in. A period's
    entries stay for so many days after its end; submission ids are remembered for `submission_id_days`.
    """

    grace_hours: int = 24
    daily_days: int = 35
    weekly_days: int = 365
    monthly_days: int = 1095
    submission_id_days: int = 7


@dataclass(frozen=True, slots=True)
class Period:
    """A period of a board: from `starts_at` to before `ends_at`, which all time does not have."""

    kind: PeriodKind
    key: str
    starts_at: datetime | None
    ends_at: datetime | None


@dataclass(frozen=True, slots=True)
class PeriodStart:
    """From when on a kind's periods follow another time zone, and the first one that does."""

    kind: PeriodKind
    at: datetime
    key: str


@dataclass(frozen=True, slots=True)
class ZoneChange:
    """A change of a board's time zone: the one before, and where each kind's periods changed over."""

    before: str
    starts: tuple[PeriodStart, ...]


@dataclass(frozen=True)
class Board:
    """A leaderboard's definition. `generation` tells it from an earlier board of the same id.

    While it is `closed` it takes no submissions.
    `time_zone` is the newest one; `zone_changes`, oldest first, tell which periods follow an earlier one.
    """

    id: str
    generation: str
    version: int
    title: str | None
    components: tuple[Component, ...]
    policy: ScorePolicy
    tie_break: TieBreak
    periods: tuple[PeriodKind, ...]
    time_zone: str
    counter_mode: CounterMode
    peak_writes_per_second: int
    expected_size: int | None
    rank_buckets: tuple[RankBucket, ...]
    created_at: datetime
    closed: bool = False
    client_access: ClientAccess = ClientAccess.READ
    zone_changes: tuple[ZoneChange, ...] = ()
    retention: Retention = Retention()

    @cached_property
    def shards(self) -> int:
        """How many partitions the rank index of this board is spread over.

        Moving an index entry is a delete and an insert, two write units, against a partition's limit of
        1,000 a second; 700 leaves room for an uneven hash. A power of two.
        """
        needed = -(-self.peak_writes_per_second * 2 // 700)
        return 1 << (needed - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry was found in an unbroken run of the order: so many steps behind `anchor`.

    `anchor` is the rank key of the run's first entry, or None where the run starts the board. Entries of
    equal score stand from step `tie_start` up to before step `tie_end`; None where they go on beyond the run.
    """

    anchor: bytes | None
    steps: int
    tie_start: int | None
    tie_end: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A participant's standing score on one board and period. `score` is in units of each last decimal."""

    board: Board
    period: str
    participant_id: str
    display_name: str | None
    score: tuple[int, ...]
    achieved_at: datetime
    submissions: int
    metadata: str | None
    hidden: bool
    version: int
    rank_key: bytes
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank, and how true it is. `bucket_from` and `bucket_to` are the bucket's places at this size."""

    rank: int
    position: int | None
    total: int
    percentile: float
    bucket: RankBucket
    bucket_from: int | None
    bucket_to: int | None
    exact: bool
    lower_bound: int
    upper_bound: int
    as_of: datetime
    strategy: RankStrategy


@dataclass(frozen=True, slots=True)
class SubmitResult:
    """What a submission did: `accepted` if any period's entry changed.

    `entries` are those of its periods as they stand now, `previous_score` the all-time one that stood before.
    """

    accepted: bool
    duplicate: bool
    entries: tuple[Entry, ...]
    previous_score: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Archive:
    """A period's standings, frozen; `size` is how many entries are in it so far, all if `complete`."""

    id: str
    board_id: str
    period: str
    taken_at: datetime
    size: int
    complete: bool


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page of a longer list; `next_token` is None on the last."""

    items: Sequence[T]
    next_token: str | None
