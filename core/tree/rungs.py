"""The ladder's rungs: a counter tree's leaves as one cumulative list. Pure."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Rung:
    """A leaf: its half-open range of rank keys, the entries before it, and the entries in it."""

    low: bytes
    high: bytes | None
    before: int
    entries: int


@dataclass(frozen=True, slots=True)
class Rungs:
    """All leaves in order: where each starts, and how many entries stand before it."""

    lows: tuple[bytes, ...]
    before: tuple[int, ...]
    total: int
    as_of: datetime
    loaded_at: float  # by the monotonic clock

    def find(self, key: bytes) -> Rung:
        """Return the rung of a rank key.

        >>> rungs = Rungs((b"", b"g", b"p"), (0, 10, 30), 35, as_of=datetime(2026, 11, 30), loaded_at=0)
        >>> rungs.find(b"k")
        Rung(low=b'g', high=b'p', before=10, entries=20)
        """
        at = bisect_right(self.lows, key) - 1
        last = at + 1 == len(self.lows)
        after = self.total if last else self.before[at + 1]
        high = None if last else self.lows[at + 1]
        return Rung(self.lows[at], high, self.before[at], after - self.before[at])


def make_rungs(leaves: Iterable[tuple[bytes, int]], as_of: datetime, loaded_at: float) -> Rungs:
    """Return the rungs of leaves in rank order: where each starts, and how many entries are in it."""
    lows, counts = zip(*leaves, strict=True)
    *before, total = accumulate(counts, initial=0)
    return Rungs(lows, tuple(before), total, as_of, loaded_at)
