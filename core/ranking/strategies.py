"""Count the entries before each of some cuts, by one of four strategies.

A cut is a place in rank order, given as a rank key or the start of one.

    INDEX        count on the rank index
    TREE         sum the counter tree down to the cut's leaf, and read that leaf's keys from the rank index
    LADDER       as TREE, with the sum from memory
    APPROXIMATE  the sum from memory, and a share of the leaf

INDEX is exact for the index as read, TREE and LADDER as of the counters' `as_of`. APPROXIMATE is an estimate
with bounds.
"""

import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from core.counters.cache import CounterCache
from core.counters.known_trees import Trees
from core.counters.nodes import TREES_NODE, Item, as_of, counts_of, get_nodes
from core.counters.root import read_root, read_size, remember_root
from core.domain.keys import standings_key
from core.domain.model import Board
from core.storage.database import Database
from core.storage.parallel import run_all
from core.storage.rank_index import count_between, estimate_units, key_reads, read_keys
from core.tree.node import Leaf, node_name, path_of
from core.tree.rungs import Rung, Rungs
from core.tree.shape import static_edges

# A remembered root serves to choose a strategy, never to rank. Every strategy except LADDER refreshes it. So
# on a board that grows quickly at most one count on the index is chosen on outdated numbers, and costs more.
_ROOT_SECONDS = 60.0
_COUNTED_APART = 3  # cuts, as many as one entry's rank needs, are counted range by range


@dataclass(frozen=True, slots=True)
class Count:
    """How many entries stand before a cut: the best estimate, and the bounds of the true number."""

    value: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Counted:
    """The count before each cut, how many entries there are, and when all that was true."""

    before: Mapping[bytes, Count]
    total: int
    as_of: datetime


def by_index(db: Database, board: Board, period: str, cuts: Sequence[bytes], *, few: bool = False) -> Counted:
    """Count on the index, and read the size: a read unit, and half a unit for each 4 KB before the last cut.

    Up to three cuts are counted range by range, at least half a unit for each shard and range. For more, or
    if `few` entries stand before them, the keys are read once and counted in this process, which costs no
    more units in far fewer requests. One round trip, and one more for each MB in a shard.
    """
    now = datetime.now(UTC)

    def read_total() -> list[int]:
        return [read_size(db, board, standings_key(board.id, period, board.generation))]

    def count() -> list[int]:
        if not few and len(cuts) <= _COUNTED_APART:
            return count_between(db, board, period, cuts)
        keys = read_keys(db, board, period, b"", cuts[-1]) if cuts else []
        return [bisect_left(keys, cut) for cut in cuts]

    (total,), counts = run_all([read_total, count])
    return Counted(dict(zip(cuts, map(_exact, counts), strict=True)), total, now)


def entries_at_most(db: Database, board: Board, standings: str, cut: bytes) -> int:
    """Return how many entries stand before a cut at most: from memory, or a read unit if that is too old."""
    read_at, counts = db.cache(CounterCache).roots.get(standings, (float("-inf"), {}))
    if time.monotonic() > read_at + _ROOT_SECONDS:
        counts = read_root(db, board, standings)
    last = bisect_right(static_edges(board, ()) or (), cut)  # a root's edges are the same in every tree
    return sum(entries for child, entries in counts.items() if child <= last)


def by_tree(
    db: Database, board: Board, period: str, cuts: Sequence[bytes], *, consistent: bool = False
) -> Counted:
    """Sum the tree down to each cut's leaf and read what the leaf holds before the cut, in one round trip.

    Costs half a read unit (consistent: one) for each node and for the directory, and for a cut inside a leaf
    half a unit for each 4 KB of the leaf's entries, at least half a unit for each shard. One more round trip
    for each level that this process does not know.
    """
    standings = standings_key(board.id, period, board.generation)
    trees = Trees(db, board, standings)
    tree, leaves = trees.locate(cuts)
    root_name = node_name(tree, ())
    paths = {(), *(path for leaf in leaves.values() for path, _ in leaf.before)}
    leaf_reads = _LeafReads(db, board, period, {cut: leaf.low for cut, leaf in leaves.items()})
    nodes: dict[str, Item] = {}
    read_at = datetime.now(UTC)

    def read_nodes() -> list[bytes]:
        names = [TREES_NODE, *(node_name(tree, path) for path in paths)]
        nodes.update(get_nodes(db, board, standings, names, consistent=consistent))
        return []

    _, *found = run_all([read_nodes, *leaf_reads.calls])
    if trees.is_replaced(tree, nodes.pop(TREES_NODE, {})):
        return by_tree(db, board, period, cuts, consistent=consistent)  # rebuilt in the meantime
    for path in paths & {path_of(name) for name in nodes}:
        trees.remember_node(tree, path, nodes[node_name(tree, path)])
    counts = {name: counts_of(item) for name, item in nodes.items()}
    root_counts = counts.get(root_name, {})
    remember_root(db, standings, root_counts)

    def before_leaf(leaf: Leaf) -> int:
        return sum(
            entries
            for path, child in leaf.before
            for sibling, entries in counts.get(node_name(tree, path), {}).items()
            if sibling < child
        )

    in_leaf = leaf_reads.count(found)
    return Counted(
        {cut: _exact(before_leaf(leaf) + in_leaf[cut]) for cut, leaf in leaves.items()},
        sum(root_counts.values()),
        as_of(board, nodes.values(), read_at),
    )


