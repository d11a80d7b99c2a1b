"""What a process knows of the counter trees: which there are, and how far each has grown.

Trees only grow, and growth is announced before it takes effect. So what was read a while ago still tells what
an entry's item counts in, and a change costs no read of a tree.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from core.counters.cache import CounterCache, KnownTrees
from core.counters.directory import parse_directory, read_directory
from core.counters.nodes import Item, get_node, grown_of, settled_of, unpack_edges
from core.domain.entry_item import is_ranked, written_at
from core.domain.model import Board, CounterMode
from core.storage.clock import now_ms
from core.storage.database import Database
from core.tree.changes import Change
from core.tree.node import (
    Leaf,
    Node,
    Step,
    UnknownNode,
    child_range,
    correct_written_at,
    edges_name,
    find_leaf,
    first_missed_birth,
    node_name,
    path_of,
    steps,
)
from core.tree.shape import Path, static_depth, static_edges

# A node is announced so many milliseconds before its birth. What a process knows of a node it trusts for half
# of that; the other half is for clocks that differ and for the announcement's own way into the table.
LEAD = 5_000
TRUST = LEAD // 2
# A clock may be so far ahead: its entries are counted when their time comes. Those from further ahead count
# as ones that do not tell when they were written, and are written again at once.
AHEAD = 2 * LEAD

T = TypeVar("T")


class Gone(Exception):
    """A node's edges are not there: its tree has been replaced."""


class Trees:
    """The shape of a database's counter trees, from this process's memory as far as it holds."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._of = db.cache(CounterCache).trees_of

    def steps(
        self, board: Board, standings: str, changes: Sequence[Change]
    ) -> dict[tuple[int, Path], list[Step]]:
        """Say what changes do to every node of every tree that counts them.

        Costs nothing while the nodes on the way are known; else half a read unit for each, twice for a
        consistent read. Waits for the time that an image claims to be written at, if it is near.
        """
        known = self._of(standings)
        changes = _believed(board, changes)
        newest = max((written for change in changes for written in _writings(change)), default=0)
        # Now and then also for images that are all old: only so are late ones seen to be late.
        if known.known_at + TRUST < newest or known.known_at + AHEAD < now_ms():
            self._read_trees(standings, known)
        found: dict[tuple[int, Path], list[Step]] = {}
        for tree in list(known.born):
            ask = partial(steps, changes=changes, lead=TRUST)
            try:
                of_tree = self._knowing(board, standings, known, tree, ask)
            except Gone:
                self._read_trees(standings, known)
                if tree in known.born:
                    raise
            else:
                found |= {(tree, path): of_node for path, of_node in of_tree.items()}
        return found

    def late(self, board: Board, standings: str, changes: Iterable[Change]) -> list[tuple[Change, int]]:
        """Name the changes just counted whose entries must be written again, if not written since some time.

        They are rare: entries written by a clock that is wrong, by a stranger, or held up on their way. Costs
        nothing for others. In mode STREAM nothing either, since counting has just shown the nodes on the way;
        in other modes a consistent read of each, and of the trees.
        """
        now = now_ms()
        suspects = [
            change
            for change in changes
            if is_ranked(change.new) and not _due(change) <= written_at(change.new or {}) <= now + AHEAD
        ]
        if not suspects:
            return []
        known = self._of(standings) if board.counter_mode is CounterMode.STREAM else KnownTrees()
        if not known.born:  # where another thread has had all forgotten, too
            self._read_trees(standings, known)
        found = []
        for change in suspects:
            item = correct_written_at(change.new, now + AHEAD, 0) or {}
            missed = [0] if item is not change.new else []
            for tree, born in known.born.items():
                ask = partial(first_missed_birth, born=born, item=item, due=_due(change))
                since = self._knowing(board, standings, known, tree, ask)
                if since is not None:
                    missed.append(since)
            if missed:
                found.append((change, max(missed)))
        return found

    def locate(self, board: Board, standings: str, keys: Sequence[bytes]) -> tuple[int, dict[bytes, Leaf]]:
        """Find each rank key's leaf in the tree that readers use; gives the tree's number too."""
        known = self._of(standings)
        if not known.born:
            self._read_trees(standings, known)
        tree = known.current
        try:
            return tree, {
                key: self._knowing(board, standings, known, tree, partial(find_leaf, key=key)) for key in keys
            }
        except Gone:
            if self.current(standings) == tree:
                raise
            return self.locate(board, standings, keys)

    def stretch(
        self, board: Board, standings: str, tree: int, path: Path, child: int
    ) -> tuple[bytes, bytes | None]:
        """Give the stretch of a node's child, from (inclusive) and to (exclusive)."""
        ask = partial(child_range, path=path, child=child)
        return self._knowing(board, standings, self._of(standings), tree, ask)

    def current(self, standings: str) -> int:
        """Give the number of the tree that readers use, freshly read: a read unit."""
        known = self._of(standings)
        self._read_trees(standings, known)
        return known.current

    def learn_current(self, standings: str, tree: int, item: Item) -> bool:
        """Take note of the `trees` item, empty where there is none; says whether `tree` is not used any more.

        Readers' reads may be old, and tell nothing of which trees to count; a change is read again.
        """
        current = parse_directory(item).current
        if current <= tree:
            return False
        known = self._of(standings)
        if current > known.current:
            self._read_trees(standings, known)
        return True

    def learn_edges(self, standings: str, tree: int, items: Iterable[Item]) -> None:
        """Remember the edges of grown nodes."""
        known = self._of(standings)
        for item in items:
            known.edges[tree, path_of(item["node"]["S"])] = _edges_of(item)

    def learn(
        self, board: Board, standings: str, tree: int, path: Path, item: Item, read_at: int | None = None
    ) -> Node:
        """Remember what a node's item says of its growth.

        `read_at` is when it was read or written, consistently. Without it readers learn of growth, but what
        was known before still says until when the node may be counted by.
        """
        return self._learn(board, standings, self._of(standings), tree, path, item, read_at or 0)

    def _knowing(
        self,
        board: Board,
        standings: str,
        known: KnownTrees,
        tree: int,
        ask: Callable[[Mapping[Path, Node]], T],
    ) -> T:
        """Ask something of a tree's nodes, reading those that it turns out to need.

        Raises:
            Gone: the tree has been replaced; its nodes are not remembered any more.
        """
        while True:
            try:
                return ask(known.nodes.setdefault(tree, {}))
            except UnknownNode as unknown:
                path, read_at = unknown.path, now_ms()
                item = get_node(self._db, standings, node_name(tree, path), consistent=True)
                self._learn(board, standings, known, tree, path, item, read_at)
                if tree not in known.born:
                    raise Gone(path) from None

    def _learn(
        self,
        board: Board,
        standings: str,
        known: KnownTrees,
        tree: int,
        path: Path,
        item: Item,
        read_at: int,
    ) -> Node:
        edges, born = self._edges(board, standings, known, tree, path)
        static = _static_children(board, path, edges)
        with self._db.cache(CounterCache).lock:
            nodes = known.nodes.setdefault(tree, {})
            # Nothing that has grown ever goes: what a fresher read or another thread has learned holds.
            node = nodes.get(path, Node(edges, born, dict.fromkeys(static, 0), static))
            nodes[path] = replace(
                node,
                grown={**node.grown, **grown_of(item)},
                settled=node.settled | settled_of(item),
                known_at=max(node.known_at, read_at),
            )
            return nodes[path]

    def _read_trees(self, standings: str, known: KnownTrees) -> None:
        read_at = now_ms()
        directory = read_directory(self._db, standings)
        with self._db.cache(CounterCache).lock:
            if read_at < known.known_at:
                return  # another thread has read them since
            known.current, known.born = directory.current, dict(directory.born)
            known.known_at = read_at
            # Others may be adding to both: a list is taken in one step.
            known.nodes = {tree: nodes for tree, nodes in list(known.nodes.items()) if tree in known.born}
            for tree, path in list(known.edges):
                if tree not in known.born:
                    known.edges.pop((tree, path), None)

    def _edges(
        self, board: Board, standings: str, known: KnownTrees, tree: int, path: Path
    ) -> tuple[tuple[bytes, ...], int]:
        edges = static_edges(board, path)
        if edges is not None:
            if tree not in known.born:
                self._read_trees(standings, known)
            return edges, known.born.get(tree, 0)
        found = known.edges.get((tree, path))
        if found is None:
            item = get_node(self._db, standings, edges_name(tree, path), consistent=True)
            if not item:
                raise Gone(path)
            found = known.edges[tree, path] = _edges_of(item)
        return found


