"""A plain leaderboard that the real one is compared with.

It keeps a dict of entries, and sorts a list for every question. It shares no code with the real one: scores
are scaled integers, and entries are compared component by component.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from functools import cmp_to_key
from math import ceil
from typing import Literal

Order = Literal["ASCENDING", "DESCENDING"]
Policy = Literal["BEST", "LATEST", "SUM"]
Tie = Literal["EARLIEST", "LATEST", "PARTICIPANT"]


@dataclass(frozen=True)
class Standing:
    """A participant's entry."""

    participant: str
    score: tuple[int, ...]
    achieved_at: datetime
    submissions: int = 1


@dataclass(frozen=True)
class Bucket:
    """A rank bucket: up to a rank, up to a share of the board in percent, or all others."""

    name: str
    to: int | None = None
    top_percent: float | None = None


@dataclass(frozen=True)
class Place:
    """A rank, and all that goes with it."""

    rank: int
    position: int
    total: int
    percentile: float
    bucket: str
    bucket_from: int
    bucket_to: int | None


def compare_scores(orders: Sequence[Order], a: Sequence[int], b: Sequence[int]) -> int:
    """Return a negative number if `a` is the better score, 0 for a tie."""
    for order, x, y in zip(orders, a, b, strict=True):
        if x != y:
            x_is_better = x > y if order == "DESCENDING" else x < y
            return -1 if x_is_better else 1
    return 0


def compare_times(tie_break: Tie, a: datetime, b: datetime) -> int:
    """Return a negative number if `a` comes first among equal scores."""
    if tie_break == "PARTICIPANT" or a == b:
        return 0
    a_is_first = a < b if tie_break == "EARLIEST" else a > b
    return -1 if a_is_first else 1


class OutOfBounds(Exception):
    """A sum leaves its component's bounds."""


class Removed(Exception):
    """A score was achieved before its participant was removed."""


