"""A whole counter tree, or its upper part: for the ladder, distributions, growth, checks, explanations."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain

from core.counters.known_trees import Trees
from core.counters.nodes import Item, counts_of, get_nodes, merge_shards, partitions, query_nodes
from core.domain.model import Board
from core.storage.database import Database
from core.storage.parallel import run_all
from core.tree.node import Node, edges_name, node_name, path_of
from core.tree.shape import Path, static_edges

WholeTree = Mapping[Path, tuple[Node, Item]]


@dataclass(frozen=True, slots=True)
class Child:
    """A child of a node, and the half-open range of rank keys that it covers."""

    path: Path  # of the node
    number: int
    low: bytes
    high: bytes | None

    @property
    def node(self) -> Path:
        """The path of the node that this child has, or would have once it has grown."""
        return (*self.path, self.number)


def load_tree(db: Database, board: Board, standings: str, tree: int) -> WholeTree:
    """Read every node of a tree: half a read unit for each 4 KB of it, one round trip for each MB."""
    trees = Trees(db, board, standings)
    queries = [(standings, edges_name(tree, ()))]
    queries += [(partition, node_name(tree, ())) for partition in partitions(board, standings)]
    edges, *nodes = run_all([partial(_read_all, db, *query) for query in queries])
    edges_of = {path_of(item["node"]["S"]): item for item in edges}
    items: dict[Path, Item] = {(): {}}
    items |= {path_of(name): item for name, item in merge_shards(standings, chain(*nodes)).items()}
    return {
        path: (trees.remember_node(tree, path, item, edges=edges_of.get(path)), item)
        for path, item in items.items()
    }


def load_nodes(db: Database, board: Board, standings: str, tree: int, paths: Collection[Path]) -> WholeTree:
    """Read some nodes of a tree, leaving out those that do not exist: a unit each, half for a static one.

    With more counter shards than one, half a unit more for each. One round trip.
    """
    trees = Trees(db, board, standings)
    grown = {path for path in paths if static_edges(board, path) is None}
    names = [*(node_name(tree, path) for path in paths), *(edges_name(tree, path) for path in grown)]
    items = get_nodes(db, board, standings, names)
    found: dict[Path, tuple[Node, Item]] = {}
    for path in paths:
        item, edges = items.get(node_name(tree, path)), items.get(edges_name(tree, path))
        if item is not None and (edges is not None or path not in grown):
            found[path] = trees.remember_node(tree, path, item, edges=edges), item
    return found


def children(whole: WholeTree) -> list[tuple[Child, int]]:
    """Return every child of every node in use with its count, in rank order."""
    found: list[tuple[Child, int]] = []

    def visit(path: Path, low: bytes, high: bytes | None) -> None:
        node, item = whole[path]
        counts = counts_of(item)
        for number in range(len(node.edges) + 1):
            child = Child(path, number, *node.bounds(number, low, high))
            found.append((child, counts.get(number, 0)))
            if not is_leaf(whole, child):
                visit(child.node, child.low, child.high)

    visit((), b"", None)
    return found


def is_leaf(whole: WholeTree, child: Child) -> bool:
    """Return whether a child is a leaf: it has no node that readers may use."""
    return child.number not in whole[child.path][0].settled or child.node not in whole


def leaves(whole: WholeTree) -> list[tuple[Child, int]]:
    """Return every leaf with its count, in rank order."""
    return [(child, count) for child, count in children(whole) if is_leaf(whole, child)]


def _read_all(db: Database, partition: str, prefix: str) -> list[Item]:
    return list(query_nodes(db, partition, prefix))