def by_ladder(db: Database, board: Board, period: str, rungs: Rungs, cuts: Sequence[bytes]) -> Counted:
    """Find each cut's leaf in memory and read what it holds before the cut.

    Costs what `by_tree` pays for reading leaves; neighbouring leaves are read in one request.
    """
    found = {cut: rungs.find(cut) for cut in cuts}
    leaf_reads = _LeafReads(db, board, period, {cut: rung.low for cut, rung in found.items()}, rungs)
    in_leaf = leaf_reads.count(run_all(leaf_reads.calls))
    before = {cut: _exact(rung.before + in_leaf[cut]) for cut, rung in found.items()}
    return Counted(before, rungs.total, rungs.as_of)


def by_interpolation(rungs: Rungs, cuts: Sequence[bytes]) -> Counted:
    """Find each cut's leaf in memory and interpolate in it, as if its entries were spread evenly."""
    return Counted({cut: _interpolate(rungs.find(cut), cut) for cut in cuts}, rungs.total, rungs.as_of)


class _LeafReads:
    """Reads of the rank index, from each leaf's start to the last cut in it, for each shard.

    With `rungs`, which tell how many entries stand between two leaves, neighbouring leaves are read at once
    where that costs no more units.
    """

    def __init__(
        self,
        db: Database,
        board: Board,
        period: str,
        leaf_starts: Mapping[bytes, bytes],
        rungs: Rungs | None = None,
    ) -> None:
        self._leaf_starts = leaf_starts  # by cut
        ends: dict[bytes, bytes] = {}
        for cut, start in leaf_starts.items():
            ends[start] = max(cut, ends.get(start, start))
        # Where every cut is where the leaf starts, there is nothing to read.
        ranges = sorted((start, end) for start, end in ends.items() if start < end)
        if rungs is not None:
            ranges = _merge_neighbours(board, rungs, ranges)
        self._starts = [start for start, _ in ranges]
        self._shards = board.shards
        self.calls: list[Callable[[], list[bytes]]] = [
            call for start, end in ranges for call in key_reads(db, board, period, start, end)
        ]

    def count(self, found: Sequence[list[bytes]]) -> dict[bytes, int]:
        """Count, from what the calls found, the entries of each cut's leaf that stand before the cut."""
        counts = {}
        for cut, start in self._leaf_starts.items():
            first = (bisect_right(self._starts, start) - 1) * self._shards
            shards = found[first : first + self._shards] if start < cut else []
            counts[cut] = sum(bisect_left(keys, cut) - bisect_left(keys, start) for keys in shards)
        return counts


def _merge_neighbours(
    board: Board, rungs: Rungs, ranges: Sequence[tuple[bytes, bytes]]
) -> list[tuple[bytes, bytes]]:
    """Merge neighbouring ranges, given in rank order, where reading the gap too costs no more units."""

    def units(start: bytes, end: bytes) -> float:
        before_start, before_end = (_interpolate(rungs.find(key), key).value for key in (start, end))
        return estimate_units(board, before_end - before_start)

    merged: list[tuple[bytes, bytes]] = []
    for start, end in ranges:
        if merged and units(merged[-1][0], end) <= units(*merged[-1]) + units(start, end):
            merged[-1] = merged[-1][0], end
        else:
            merged.append((start, end))
    return merged


def _exact(count: int) -> Count:
    return Count(count, count, count)


def _interpolate(rung: Rung, cut: bytes) -> Count:
    if cut == rung.low or not rung.entries:
        return _exact(rung.before)
    length = max(len(cut), len(rung.low)) + 1
    low, at = (int.from_bytes(key.ljust(length, b"\0"), "big") for key in (rung.low, cut))
    high = int.from_bytes(rung.high.ljust(length, b"\0")[:length], "big") if rung.high else 1 << (8 * length)
    share = (at - low) * rung.entries // max(1, high - low)
    return Count(rung.before + min(share, rung.entries), rung.before, rung.before + rung.entries)
