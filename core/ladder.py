"""The ladder: the whole counter tree as one cumulative list in this process's memory.

Loading it is one query of the counters (half a read unit for each 4 KB, some 8 units for a million entries);
while it is warm, finding how many stand before a leaf reads nothing. It is refreshed behind the readers'
backs, so they wait only for the first load, or after a pause.
"""

import time
from bisect import bisect_right
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from core.database import Database
from core.growth import load_tree, twigs
from core.model import Board
from core.nodes import Trees, as_of

FRESH = 1.0  # seconds that a ladder serves as it is
STALE = 5.0  # seconds after which readers wait for a new one
_REMEMBERED = 200


@dataclass(frozen=True, slots=True)
class Rung:
    """A leaf: its stretch of the order, the entries before it, and the entries in it."""

    low: bytes
    high: bytes | None
    before: int
    entries: int


@dataclass(frozen=True, slots=True)
class Rungs:
    """Leaves in order: where each starts, how many entries stand before it, and `total` behind the last."""

    lows: tuple[bytes, ...]
    before: tuple[int, ...]
    total: int
    as_of: datetime
    loaded_at: float

    def find(self, key: bytes) -> Rung:
        """Give the leaf of a rank key."""
        at = bisect_right(self.lows, key) - 1
        last = at + 1 == len(self.lows)
        after = self.total if last else self.before[at + 1]
        high = None if last else self.lows[at + 1]
        return Rung(self.lows[at], high, self.before[at], after - self.before[at])


class Ladders:
    """The ladders that this process remembers."""

    def __init__(self, db: Database, trees: Trees) -> None:
        self._db = db
        self._trees = trees
        self._rungs: OrderedDict[str, Rungs] = OrderedDict()
        self._refreshing: set[str] = set()
        self._lock = Lock()
        self._pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="ladder")

    def warm(self, standings: str) -> Rungs | None:
        """Give what is remembered, if it is not too old to serve."""
        rungs = self._rungs.get(standings)
        return rungs if rungs and time.monotonic() < rungs.loaded_at + STALE else None

    def get(self, board: Board, standings: str) -> Rungs:
        """Give the ladder: from memory if warm, and if older than a second refreshed in the background."""
        rungs = self.warm(standings)
        if rungs is None:
            return self._load(board, standings)
        if time.monotonic() > rungs.loaded_at + FRESH:
            with self._lock:
                due = standings not in self._refreshing
                self._refreshing.add(standings)
            if due:
                self._pool.submit(self._refresh, board, standings)
        return rungs

    def _refresh(self, board: Board, standings: str) -> None:
        try:
            self._load(board, standings)
        finally:
            with self._lock:
                self._refreshing.discard(standings)

    def _load(self, board: Board, standings: str) -> Rungs:
        loaded_at = time.monotonic()
        known = load_tree(self._db, self._trees, board, standings, self._trees.current(standings))
        lows, before, total = [], [], 0
        for twig, count in twigs(known):
            if twig.child in known[twig.path][0].settled and twig.node in known:
                continue  # its own children follow in its stead
            lows.append(twig.low)
            before.append(total)
            total += count
        rungs = Rungs(
            tuple(lows),
            tuple(before),
            total,
            as_of(known[()][1]),
            loaded_at,
        )
        with self._lock:
            self._rungs[standings] = rungs
            self._rungs.move_to_end(standings)
            while len(self._rungs) > _REMEMBERED:
                self._rungs.popitem(last=False)
        return rungs
