"""The root of a counter tree: how many entries there are, and how they are spread."""

import time
from collections.abc import Mapping

from core.counters.cache import REMEMBERED, CounterCache
from core.counters.directory import parse_directory
from core.counters.nodes import TREES_NODE, counts_of, get_nodes
from core.domain.model import Board
from core.storage.database import Database
from core.tree.node import node_name


def read_size(db: Database, board: Board, standings: str) -> int:
    """Read the number of ranked entries, as far as counted; costs what `read_root` does."""
    return sum(read_root(db, board, standings).values())


def read_root(db: Database, board: Board, standings: str) -> Mapping[int, int]:
    """Read how many ranked entries are under each child of the root, as far as counted.

    Costs half a read unit, and another for each counter shard.
    """
    first = node_name(0, ())
    items = get_nodes(db, board, standings, [TREES_NODE, first])
    tree = parse_directory(items.get(TREES_NODE, {})).current
    if tree:
        first = node_name(tree, ())
        items = get_nodes(db, board, standings, [first])
    counts = counts_of(items.get(first, {}))
    remember_root(db, standings, counts)
    return counts


def remember_root(db: Database, standings: str, counts: Mapping[int, int]) -> None:
    """Remember how an order's entries are spread over its root."""
    if len(db.cache(CounterCache).roots) > REMEMBERED:
        db.cache(CounterCache).roots.clear()
    db.cache(CounterCache).roots[standings] = (time.monotonic(), counts)
