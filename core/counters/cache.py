"""What one process remembers of a database's counters. It saves reads; without it they are made again."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock

from core.tree.node import Node
from core.tree.rungs import Rungs
from core.tree.shape import Path

REMEMBERED = 2_000  # orders; beyond that all is forgotten, which is simpler than choosing


@dataclass
class KnownTrees:
    """The trees of one order: their births, which one readers use, when that was read, and their nodes."""

    born: dict[int, int] = field(default_factory=dict)  # tree -> milliseconds since 1970
    current: int = 0
    known_at: int = 0
    nodes: dict[int, dict[Path, Node]] = field(default_factory=dict)  # tree -> path -> node
    edges: dict[tuple[int, Path], tuple[tuple[bytes, ...], int]] = field(
        default_factory=dict
    )  # and their birth


@dataclass
class CounterCache:
    """By order: its trees, its ladder, its root's counts, how often ranks were asked for, what is growing."""

    trees: dict[str, KnownTrees] = field(default_factory=dict)
    ladders: dict[str, Rungs] = field(default_factory=dict)
    refreshing: set[str] = field(default_factory=set)
    roots: dict[str, tuple[float, Mapping[int, int]]] = field(default_factory=dict)  # when read, the counts
    asked: dict[str, tuple[float, int]] = field(default_factory=dict)
    marked: dict[tuple[str, str], float] = field(default_factory=dict)  # by order and leaf
    lock: Lock = field(default_factory=Lock)  # held while what is known of a tree changes

    def trees_of(self, standings: str) -> KnownTrees:
        """Give what is known of one order's trees."""
        if len(self.trees) > REMEMBERED:
            self.trees.clear()
        return self.trees.setdefault(standings, KnownTrees())

    def forget(self, standings: str) -> None:
        """Forget what is known of one order."""
        for known in (self.trees, self.ladders, self.roots, self.asked):
            known.pop(standings, None)
