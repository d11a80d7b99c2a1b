"""This process's cache of the counters. It only saves reads: what is missing from it is read again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

from core.counters.directory import Directory
from core.tree.node import Node
from core.tree.rungs import Rungs
from core.tree.shape import Path

MAX_STANDINGS = 2_000  # beyond that a cache is emptied, which is simpler than choosing what to drop


@dataclass
class CachedTrees:
    """The counter trees of some standings: their directory, when it was read, and their nodes."""

    directory: Directory | None = None
    read_at: int = 0  # milliseconds since 1970
    nodes: dict[int, dict[Path, Node]] = field(default_factory=dict)  # tree -> path -> node


@dataclass
class CounterCache:
    """Caches by standings, `marked` by standings and leaf; times are by the monotonic clock."""

    trees: dict[str, CachedTrees] = field(default_factory=dict)
    ladders: dict[str, Rungs] = field(default_factory=dict)
    refreshing: set[str] = field(default_factory=set)  # standings whose ladder is being loaded
    roots: dict[str, tuple[float, Mapping[int, int]]] = field(default_factory=dict)  # when read, the counts
    asked: dict[str, tuple[float, int]] = field(default_factory=dict)  # since when, how many ranks
    marked: dict[tuple[str, str], float] = field(default_factory=dict)  # until when not to mark it again
    lock: Lock = field(default_factory=Lock)  # held while `trees` change

    def trees_of(self, standings: str) -> CachedTrees:
        """Return the cache of the trees of some standings."""
        if len(self.trees) > MAX_STANDINGS:
            self.trees.clear()
        return self.trees.setdefault(standings, CachedTrees())

    def drop(self, standings: str) -> None:
        """Drop all that is cached of some standings."""
        for cache in (self.trees, self.ladders, self.roots, self.asked):
            cache.pop(standings, None)
