"""The ladder: a counter tree's leaves as one cumulative list in this process's memory.

Loading it is one query of the counters (half a read unit for each 4 KB, some 8 units for a million entries).
While it is warm, counting the entries before a leaf reads nothing. It is refreshed in the background, so
readers wait only for the first load, or after a pause.
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
from core.tree.rungs import Rungs, make_rungs

FRESH = 1.0  # seconds that a ladder serves without a refresh
STALE = 1.5  # seconds after which readers wait for a new one

_pool = ThreadPoolExecutor(max_workers=2, thread_name_prefix="ladder")


def warm(db: Database, standings: str) -> Rungs | None:
    """Return the remembered ladder of some standings, or None if there is none or it is stale."""
    rungs = db.cache(CounterCache).ladders.get(standings)
    return rungs if rungs and time.monotonic() < rungs.loaded_at + STALE else None


def ladder(db: Database, board: Board, standings: str) -> Rungs:
    """Return the ladder of some standings: from memory if warm, refreshed behind if older than a second."""
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
    tree = load_tree(db, board, standings, Trees(db, board, standings).current())
    counted_at = as_of(board, (item for _, item in tree.values()), read_at)
    rungs = make_rungs([(leaf.low, count) for leaf, count in leaves(tree)], counted_at, loaded_at)
    db.cache(CounterCache).put_ladder(standings, rungs)
    return rungs
