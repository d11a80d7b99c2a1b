"""The counter tree: how many entries stand before any rank key. Pure.

A node covers a range of rank keys, cut by its edges into up to 128 children; it is one item that counts the
entries under each child. Counting the entries before a rank key reads one node a level and sums the children
before the key's own. A child that has filled up grows a node of its own, which counts from its birth on.

Which nodes count an entry follows from its item alone: those on its key's path that were born before the item
was last written (`written_at`). So a change's two images determine what it does to the tree, whenever the
nodes grow, and a node's counts are a function of the entries. An entry older than a node is counted in it
once it is written again, which growth does; until then the node is not settled, and readers stop above it.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from core.domain.entry_item import Item, is_ranked, written_at
from core.tree.changes import Change
from core.tree.shape import Path


@dataclass(frozen=True, slots=True)
class Node:
    """A node as it was read at `known_at`: its edges, its birth, its children's births, which have settled.

    Times are in milliseconds since 1970.
    """

    edges: tuple[bytes, ...]
    born: int = 0
    grown: Mapping[int, int] = field(default_factory=dict)
    settled: frozenset[int] = frozenset()
    known_at: int = 0

    def child_of(self, key: bytes) -> int:
        """Return the number of the child that a rank key is under."""
        return bisect_right(self.edges, key)

    def bounds(self, child: int, low: bytes, high: bytes | None) -> tuple[bytes, bytes | None]:
        """Return a child's half-open range, given the node's own range; None is the end of the standings."""
        return (
            self.edges[child - 1] if child else low,
            self.edges[child] if child < len(self.edges) else high,
        )


class UnknownNode(LookupError):
    """A node on the path has not been read yet, or not recently enough."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


@dataclass(frozen=True, slots=True)
class Step:
    """One entry more (`by` is 1) or less (-1) under a node's child."""

    sequence: int
    child: int
    by: int


def steps(nodes: Mapping[Path, Node], changes: Iterable[Change], lead: int) -> dict[Path, list[Step]]:
    """Return what changes do to each node of a tree.

    `lead` is how many milliseconds before its birth a node is announced: a node read at `known_at` holds for
    images written up to `known_at + lead`.

    Raises:
        UnknownNode: a node must be read (again) first.
    """
    found: defaultdict[Path, list[Step]] = defaultdict(list)
    for change in changes:
        left, entered = (
            trace(nodes, image["rank_key"]["B"], written_at(image), lead)
            if image is not None and is_ranked(image)
            else []
            for image in (change.old, change.new)
        )
        for places, others, by in ((left, entered, -1), (entered, left, 1)):
            for path, child in places:
                if (path, child) not in others:
                    found[path].append(Step(change.sequence, child, by))
    return found


def trace(nodes: Mapping[Path, Node], key: bytes, written: int, lead: int) -> list[tuple[Path, int]]:
    """Return the nodes that count an entry, from the root down, and in each the child that it is under.

    Raises:
        UnknownNode: a node must be read (again) first.
    """
    path: Path = ()
    counting: list[tuple[Path, int]] = []
    while True:
        node = nodes.get(path)
        if node is None or written > node.known_at + lead:
            raise UnknownNode(path)
        if written < node.born:
            return counting
        child = node.child_of(key)
        counting.append((path, child))
        born = node.grown.get(child)
        if born is None or written < born:
            return counting
        path = (*path, child)


def first_missed_birth(nodes: Mapping[Path, Node], born: int, item: Item, due: int) -> int | None:
    """Return the birth of the first node that misses an entry for good, None if there is none.

    `born` is the root's birth. Such a node is younger than the entry by the entry's clock, and was born by
    `due`: so its older entries had been written again when this one came.

    Raises:
        UnknownNode: a node must be read first.
    """
    path: Path = ()
    while written_at(item) >= born:
        node = nodes.get(path)
        if node is None:
            raise UnknownNode(path)
        child = node.child_of(item["rank_key"]["B"])
        if child not in node.grown:
            return None
        born = node.grown[child]
        path = (*path, child)
    return born if born <= due else None


def correct_written_at(item: Item | None, until: int, otherwise: int) -> Item | None:
    """Return an entry's item, as one written at `otherwise` if it claims a time after `until`."""
    if item is None or written_at(item) <= until:
        return item
    return {**item, "written_at": {"N": str(otherwise)}}


@dataclass(frozen=True, slots=True)
class Leaf:
    """The range that a rank key falls into, and the children whose counts sum to the entries before it."""

    low: bytes
    high: bytes | None
    before: tuple[tuple[Path, int], ...]  # (node, child): the node's children before this one are summed
    path: Path
    child: int


def find_leaf(nodes: Mapping[Path, Node], key: bytes) -> Leaf:
    """Return the leaf of a rank key, or the child whose range begins with the key.

    >>> nodes = {(): Node((b"g", b"p"), settled=frozenset({1})), (1,): Node((b"k",))}
    >>> find_leaf(nodes, b"m")
    Leaf(low=b'k', high=b'p', before=(((), 1), ((1,), 1)), path=(1,), child=1)

    Raises:
        UnknownNode: a node must be read first.
    """
    path: Path = ()
    low, high = b"", None
    before = []
    while True:
        node = nodes.get(path)
        if node is None:
            raise UnknownNode(path)
        child = node.child_of(key)
        before.append((path, child))
        low, high = node.bounds(child, low, high)
        if child not in node.settled or low == key:  # nothing below stands before the key
            return Leaf(low, high, tuple(before), path, child)
        path = (*path, child)


def child_range(nodes: Mapping[Path, Node], path: Path, child: int) -> tuple[bytes, bytes | None]:
    """Return the half-open range of a node's child; None is the end of the standings.

    Raises:
        UnknownNode: a node must be read first.
    """
    low, high = b"", None
    for depth, step in enumerate((*path, child)):
        if path[:depth] not in nodes:
            raise UnknownNode(path[:depth])
        low, high = nodes[path[:depth]].bounds(step, low, high)
    return low, high


def node_name(root: int, path: Path) -> str:
    """Return the name of a node's item: the tree's number, and two hexadecimal digits a child on the path.

    >>> node_name(0, (5, 127))
    'tree0:057f'
    """
    return f"tree{root}:{bytes(path).hex()}"


def is_node_name(name: str) -> bool:
    """Return whether an item is a node, with counts."""
    return name.startswith("tree") and ":" in name


def edges_name(root: int, path: Path) -> str:
    """Return the name of the item that holds a grown node's edges."""
    return f"edges{root}:{bytes(path).hex()}"


def path_of(name: str) -> Path:
    """Return the path in a node's name."""
    return tuple(bytes.fromhex(name.partition(":")[2]))
