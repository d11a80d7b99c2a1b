"""The ladder: the whole counter tree as one cumulative list in this process's memory.

Loading it is one query of the counters (half a read unit for each 4 KB, some 8 units for a million entries);
while it is warm, finding how many stand before a leaf reads nothing. It is refreshed behind the readers'
backs, so they wait only for the first load, or after a pause.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

from core.counters.cache import CounterCache
from core.counters.known_trees import Trees
from core.counters.nodes import as_of
from core.counters.whole_tree import leaves, load_tree
from core.domain.model import Board
from core.storage.database import Database
from core.tree.rungs import Rungs

FRESH = 1.0  # seconds that a ladder serves as it is
STALE = 1.5  # seconds after which readers wait for a new one
REMEMBERED = 200  # ladders in memory, up to some hundred KB each


_pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="ladder")


def warm(db: Database, standings: str) -> Rungs | None:
    """Give what is remembered of an order's ladder, if it is not too old to serve."""
    rungs = db.cache(CounterCache).ladders.get(standings)
    return rungs if rungs and time.monotonic() < rungs.loaded_at + STALE else None


def ladder(db: Database, board: Board, standings: str) -> Rungs:
    """Give an order's ladder: from memory if warm, and if older than a second refreshed in the background."""
    rungs = warm(db, standings)
    if rungs is None:
        return _load(db, board, standings)
    refreshing = db.cache(CounterCache).refreshing
    if time.monotonic() > rungs.loaded_at + FRESH and standings not in refreshing:
        refreshing.add(standings)
        _pool.submit(_refresh, db, board, standings)
    return rungs


def _refresh(db: Database, board: Board, standings: str) -> None:
    try:
        _load(db, board, standings)
    finally:
        db.cache(CounterCache).refreshing.discard(standings)


def _load(db: Database, board: Board, standings: str) -> Rungs:
    loaded_at, read_at = time.monotonic(), datetime.now(UTC)
    known = load_tree(db, board, standings, Trees(db, board, standings).current())
    lows, before, total = [], [], 0
    for leaf, count in leaves(known):
        lows.append(leaf.low)
        before.append(total)
        total += count
    then = as_of(board, (item for _, item in known.values()), read_at)
    rungs = Rungs(tuple(lows), tuple(before), total, then, loaded_at)
    if len(db.cache(CounterCache).ladders) > REMEMBERED:
        db.cache(CounterCache).ladders.clear()
    db.cache(CounterCache).ladders[standings] = rungs
    return rungs
