"""Model the write costs of three published designs, with one item a bucket, on a trace of updates.

MULTI_LEVEL    levels of ever wider buckets, counted from the stream: one ADD a changed bucket and window
TRANSACTIONAL  one level, in the score's transaction: two ADDs of two units each when a bucket changes
INLINE         one level, right after the score's write: two ADDs when a bucket changes

All items are under 1 KB, so an ADD is a write unit.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

from bench.trace import Scenario, Update, by_stream_shard
from core.tree.shape import GROW_AT

LEVELS = (1, 100, 10_000)
_WIDTHS = (1, 100, 1_000)
_BUCKETS = 1_000
_READ_BYTES = 8192
_ENTRY_BYTES = 220
_BUCKET_BYTES = 80  # keys and a count


@dataclass(frozen=True)
class SeedCost:
    """What a design costs to write, and what a rank costs to read from it."""

    design: str
    units: float  # an update
    in_bucket: float  # entries of a finest bucket: an exact rank counts them on the index
    buckets: float  # that an exact rank sums, at most
    fitted: bool = False  # width chosen to suit the size of the board

    @property
    def equally_exact(self) -> bool:
        """Return whether an exact rank reads no more of the index than a leaf of the counter tree holds."""
        return self.in_bucket <= GROW_AT

    @property
    def rank_units(self) -> float:
        """The read units of an exact rank at worst: the buckets above, and the entries of its own."""
        return self.buckets * _BUCKET_BYTES / _READ_BYTES + self.in_bucket * _ENTRY_BYTES / _READ_BYTES


def multi_level(scenario: Scenario, windows: Sequence[Sequence[Update]], shards: int) -> SeedCost:
    """Return the cost of coalescing each window's changes of each stream shard."""
    units = 0
    for window in windows:
        for updates in by_stream_shard(window, shards):
            moved = Counter[tuple[int, int, int]]()
            for one in updates:
                for width in LEVELS:
                    moved[one.board, width, one.old.score[0] // width] -= 1
                    moved[one.board, width, one.new.score[0] // width] += 1
            units += sum(1 for by in moved.values() if by)
    spans = [min(wide, scenario.scores) // width for width, wide in pairwise(LEVELS)]
    buckets = sum(spans) + scenario.scores // LEVELS[-1]
    per_update = units / sum(map(len, windows))
    return SeedCost("multi-level, 1, 100 and 10,000 wide", per_update, in_bucket=0.0, buckets=buckets)


def single_level(scenario: Scenario, windows: Sequence[Sequence[Update]]) -> list[SeedCost]:
    """Return the costs at several widths, up to the widest that reads no more than a leaf does."""
    updates = list(chain.from_iterable(windows))
    widest = max(1, GROW_AT * scenario.scores // scenario.entries)
    widths = {*_WIDTHS, max(1, scenario.scores // _BUCKETS), widest}
    costs = []
    for width in sorted(width for width in widths if width < scenario.scores):
        crossings = sum(one.old.score[0] // width != one.new.score[0] // width for one in updates)
        share = crossings / len(updates)
        in_bucket = 0.0 if width == 1 else scenario.entries * width / scenario.scores
        for name, units in (("transactional", 4 * share), ("inline", 2 * share)):
            costs.append(
                SeedCost(
                    f"{name}, {width:,} wide",
                    units,
                    in_bucket,
                    buckets=scenario.scores / width,
                    fitted=width == widest and width not in _WIDTHS,
                )
            )
    return costs
