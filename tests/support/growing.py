"""Grow counter trees within a test: small leaves, and a clock that is advanced instead of waiting."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from core.counters import known_trees, root
from core.counters.known_trees import ANNOUNCEMENT_LEAD, CACHE_TTL, Trees
from core.counters.whole_tree import load_tree
from core.storage import clock as clock_module
from core.tree import edges, shape
from core.upkeep.growth import grow
from tests.support.twin import Twin

_MAX_STEPS = 100  # more than any board of a test takes


class Clock:
    """Replaces the module `time` for the counters."""

    def __init__(self) -> None:
        self._ahead = 0

    def time(self) -> float:
        return time.time() + self._ahead / 1000

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)

    def advance(self, milliseconds: int) -> None:
        self._ahead += milliseconds


@dataclass
class Grower:
    """Grows a board's tree until no leaf that can be cut holds more than `grow_at` entries."""

    clock: Clock
    drain: Callable[[], int]

    @classmethod
    def make(
        cls, monkeypatch: pytest.MonkeyPatch, drain: Callable[[], int], *, grow_at: int, inner: int
    ) -> "Grower":
        """Let leaves grow beyond `grow_at` entries, into little more than `inner` children."""
        monkeypatch.setattr(shape, "GROW_AT", grow_at)
        monkeypatch.setattr(shape, "TIES_GROW_AT", grow_at)
        monkeypatch.setattr(edges, "FANOUT", inner + 2)
        monkeypatch.setattr(edges, "_OUTER", 2)
        clock = Clock()
        monkeypatch.setattr(clock_module, "_CLOCK", clock_module.Clock())
        monkeypatch.setattr(clock_module, "learn", lambda *_: None)  # DynamoDB's clock is not advanced
        for module in (clock_module, root, known_trees):
            monkeypatch.setattr(module, "time", clock)
        return cls(clock, drain)

    def grow(self, twin: Twin) -> int:
        """Grow a board's tree until no step is left; return how many levels readers use then."""
        self.drain()
        for _ in range(_MAX_STEPS):
            if not grow(twin.db, twin.board, twin.standings):
                return levels(twin)
            self.drain()
            self.clock.advance(ANNOUNCEMENT_LEAD + CACHE_TTL)
        raise AssertionError("the tree does not stop growing")


def levels(twin: Twin) -> int:
    """Return how many levels of nodes readers use."""
    tree = Trees(twin.db, twin.board, twin.standings).current()
    whole = load_tree(twin.db, twin.board, twin.standings, tree)
    used = [path for path in whole if all(path[at] in whole[path[:at]][0].settled for at in range(len(path)))]
    return 1 + max(len(path) for path in used)
