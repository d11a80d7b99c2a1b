"""The root of a counter tree: how many entries some standings have, and how they are spread."""

import time
from collections.abc import Mapping

from core.counters.cache import MAX_STANDINGS, CounterCache
from core.counters.directory import parse_directory
from core.counters.nodes import TREES_NODE, counts_of, get_nodes
from core.domain.model import Board
from core.storage.database import Database
from core.tree.node import node_name


def read_size(db: Database, board: Board, standings: str) -> int:
    """Read the number of ranked entries, as far as counted. Costs what `read_root` does."""
    return sum(read_root(db, board, standings).values())


def read_root(db: Database, board: Board, standings: str) -> Mapping[int, int]:
    """Read how many ranked entries are under each child of the root, as far as counted.

    Costs half a read unit, and another for each counter shard.
    """
    name = node_name(0, ())
    items = get_nodes(db, board, standings, [TREES_NODE, name])
    tree = parse_directory(items.get(TREES_NODE, {})).current
    if tree:
        name = node_name(tree, ())
        items = get_nodes(db, board, standings, [name])
    counts = counts_of(items.get(name, {}))
    remember_root(db, standings, counts)
    return counts


def remember_root(db: Database, standings: str, counts: Mapping[int, int]) -> None:
    """Cache how many entries are under each child of the root."""
    roots = db.cache(CounterCache).roots
    if len(roots) > MAX_STANDINGS:
        roots.clear()
    roots[standings] = (time.monotonic(), counts)