@dataclass
class Oracle:
    """One board in one period. `bounds` are each component's lowest and highest value."""

    orders: Sequence[Order] = ("DESCENDING",)
    bounds: Sequence[tuple[int, int]] = ()
    policy: Policy = "BEST"
    tie_break: Tie = "EARLIEST"
    buckets: Sequence[Bucket] = (Bucket("everyone"),)
    entries: dict[str, Standing] = field(default_factory=dict)
    hidden: set[str] = field(default_factory=set)
    removed: dict[str, datetime] = field(default_factory=dict)
    previous: dict[str, Standing] = field(default_factory=dict)  # under SUM, before the last submission

    # Writes

    def submit(self, participant: str, score: tuple[int, ...], achieved_at: datetime) -> bool:
        """Submit a score, and return whether it changed the entry.

        Raises:
            OutOfBounds: the sum would leave its bounds; nothing changed.
            Removed: the score was achieved before a removal; nothing changed.
        """
        if participant in self.removed and achieved_at <= self.removed[participant]:
            raise Removed
        old = self.entries.get(participant)
        new = (
            self._first(participant, score, achieved_at)
            if old is None
            else self._next(old, score, achieved_at)
        )
        if new is None:
            return False
        if old is not None:
            self.previous[participant] = old
        self.entries[participant] = new
        return True

    def remove(self, participant: str, at: datetime | None = None) -> Standing | None:
        self.hidden.discard(participant)
        self.previous.pop(participant, None)
        if at is not None and participant in self.entries:
            self.removed[participant] = at
        return self.entries.pop(participant, None)

    def correct(
        self, participant: str, score: tuple[int, ...], achieved_at: datetime | None
    ) -> Standing | None:
        """Set a score, and when it was achieved if given; return the entry, None if there is none."""
        old = self.entries.get(participant)
        if old is None:
            return None
        new = replace(old, score=score, achieved_at=achieved_at or old.achieved_at)
        if new != old:
            self.previous.pop(participant, None)
        self.entries[participant] = new
        return new

    def _first(self, participant: str, score: tuple[int, ...], achieved_at: datetime) -> Standing:
        return Standing(participant, score, achieved_at)

    def _next(self, old: Standing, score: tuple[int, ...], achieved_at: datetime) -> Standing | None:
        if self.policy == "SUM":
            score = tuple(x + y for x, y in zip(old.score, score, strict=True))
            if not all(low <= value <= high for value, (low, high) in zip(score, self.bounds, strict=True)):
                raise OutOfBounds
            changes = score != old.score
            before = self.previous.get(old.participant)
            back = before is not None and score == before.score
            achieved_at = before.achieved_at if back and before else max(achieved_at, old.achieved_at)
        elif self.policy == "LATEST":
            changes = score != old.score and achieved_at >= old.achieved_at
        else:
            by_score = compare_scores(self.orders, score, old.score)
            by_time = compare_times(self.tie_break, achieved_at, old.achieved_at)
            changes = (by_score or by_time) < 0
        return Standing(old.participant, score, achieved_at, old.submissions + 1) if changes else None

    # Reads: a hidden entry keeps its score, and takes no rank

    def visible(self) -> list[Standing]:
        return [entry for entry in self.entries.values() if entry.participant not in self.hidden]

    def compare(self, a: Standing, b: Standing) -> int:
        """Return a negative number if `a` comes before `b`; 0 only for the same participant."""
        by_score = compare_scores(self.orders, a.score, b.score)
        by_time = compare_times(self.tie_break, a.achieved_at, b.achieved_at)
        a_id, b_id = a.participant.encode(), b.participant.encode()
        return by_score or by_time or (a_id > b_id) - (a_id < b_id)

    def ranked(self) -> list[Standing]:
        return sorted(self.visible(), key=cmp_to_key(self.compare))

    def size(self) -> int:
        return len(self.visible())

    def top(self, limit: int) -> list[Standing]:
        return self.ranked()[:limit]

    def pages(self, limit: int) -> list[list[Standing]]:
        ranked = self.ranked()
        return [ranked[start : start + limit] for start in range(0, len(ranked), limit)]

    def around(self, participant: str, radius: int) -> list[Standing] | None:
        """Return `radius` entries on each side; at an end of the board, more on the other side."""
        ranked = self.ranked()
        if participant not in {entry.participant for entry in ranked}:
            return None
        wanted = min(2 * radius + 1, len(ranked))
        windows = [ranked[start : start + wanted] for start in range(len(ranked) - wanted + 1)]
        middle = [entry.participant for entry in ranked].index(participant)
        # The full window whose middle is nearest to the participant.
        return min(enumerate(windows), key=lambda window: abs(window[0] + radius - middle))[1]

    def entries_of(self, participants: Iterable[str]) -> list[Standing]:
        wanted = set(participants)
        return [entry for entry in self.ranked() if entry.participant in wanted]

    def place(self, participant: str) -> Place | None:
        standing = self.entries.get(participant)
        if standing is None or participant in self.hidden:
            return None
        others = self.visible()
        better = count(others, lambda other: compare_scores(self.orders, other.score, standing.score) < 0)
        worse = count(others, lambda other: compare_scores(self.orders, other.score, standing.score) > 0)
        before = count(others, lambda other: self.compare(other, standing) < 0)
        rank, total = better + 1, len(others)
        bucket, first, last = bucket_of(self.buckets, rank, total)
        return Place(rank, before + 1, total, 100 * worse / total, bucket.name, first, last)


def count(standings: Iterable[Standing], holds: Callable[[Standing], bool]) -> int:
    return sum(1 for standing in standings if holds(standing))


def bucket_of(buckets: Sequence[Bucket], rank: int, total: int) -> tuple[Bucket, int, int | None]:
    """Return the first bucket that reaches down to the rank, and its first and last rank (None: no end)."""
    first = 1
    for bucket in buckets:
        last = last_rank(bucket, total)
        if last is None or rank <= last:
            return bucket, first, last
        first = max(first, last + 1)
    raise AssertionError(f"no bucket holds rank {rank} of {total}")


def last_rank(bucket: Bucket, total: int) -> int | None:
    """Return a bucket's last rank; a share of the board is rounded up, so the top 1% of 50 is one entry."""
    if bucket.to is not None:
        return bucket.to
    if bucket.top_percent is not None:
        share = Fraction(str(bucket.top_percent)) * total / 100
        return ceil(share)
    return None
