"""This process's cache of the counters. It only saves reads: what is missing from it is read again."""

import os
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from threading import Lock, RLock
from typing import Generic, TypeVar

from core.counters.directory import Directory
from core.tree.node import Node
from core.tree.rungs import Rungs
from core.tree.shape import Path

MAX_STANDINGS = 2_000  # beyond that a cache of small values is emptied: simpler than choosing what to drop

_MEGABYTES = int(os.environ.get("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "1024"))
_BUDGET = _MEGABYTES * 1_000_000 // 10  # bytes, each for trees and for ladders
# Measured with tracemalloc, which finds 5% more or less: test_cache.py.
_NODE_BYTES = 700
_KEY_BYTES = 41  # beside the key itself: its object and a reference
_GROWN_BYTES = 150
_RUNG_BYTES = _KEY_BYTES + 40  # and the number before it

V = TypeVar("V")


class Recent(Generic[V]):
    """Values by standings, up to a number of bytes: beyond it, those not used for longest go.

    The value put last stays, whatever its size. Threads may share it.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._values: OrderedDict[str, tuple[V, int]] = OrderedDict()
        self._bytes = 0
        self._lock = RLock()

    def get(self, standings: str) -> V | None:
        """Return a value, now the one used last, or None."""
        with self._lock:
            if standings not in self._values:
                return None
            self._values.move_to_end(standings)
            return self._values[standings][0]

    def put(self, standings: str, value: V, size: int) -> None:
        """Store a value of so many bytes in place of an earlier one."""
        with self._lock:
            self.pop(standings)
            self._values[standings] = value, size
            self._bytes += size
            while self._bytes > self._limit and len(self._values) > 1:
                self.pop(next(iter(self._values)))

    def pop(self, standings: str) -> None:
        """Drop a value, if there is one."""
        with self._lock:
            self._bytes -= self._values.pop(standings, (None, 0))[1]

    def clear(self) -> None:
        """Drop all values."""
        with self._lock:
            self._values.clear()
            self._bytes = 0


@dataclass
class CachedTrees:
    """The counter trees of some standings: their directory, when it was read, and their nodes."""

    directory: Directory | None = None
    read_at: int = 0  # milliseconds since 1970
    nodes: dict[int, dict[Path, Node]] = field(default_factory=dict)  # tree -> path -> node
    size: int = 1_000  # bytes

    def put_node(self, tree: int, path: Path, node: Node) -> None:
        """Store a node, perhaps in place of an earlier one."""
        nodes = self.nodes.setdefault(tree, {})
        before = nodes.get(path)
        nodes[path] = node
        self.size += node_size(node) - (node_size(before) if before else 0)

    def keep(self, trees: Mapping[int, object]) -> None:
        """Drop all trees but these."""
        # `list` copies in one step: other threads look nodes up meanwhile.
        self.nodes = {tree: nodes for tree, nodes in list(self.nodes.items()) if tree in trees}
        self.size = 1_000 + sum(node_size(node) for of in self.nodes.values() for node in of.values())


@dataclass
class CounterCache:
    """Caches by standings, `marked` by standings and leaf; times are by the monotonic clock."""

    trees: Recent[CachedTrees] = field(default_factory=partial(Recent[CachedTrees], _BUDGET))
    ladders: Recent[Rungs] = field(default_factory=partial(Recent[Rungs], _BUDGET))
    refreshing: set[str] = field(default_factory=set)  # standings whose ladder is being loaded
    roots: dict[str, tuple[float, Mapping[int, int]]] = field(default_factory=dict)  # when read, the counts
    asked: dict[str, tuple[float, int]] = field(default_factory=dict)  # since when, how many ranks
    marked: dict[tuple[str, str], float] = field(default_factory=dict)  # until when not to mark it again
    lock: Lock = field(default_factory=Lock)  # held while `trees` change

    def trees_of(self, standings: str) -> CachedTrees:
        """Return the cache of the trees of some standings."""
        with self.lock:
            found = self.trees.get(standings)
            if found is None:
                found = CachedTrees()
                self.trees.put(standings, found, found.size)
            return found

    def put_ladder(self, standings: str, rungs: Rungs) -> None:
        """Store a ladder."""
        self.ladders.put(standings, rungs, ladder_size(rungs))

    def drop(self, standings: str) -> None:
        """Drop all that is cached of some standings."""
        for cache in (self.trees, self.ladders, self.roots, self.asked):
            if isinstance(cache, dict):
                cache.pop(standings, None)
            else:
                cache.pop(standings)


def node_size(node: Node) -> int:
    """Return about how many bytes of memory a node takes."""
    return _NODE_BYTES + _keys_size(node.edges) + _GROWN_BYTES * len(node.grown)


def ladder_size(rungs: Rungs) -> int:
    """Return about how many bytes of memory a ladder takes."""
    return _keys_size(rungs.lows) + (_RUNG_BYTES - _KEY_BYTES) * len(rungs.lows)


def _keys_size(keys: tuple[bytes, ...]) -> int:
    return sum(map(len, keys)) + _KEY_BYTES * len(keys)