def _edges_of(item: Item) -> tuple[tuple[bytes, ...], int]:
    return unpack_edges(item["edges"]["B"]), int(item["born"]["N"])


def _believed(board: Board, changes: Sequence[Change]) -> list[Change]:
    """Make sense of clocks that are ahead, waiting for an entry's time to come if it is near.

    An entry must be taken the same way when it comes and when it goes: whatever is still ahead when it goes
    was too far ahead to be waited for when it came. Writers that count for themselves believe each other.
    """
    now = now_ms()
    if board.counter_mode is not CounterMode.STREAM:
        until = now + TRUST
        return [
            replace(
                one,
                old=correct_written_at(one.old, until, until),
                new=correct_written_at(one.new, until, until),
            )
            for one in changes
        ]
    changes = [replace(one, new=correct_written_at(one.new, now + AHEAD, 0)) for one in changes]
    newest = max((written_at(one.new) for one in changes if one.new), default=0)
    if newest > now + TRUST:
        time.sleep((newest - TRUST - now) / 1000)
    until = now_ms() + TRUST
    return [replace(one, old=correct_written_at(one.old, until, 0)) for one in changes]


def _due(change: Change) -> int:
    """Give the last birth of a node whose entries may have been written again before this one came.

    The stream tells the second of a record alone, and the index is given another to show it.
    """
    return int(change.at.timestamp() * 1000) + 2_000 - TRUST


def _static_children(board: Board, path: Path, edges: Sequence[bytes]) -> frozenset[int]:
    """Name the children that have nodes from the start."""
    if len(path) + 1 >= static_depth(board):
        return frozenset()
    return frozenset(
        child for child in range(len(edges) + 1) if static_edges(board, (*path, child)) is not None
    )


def _writings(change: Change) -> Iterator[int]:
    return (written_at(image) for image in (change.old, change.new) if image is not None)
