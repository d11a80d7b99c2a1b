"""How many entries stand before a rank key, by each strategy.

    INDEX        count them on the rank index
    TREE         sum the counter tree down to the key's leaf, and read that leaf's keys from the index
    LADDER       the same, with the tree's part from memory
    APPROXIMATE  the tree's part from memory, and a share of the leaf

A count carries its bounds; all but APPROXIMATE's are exact for what has been counted by then.
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
from core.storage.rank_index import count_between, key_reads, read_keys
from core.tree.node import Leaf, node_name, path_of
from core.tree.rungs import Rung, Rungs
from core.tree.shape import static_edges

# What is remembered of a root serves to choose a strategy, never to rank; all but the ladder renew it. So at
# worst, on a board that has filled up meanwhile, one count on the index costs what came in that time.
_ROOT_SECONDS = 60.0
_COUNTED_APART = 3  # cuts: one entry's


@dataclass(frozen=True, slots=True)
class Count:
    """How many entries stand before a key: the best guess, and the bounds of the truth."""

    value: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Counted:
    """Counts of several keys, the size of the board that goes with them, and when all that was true."""

    before: Mapping[bytes, Count]
    total: int
    as_of: datetime


def by_index(db: Database, board: Board, period: str, cuts: Sequence[bytes], *, few: bool = False) -> Counted:
    """Count on the index, and read the size: a read unit, and half a unit for each 4 KB before the last cut.

    A few cuts are counted stretch by stretch, at least half a unit for each shard and stretch. For many, and
    where `few` entries stand before them, the keys are read once and counted here: no more units in far fewer
    requests. All in one round trip, and one more for each MB in a shard.
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


def entries_at_most(db: Database, board: Board, standings: str, key: bytes) -> int:
    """Say how many entries stand before a key at most: from memory, or a read unit where it is too old."""
    read_at, counts = db.cache(CounterCache).roots.get(standings, (float("-inf"), {}))
    if time.monotonic() > read_at + _ROOT_SECONDS:
        counts = read_root(db, board, standings)
    last = bisect_right(static_edges(board, ()) or (), key)  # a root's edges are the same in every tree
    return sum(entries for child, entries in counts.items() if child <= last)


def by_tree(
    db: Database, board: Board, period: str, cuts: Sequence[bytes], *, consistent: bool = False
) -> Counted:
    """Sum the tree down to each cut's leaf and read what the leaf holds before it, in one round trip.

    Costs half a read unit (consistent: one) a node and for the `trees` item, and for a cut inside a leaf half
    a unit for each 4 KB of its entries, at least half a unit for each shard. One more round trip for each
    level that this process does not know.
    """
    standings = standings_key(board.id, period, board.generation)
    trees = Trees(db, board, standings)
    tree, leaves = trees.locate(cuts)
    root_name = node_name(tree, ())
    paths = {(), *(path for leaf in leaves.values() for path, _ in leaf.before)}
    stretches = _Stretches({cut: leaf.low for cut, leaf in leaves.items()})
    nodes: dict[str, Item] = {}
    read_at = datetime.now(UTC)

    def read_nodes() -> list[bytes]:
        names = [TREES_NODE, *(node_name(tree, path) for path in paths)]
        nodes.update(get_nodes(db, board, standings, names, consistent=consistent))
        return []

    _, *found = run_all([read_nodes, *stretches.queries(db, board, period)])
    if trees.is_replaced(tree, nodes.pop(TREES_NODE, {})):
        return by_tree(db, board, period, cuts, consistent=consistent)  # rebuilt in the meantime
    for path in paths & {path_of(name) for name in nodes}:
        trees.remember_node(tree, path, nodes[node_name(tree, path)])
    keys = stretches.gather(found)
    counts = {name: counts_of(item) for name, item in nodes.items()}
    remember_root(db, standings, counts.get(root_name, {}))

    def coarse(leaf: Leaf) -> int:
        return sum(
            entries
            for path, child in leaf.before
            for at, entries in counts.get(node_name(tree, path), {}).items()
            if at < child
        )

    return Counted(
        {cut: _exact(coarse(leaf) + bisect_left(keys[leaf.low], cut)) for cut, leaf in leaves.items()},
        sum(counts.get(root_name, {}).values()),
        as_of(board, nodes.values(), read_at),
    )


def by_ladder(db: Database, board: Board, period: str, rungs: Rungs, cuts: Sequence[bytes]) -> Counted:
    """Find each cut's leaf in memory and read what the leaf holds before it; costs that part of `by_tree`."""
    places = {cut: rungs.find(cut) for cut in cuts}
    stretches = _Stretches({cut: rung.low for cut, rung in places.items()})
    keys = stretches.gather(run_all(stretches.queries(db, board, period)))
    return Counted(
        {cut: _exact(rung.before + bisect_left(keys[rung.low], cut)) for cut, rung in places.items()},
        rungs.total,
        rungs.as_of,
    )


def by_interpolation(rungs: Rungs, cuts: Sequence[bytes]) -> Counted:
    """Find each cut's leaf in memory and guess its share of the leaf, as if entries were spread evenly."""
    return Counted({cut: _guess(rungs.find(cut), cut) for cut in cuts}, rungs.total, rungs.as_of)


class _Stretches:
    """What must be read of the leaves: from each leaf's start to the last cut in it."""

    def __init__(self, starts: Mapping[bytes, bytes]) -> None:
        self._ends: dict[bytes, bytes] = {}
        for cut, low in starts.items():
            self._ends[low] = max(cut, self._ends.get(low, low))
        self._owners: list[bytes] = []

    def queries(self, db: Database, board: Board, period: str) -> list[Callable[[], list[bytes]]]:
        calls = []
        for low, end in self._ends.items():
            if low < end:  # else the cut is where the leaf starts
                of_leaf = key_reads(db, board, period, low, end)
                self._owners += [low] * len(of_leaf)
                calls += of_leaf
        return calls

    def gather(self, found: Sequence[list[bytes]]) -> dict[bytes, list[bytes]]:
        keys: dict[bytes, list[bytes]] = {low: [] for low in self._ends}
        for low, of_shard in zip(self._owners, found, strict=True):
            keys[low] += of_shard
        for of_leaf in keys.values():
            of_leaf.sort()
        return keys


def _exact(count: int) -> Count:
    return Count(count, count, count)


def _guess(rung: Rung, cut: bytes) -> Count:
    if cut == rung.low or not rung.entries:
        return _exact(rung.before)
    length = max(len(cut), len(rung.low)) + 1
    start, place = (int.from_bytes(key.ljust(length, b"\0"), "big") for key in (rung.low, cut))
    end = int.from_bytes(rung.high.ljust(length, b"\0")[:length], "big") if rung.high else 1 << (8 * length)
    share = (place - start) * rung.entries // max(1, end - start)
    return Count(rung.before + min(share, rung.entries), rung.before, rung.before + rung.entries)
