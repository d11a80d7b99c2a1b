"""The values of a leaderboard: boards, entries, ranks, archives, pages. All immutable."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum, StrEnum
from functools import cached_property
from typing import Final, Generic, TypeVar

from core.domain.limits import DEFAULT_CLIENT_TIME_ALLOWANCE


class SortOrder(StrEnum):
    """Which end of a component is best: DESCENDING ranks the highest first."""

    DESCENDING = "DESCENDING"
    ASCENDING = "ASCENDING"


class ScorePolicy(StrEnum):
    """What a new submission does to the standing entry."""

    BEST = "BEST"
    LATEST = "LATEST"
    SUM = "SUM"


class ScoreKind(StrEnum):
    """How a component's values are written."""

    INTEGER = "INTEGER"
    DECIMAL = "DECIMAL"
    DURATION = "DURATION"
    TIMESTAMP = "TIMESTAMP"


class TieBreak(StrEnum):
    """Which entry comes first among equal scores."""

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
    """When the counters follow a score: with the stream, in the same transaction, or just after the write."""

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
    """Marks an argument that was left out, unlike one that is null."""

    UNSET = "UNSET"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True, slots=True)
class Component:
    """One number of a score. `low` and `high` are its bounds, in units of its last decimal place."""

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
    """A named range of ranks: up to rank `to`, up to `top_percent` of the board, or all others."""

    name: str
    to: int | None = None
    top_percent: float | None = None


@dataclass(frozen=True, slots=True)
class Retention:
    """How long a board takes late scores, and keeps periods and submission ids.

    Scores of a period are taken until `grace_hours` after its end; its entries are kept for the days of its
    kind after its end.
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
    """The instant from which a kind's periods follow another time zone, and the first such period's key."""

    kind: PeriodKind
    at: datetime
    key: str


@dataclass(frozen=True, slots=True)
class ZoneChange:
    """A change of a board's time zone: the zone before, and when each kind's periods change."""

    before: str
    starts: tuple[PeriodStart, ...]


@dataclass(frozen=True)
class Board:
    """A leaderboard's definition. `generation` tells it from an earlier board of the same id.

    While it is `closed` it takes no submissions. `time_zone` is the newest one; `zone_changes`, oldest first,
    determine which periods follow an earlier one.
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
    client_time_allowance: int = DEFAULT_CLIENT_TIME_ALLOWANCE  # seconds
    zone_changes: tuple[ZoneChange, ...] = ()
    retention: Retention = Retention()

    @cached_property
    def shards(self) -> int:
        """Return the number of index shards, a power of two.

        Moving an index entry is a delete and an insert, two write units. A partition takes 1,000 units a
        second; 700 leaves room for an uneven hash.
        """
        needed = -(-self.peak_writes_per_second * 2 // 700)
        return 1 << (needed - 1).bit_length()


@dataclass(frozen=True, slots=True)
class Place:
    """Where an entry was found in a run of consecutive entries: `steps` entries after the run's first.

    `anchor` is the first one's rank key, None if it is the first of the board. The tie is the half-open range
    of steps from `tie_start` to `tie_end`; None where it extends beyond the run.
    """

    anchor: bytes | None
    steps: int
    tie_start: int | None
    tie_end: int | None


@dataclass(frozen=True, slots=True)
class Entry:
    """A participant's score in some standings, in units of each component's last decimal place."""

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
    """A rank, and how exact it is. `bucket_from` and `bucket_to` are the bucket's ranks at this `total`."""

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
    """What a submission did: `accepted` if the entry of any period changed.

    `entries` are those of its periods afterwards, `previous_score` is the all-time one before.
    """

    accepted: bool
    duplicate: bool
    entries: tuple[Entry, ...]
    previous_score: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Archive:
    """A period's standings, frozen. `size` counts the entries written so far: all of them if `complete`."""

    id: str
    board_id: str
    period: str
    taken_at: datetime
    size: int
    complete: bool


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A page of a longer list; `next_token` is None on the last.

    `previous_token` is None on the first, and in lists that only go forward.
    """

    items: Sequence[T]
    next_token: str | None
    previous_token: str | None = None
