"""Where a board's rank buckets end now: the cut behind the last entry of each.

The best places are told by the materialised top, all others by the counter tree: one node a level for each
edge, then the index inside one leaf.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from core.counters.known_trees import Trees
from core.counters.nodes import TREES_NODE, Item, counts_of, get_nodes
from core.domain.keys import split_standings
from core.domain.model import Board
from core.domain.rank_key import just_above, score_bytes
from core.notifications.announced import Cut, places
from core.ranking.top import Top
from core.storage.database import Database
from core.storage.parallel import run_all
from core.storage.rank_index import read_run
from core.tree.node import node_name

if TYPE_CHECKING:
    from core.tree.shape import Path

# So far into a leaf the index is read. A fuller one is about to grow; till then its edge stays where it was.
_FARTHEST = 1_100


@dataclass(frozen=True, slots=True)
class Boundary:
    """A cut, how many entries stand before it, and the start of its last score if that reaches beyond."""

    cut: Cut
    inside: int
    tie: bytes | None = None


@dataclass(frozen=True, slots=True)
class Boundaries:
    """A board's edges, None for one that cannot be told yet, and how many entries there are."""

    of: Sequence[Boundary | None]
    total: int


class _Leaf(NamedTuple):
    low: bytes
    high: bytes | None
    before: int
    entries: int


def find_boundaries(db: Database, board: Board, standings: str, top: Top) -> Boundaries:
    """Find where the board's buckets end, as far as the stream is counted.

    Costs nothing for a board that is whole in its top; else two read units for the size, one for each node on
    the way, and reading one leaf's entries for each edge behind the top.
    """
    root: Item
    if top.whole:
        tree, root, total = 0, {}, len(top.items)
    else:
        tree, root = _read_root(db, board, standings)
        total = sum(counts_of(root).values())
    keys = [bytes(item["rank_key"]["B"]) for item in top.items]
    wanted = [place for place in places(board, total) if len(keys) <= place < total and not top.whole]
    leaves = _descend(db, board, standings, tree, root, sorted(set(wanted)))
    behind = _look_into(db, board, standings, leaves)

    def edge(place: int) -> Boundary | None:
        if place >= total:
            return Boundary(None, total)
        if place == 0:
            return Boundary(b"", 0)
        return behind[place] if place in behind else _edge_in(board, keys, place, 0)

    return Boundaries([edge(place) for place in places(board, total)], total)


def _read_root(db: Database, board: Board, standings: str) -> tuple[int, Item]:
    trees = Trees(db, board, standings)
    tree, _ = trees.locate([])
    names = [TREES_NODE, node_name(tree, ())]
    items = get_nodes(db, board, standings, names, consistent=True)
    if trees.is_replaced(tree, items.get(TREES_NODE, {})):
        return _read_root(db, board, standings)  # rebuilt in the meantime
    return tree, items.get(names[1], {})


def _descend(
    db: Database, board: Board, standings: str, tree: int, root: Item, wanted: Sequence[int]
) -> dict[int, _Leaf]:
    """Find the leaf of each place, level by level."""
    trees = Trees(db, board, standings)
    found: dict[int, _Leaf] = {}
    level: dict[Path, list[tuple[int, _Leaf]]] = {}
    if wanted:
        level[()] = [(place, _Leaf(b"", None, 0, 0)) for place in wanted]
    items = {node_name(tree, ()): root}
    while level:
        below: defaultdict[Path, list[tuple[int, _Leaf]]] = defaultdict(list)
        for path, of_node in level.items():
            item = items.get(node_name(tree, path), {})
            node = trees.remember_node(tree, path, item)
            counts = counts_of(item)
            for place, whole in of_node:
                child, before = _child_of(counts, place, whole.before)
                leaf = _Leaf(*node.bounds(child, whole.low, whole.high), before, counts.get(child, 0))
                if child in node.settled:
                    below[*path, child].append((place, leaf))
                else:
                    found[place] = leaf
        level = below
        if level:
            names = [node_name(tree, path) for path in level]
            items = get_nodes(db, board, standings, names, consistent=True)
    return found


def _child_of(counts: dict[int, int], place: int, before: int) -> tuple[int, int]:
    """Find the child that holds a place, the last one if none does, and how many stand before it."""
    child = 0
    for one in sorted(counts):
        if counts[one] <= 0:
            continue
        child = one
        if before + counts[one] >= place:
            break
        before += counts[one]
    return child, before


def _look_into(
    db: Database, board: Board, standings: str, leaves: dict[int, _Leaf]
) -> dict[int, Boundary | None]:
    """Find the edges in their leaves; those in one leaf are read together."""
    found: dict[int, Boundary | None] = {}
    of_leaf: defaultdict[bytes, list[int]] = defaultdict(list)
    for place, leaf in leaves.items():
        alone = leaf.low[: score_bytes(board)].ljust(score_bytes(board), b"\0")
        if leaf.high is not None and leaf.high <= just_above(alone):  # one score: no need to look
            inside = leaf.before + leaf.entries
            found[place] = Boundary(leaf.high, inside, leaf.low if inside > place else None)
        elif place - leaf.before > _FARTHEST:
            found[place] = None
        else:
            of_leaf[leaf.low].append(place)

    def look(in_leaf: list[int]) -> dict[int, Boundary | None]:
        leaf = leaves[in_leaf[0]]
        limit = max(in_leaf) - leaf.before + 1  # one more to see whether a tie goes on
        run = read_run(db, board, split_standings(standings)[1], limit, from_key=leaf.low or None)
        keys = [bytes(item["rank_key"]["B"]) for item in run if item["standings"]["S"] == standings]
        return {place: _edge_in(board, keys, place, leaf.before) for place in in_leaf}

    for edges in run_all([partial(look, one) for one in of_leaf.values()]):
        found |= edges
    return found


def _edge_in(board: Board, keys: Sequence[bytes], place: int, before: int) -> Boundary | None:
    """Find an edge among consecutive rank keys with so many `before` them; None where they end too soon."""
    at = place - before - 1
    if not 0 <= at < len(keys):
        return None  # the index and the counters are not at the same point
    score = keys[at][: score_bytes(board)]
    cut = just_above(score)
    inside = before + sum(key < cut for key in keys)
    return Boundary(cut, inside, score if inside > place else None)
