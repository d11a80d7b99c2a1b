"""Where a board's rank buckets end now.

Boundaries in the best places are found in the materialised top, all others in the counter tree: one node a
level for each, then a read of the index within one leaf.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from core.counters.known_trees import Trees
from core.counters.nodes import TREES_NODE, Item, counts_of, get_nodes
from core.domain.keys import split_standings
from core.domain.model import Board
from core.domain.rank_key import just_above, score_bytes
from core.notifications.bucket_cuts import Cut, Cuts, last_places
from core.ranking.top import Top
from core.storage.database import Database
from core.storage.parallel import run_all
from core.storage.rank_index import read_run
from core.tree.node import node_name

if TYPE_CHECKING:
    from core.tree.shape import Path

# Entries of a leaf that are read at most. A fuller leaf is about to grow; until then its boundaries stay.
_MAX_READ = 1_100


@dataclass(frozen=True, slots=True)
class Boundary:
    """A cut, and the last score before it if its tie reaches beyond the bucket's last place."""

    cut: Cut
    tie: bytes | None = None


@dataclass(frozen=True, slots=True)
class Boundaries:
    """The boundary of each bucket but the last, None for one that is not known yet, and the board's size."""

    found: Sequence[Boundary | None]
    total: int

    @property
    def complete(self) -> bool:
        """Whether all are known."""
        return None not in self.found

    def cuts(self, otherwise: Cuts = ()) -> Cuts:
        """Return the cuts, for an unknown boundary the one in `otherwise`."""
        return tuple(otherwise[at] if one is None else one.cut for at, one in enumerate(self.found))

    def ties(self, cuts: Cuts) -> Cuts:
        """Return the ties of those boundaries that are at these cuts."""
        pairs = zip(self.found, cuts, strict=True)
        return tuple(one.tie for one, cut in pairs if one and one.cut == cut and one.tie is not None)


class _Leaf(NamedTuple):
    low: bytes
    high: bytes | None
    before: int  # entries
    entries: int


def find_boundaries(db: Database, board: Board, standings: str, top: Top) -> Boundaries:
    """Find where the board's buckets end, as far as the stream is counted.

    Costs nothing if the top shows the whole board; else two read units for the size, and for the boundaries
    behind the top one for each node on the way and the index's units for one leaf each.
    """
    root: Item = {}
    tree, total = 0, len(top.items)
    if not top.whole:
        tree, root = _read_root(db, board, standings)
        total = sum(counts_of(root).values())
    keys = [bytes(item["rank_key"]["B"]) for item in top.items]
    places = last_places(board, total)
    behind = {place for place in places if len(keys) <= place < total and not top.whole}
    leaves = _find_leaves(db, board, standings, tree, root, sorted(behind))
    found = _read_leaves(db, board, standings, leaves)
    for place in places:
        if place >= total:
            found[place] = Boundary(None)
        elif place == 0:
            found[place] = Boundary(b"")
        elif place not in behind:
            found[place] = _boundary_in(board, keys, place)
    return Boundaries([found[place] for place in places], total)


def _read_root(db: Database, board: Board, standings: str) -> tuple[int, Item]:
    trees = Trees(db, board, standings)
    tree, _ = trees.locate([])
    names = [TREES_NODE, node_name(tree, ())]
    items = get_nodes(db, board, standings, names, consistent=True)
    if trees.is_replaced(tree, items.get(TREES_NODE, {})):
        return _read_root(db, board, standings)  # rebuilt in the meantime
    return tree, items.get(names[1], {})


def _find_leaves(
    db: Database, board: Board, standings: str, tree: int, root: Item, places: Sequence[int]
) -> Mapping[int, _Leaf]:
    """Find the leaf of each place, level by level."""
    trees = Trees(db, board, standings)
    leaves: dict[int, _Leaf] = {}
    items = {node_name(tree, ()): root}
    level: Mapping[Path, list[tuple[int, _Leaf]]] = {
        (): [(place, _Leaf(b"", None, 0, 0)) for place in places]
    }
    while places and level:
        below: defaultdict[Path, list[tuple[int, _Leaf]]] = defaultdict(list)
        for path, in_node in level.items():
            item = items.get(node_name(tree, path), {})
            node = trees.remember_node(tree, path, item)
            counts = counts_of(item)
            for place, whole in in_node:
                child, before = _child_at(counts, place, whole.before)
                leaf = _Leaf(*node.bounds(child, whole.low, whole.high), before, counts.get(child, 0))
                if child in node.settled:
                    below[*path, child].append((place, leaf))
                else:
                    leaves[place] = leaf
        level = below
        names = [node_name(tree, path) for path in level]
        items = get_nodes(db, board, standings, names, consistent=True)  # no request without names
    return leaves


def _child_at(counts: Mapping[int, int], place: int, before: int) -> tuple[int, int]:
    """Return the child that holds a place, or the last one, and how many entries stand before the child."""
    filled = sorted(child for child, count in counts.items() if count > 0)
    for child in filled[:-1]:
        if before + counts[child] >= place:
            return child, before
        before += counts[child]
    return (filled[-1] if filled else 0), before


def _read_leaves(
    db: Database, board: Board, standings: str, leaves: Mapping[int, _Leaf]
) -> dict[int, Boundary | None]:
    """Find the boundaries within their leaves, reading each leaf once."""
    found: dict[int, Boundary | None] = {}
    by_leaf: defaultdict[bytes, list[int]] = defaultdict(list)
    for place, leaf in leaves.items():
        first_score = leaf.low[: score_bytes(board)].ljust(score_bytes(board), b"\0")
        end = just_above(first_score)
        if leaf.high is not None and leaf.high <= end:  # one score, whose tie may go on in the next leaf
            goes_on = leaf.high < end or leaf.before + leaf.entries > place
            found[place] = Boundary(end, first_score if goes_on else None)
        elif place - leaf.before > _MAX_READ:
            found[place] = None
        else:
            by_leaf[leaf.low].append(place)

    def read(places: list[int]) -> dict[int, Boundary | None]:
        leaf = leaves[places[0]]
        limit = max(places) - leaf.before + 1  # one more to see whether a tie goes on
        run = read_run(db, board, split_standings(standings)[1], limit, from_key=leaf.low or None)
        keys = [bytes(item["rank_key"]["B"]) for item in run if item["standings"]["S"] == standings]
        return {place: _boundary_in(board, keys, place - leaf.before) for place in places}

    for boundaries in run_all([partial(read, places) for places in by_leaf.values()]):
        found |= boundaries
    return found


def _boundary_in(board: Board, keys: Sequence[bytes], place: int) -> Boundary | None:
    """Return the boundary behind a place among consecutive rank keys, the first of them at place 1."""
    if not 1 <= place <= len(keys):
        return None  # the index and the counters are not at the same point of the stream
    score = keys[place - 1][: score_bytes(board)]
    goes_on = place < len(keys) and keys[place].startswith(score)
    return Boundary(just_above(score), score if goes_on else None)
