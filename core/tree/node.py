"""The counter tree: how many entries stand before any place in the order. Pure.

A node covers a stretch of the order, cut by its edges into up to 128 children; it is one item that counts the
entries under each child. Counting what stands before a rank key is one node a level, summing the children
before the key's own. A child that has filled up has grown a node itself: its `born` says since when.

Which nodes count an entry follows from its item alone: those on its key's path that were born before the item
was last written (`written_at`). So a change's two images say all that it does to the tree, in any order of
growth, and a node's counts are a function of the entries. An entry older than a node is in it once it is
written again, which growth sees to; till then its node is not `settled`, and readers stop above it.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.tree.changes import Change, is_ranked, written_at
from core.tree.shape import Path

Image = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Node:
    """What is known of a node: where its children meet, which of them have grown since when, which settled.

    `known_at` is when that was read, and `born` when the node began to count; in milliseconds since 1970.
    """

    edges: tuple[bytes, ...]
    born: int = 0
    grown: Mapping[int, int] = field(default_factory=dict)
    settled: frozenset[int] = frozenset()
    known_at: int = 0

    def child_of(self, key: bytes) -> int:
        """Say which child a rank key is under."""
        return bisect_right(self.edges, key)

    def bounds(self, child: int, low: bytes, high: bytes | None) -> tuple[bytes, bytes | None]:
        """Give a child's stretch, from (inclusive) and to (exclusive), within the node's own."""
        return (
            self.edges[child - 1] if child else low,
            self.edges[child] if child < len(self.edges) else high,
        )


class Unknown(LookupError):
    """A node on the path has not been read yet, or not recently enough."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.path = path


@dataclass(frozen=True, slots=True)
class Step:
    """One entry coming under a node's child, or leaving it."""

    sequence: int
    child: int
    by: int


def steps(nodes: Mapping[Path, Node], changes: Iterable[Change], lead: int) -> dict[Path, list[Step]]:
    """Say what changes do to each node of a tree.

    `lead` is how many milliseconds ahead of its birth a node is announced: what was read of a node at
    `known_at` holds for images written up to `known_at + lead`.

    Raises:
        Unknown: a node must be read (again) first.
    """
    found: defaultdict[Path, list[Step]] = defaultdict(list)
    for change in changes:
        left, entered = (
            trace(nodes, image["rank_key"]["B"], written_at(image), lead)
            if image is not None and is_ranked(image)
            else []
            for image in (change.old, change.new)
        )
        for (path, child), by in (*((one, -1) for one in left), *((one, 1) for one in entered)):
            if (path, child) not in left or (path, child) not in entered:  # else it stays where it is
                found[path].append(Step(change.sequence, child, by))
    return found


def trace(nodes: Mapping[Path, Node], key: bytes, written: int, lead: int) -> list[tuple[Path, int]]:
    """Give the nodes, from the root down, and in each the child, that count an entry.

    Raises:
        Unknown: a node must be read (again) first.
    """
    path: Path = ()
    passed: list[tuple[Path, int]] = []
    while True:
        node = nodes.get(path)
        if node is None or written > node.known_at + lead:
            raise Unknown(path)
        if written < node.born:
            return passed
        child = node.child_of(key)
        passed.append((path, child))
        born = node.grown.get(child)
        if born is None or written < born:
            return passed
        path = (*path, child)


def missed_since(nodes: Mapping[Path, Node], born: int, image: Mapping[str, Any], due: int) -> int | None:
    """Give the birth of a tree's first node that misses an entry for good, or None; `born` is the root's.

    Such a node is younger than the entry, by the entry's clock. And its older entries have all been written
    again by the time that this one came, as those of nodes born by `due` have.

    Raises:
        Unknown: a node must be read first.
    """
    path: Path = ()
    while written_at(image) >= born:
        node = nodes.get(path)
        if node is None:
            raise Unknown(path)
        child = node.child_of(image["rank_key"]["B"])
        if child not in node.grown:
            return None
        born = node.grown[child]
        path = (*path, child)
    return born if born <= due else None


def believe(image: Image, until: int, otherwise: int) -> Image:
    """Take an entry that claims to be written after `until` for one written at `otherwise`."""
    if image is None or written_at(image) <= until:
        return image
    return {**image, "written_at": {"N": str(otherwise)}}


@dataclass(frozen=True, slots=True)
class Leaf:
    """The stretch that a rank key falls into, and the children to sum for all that stands before it."""

    low: bytes
    high: bytes | None
    before: tuple[tuple[Path, int], ...]  # (node, child): every child before this one is summed
    path: Path
    child: int


def locate(nodes: Mapping[Path, Node], key: bytes) -> Leaf:
    """Find the leaf of a rank key, as deep as the tree has settled, or the node's child that starts with it.

    Raises:
        Unknown: a node must be read first.
    """
    path: Path = ()
    low, high = b"", None
    before = []
    while True:
        node = nodes.get(path)
        if node is None:
            raise Unknown(path)
        child = node.child_of(key)
        before.append((path, child))
        low, high = node.bounds(child, low, high)
        if child not in node.settled or low == key:  # below, nothing stands before the key
            return Leaf(low, high, tuple(before), path, child)
        path = (*path, child)


def stretch(nodes: Mapping[Path, Node], path: Path, child: int) -> tuple[bytes, bytes | None]:
    """Give the stretch of a node's child, from (inclusive) and to (exclusive).

    Raises:
        Unknown: a node must be read first.
    """
    low, high = b"", None
    for at, step in enumerate((*path, child)):
        if path[:at] not in nodes:
            raise Unknown(path[:at])
        low, high = nodes[path[:at]].bounds(step, low, high)
    return low, high


def node_name(root: int, path: Path) -> str:
    """Name a node's item: the tree's number and the children on the way, two hexadecimal digits each."""
    return f"tree{root}:{bytes(path).hex()}"


def edges_name(root: int, path: Path) -> str:
    """Name the item that holds a grown node's edges."""
    return f"edges{root}:{bytes(path).hex()}"


def path_of(name: str) -> Path:
    """Read the path from a node's name."""
    return tuple(bytes.fromhex(name.partition(":")[2]))
