"""By which edges everyone has been told their rank bucket, and whom a change concerns. Pure.

An edge is where a bucket ends: a *cut* in the order of rank keys, behind the last entry inside; None where
everyone is inside. Ties at the edge share the better bucket, so a cut falls between two scores. A
participant's bucket follows from the rank key and the cuts alone.

While edges move, some are told by the old cuts and some by the new. `low` and `high` hold, for each edge, all
cuts by which anyone may have been told lately: who moves within that stretch is looked at in any case.
"""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from core.domain.buckets import last_place
from core.domain.model import Board

Cut = bytes | None
Cuts = tuple[Cut, ...]
Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Announced:
    """What an order's subscribers have been told by. Times are in milliseconds since 1970."""

    rules: str  # which buckets the cuts are for
    cuts: Cuts
    ties: tuple[bytes, ...]  # starts of scores that reach beyond the place of an edge
    low: Cuts
    high: Cuts
    base: Cuts  # the cuts before the stretch between `low` and `high` opened
    since: int = 0  # when that was; 0 while there is none
    version: int = 0
    leased_until: int = 0
    at: int = 0  # when something was told last
    seen: int = 0  # the newest change that had been counted by then
    top: str = ""  # a digest of the top that was told
    top_end: bytes | None = None  # the last rank key in it; None where all stand in it

    @classmethod
    def first(cls, rules: str, cuts: Cuts) -> "Announced":
        """Start telling, with the edges as they are."""
        return cls(rules, cuts, (), cuts, cuts, cuts)

    def is_between(self, key: bytes) -> bool:
        """Say whether some may have been told one bucket for a rank key, and some another."""
        return any(
            is_inside(key, low) != is_inside(key, high) for low, high in zip(self.low, self.high, strict=True)
        )

    def settled(self, at: Collection[int]) -> "Announced":
        """Have nobody in doubt at some edges."""
        low, high, base = (
            tuple(
                cut if edge in at else old
                for edge, (cut, old) in enumerate(zip(self.cuts, olds, strict=True))
            )
            for olds in (self.low, self.high, self.base)
        )
        return replace(self, low=low, high=high, base=base, since=0 if low == high else self.since)

    def widened(self, cuts: Cuts) -> "Announced":
        """Let some be told by other cuts."""
        return replace(
            self,
            low=tuple(map(_lesser, self.low, cuts)),
            high=tuple(map(_greater, self.high, cuts)),
        )


def rules_of(board: Board) -> str:
    """Name a board's buckets: another name for other buckets."""
    return hashlib.blake2b(repr(board.rank_buckets).encode(), digest_size=6).hexdigest()


def places(board: Board, total: int) -> list[int]:
    """Give the last place of each bucket but the last, which is everyone else's."""
    return [last_place(bucket, total) or 0 for bucket in board.rank_buckets[:-1]]


def place_range(board: Board, bucket: int, total: int) -> tuple[int, int]:
    """Give a bucket's first and last place on a board of `total` entries."""
    ends = places(board, total)
    last = min(ends[bucket], total) if bucket < len(ends) else total
    return max([0, *ends[:bucket]]) + 1, last


def is_inside(key: bytes, cut: Cut) -> bool:
    """Say whether a rank key stands before a cut."""
    return cut is None or key < cut


def bucket_at(cuts: Cuts, key: bytes) -> int:
    """Give the number of a rank key's bucket, best first."""
    return next((at for at, cut in enumerate(cuts) if is_inside(key, cut)), len(cuts))


def to_item(told: Announced) -> dict[str, Any]:
    """Write down what has been told by, for storage."""
    return {
        "rules": {"S": told.rules},
        **{name: _write(getattr(told, name)) for name in _CUTS},
        **{name: {"N": str(getattr(told, name))} for name in _NUMBERS},
        "top": {"S": told.top},
        "top_end": _write((told.top_end,)),
    }


def from_item(item: Item) -> Announced:
    """Read what `to_item` wrote."""
    cuts = {name: _read(item[name]) for name in _CUTS}
    return Announced(
        rules=item["rules"]["S"],
        cuts=cuts["cuts"],
        ties=tuple(tie for tie in cuts["ties"] if tie is not None),
        low=cuts["low"],
        high=cuts["high"],
        base=cuts["base"],
        **{name: int(item[name]["N"]) for name in _NUMBERS},
        top=item["top"]["S"],
        top_end=_read(item["top_end"])[0],
    )


_CUTS = ("cuts", "ties", "low", "high", "base")
_NUMBERS = ("since", "version", "leased_until", "at", "seen")


def _lesser(one: Cut, other: Cut) -> Cut:
    return other if one is None or (other is not None and other < one) else one


def _greater(one: Cut, other: Cut) -> Cut:
    return one if _lesser(one, other) == other else other


def _write(cuts: Sequence[Cut]) -> dict[str, Any]:
    return {"L": [{"NULL": True} if cut is None else {"B": cut} for cut in cuts]}


def _read(value: Item) -> Cuts:
    return tuple(bytes(one["B"]) if "B" in one else None for one in value["L"])
