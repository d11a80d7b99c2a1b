"""What this process knows of the counter trees of some standings: which there are, how far each has grown.

Trees only grow, and growth is announced before it takes effect. So what was read of a node a moment ago still
decides which nodes count an entry, and counting a change costs no read of a tree.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TypeVar

from core.counters.cache import CachedTrees, CounterCache
from core.counters.directory import Directory, parse_directory, read_directory
from core.counters.nodes import BIRTH, SETTLED, Item, by_child, get_node, unpack_edges
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
    steps,
)
from core.tree.shape import Path, static_depth, static_edges

# All in milliseconds. A node is announced this long before its birth.
ANNOUNCEMENT_LEAD = 5_000
# What was read of a node holds for entries written up to this much later. The rest of the lead is for clocks
# that differ, and for the time that the announcement itself takes to be written.
CACHE_TTL = ANNOUNCEMENT_LEAD // 2
# An entry whose `written_at` is up to this far ahead of the clock here is counted when that time has come. An
# entry further ahead counts as one without `written_at`, and is written again at once.
MAX_CLOCK_SKEW = 2 * ANNOUNCEMENT_LEAD

T = TypeVar("T")


class TreeReplaced(Exception):
    """The tree is not in the directory any more."""


class Trees:
    """The counter trees of some standings, read only as far as this process has not cached them."""

    def __init__(self, db: Database, board: Board, standings: str, cached: CachedTrees | None = None) -> None:
        self._db, self._board, self._standings = db, board, standings
        self._cached = db.cache(CounterCache).trees_of(standings) if cached is None else cached
        self._is_shared = cached is None

    def steps(self, changes: Sequence[Change]) -> dict[tuple[int, Path], list[Step]]:
        """Return the steps that changes take in each node, by (tree, path), of every tree.

        Costs nothing while the nodes on the way are cached, else a consistent read of each. Waits until the
        time in an entry's `written_at` if that is a little ahead.
        """
        changes = _with_credible_times(self._board, changes)
        images = (image for change in changes for image in (change.old, change.new) if image is not None)
        newest = max(map(written_at, images), default=0)
        # Now and then also for old entries alone: only a directory read since then shows that they are late.
        if self._cached.read_at + CACHE_TTL < newest or self._cached.read_at + MAX_CLOCK_SKEW < now_ms():
            self._read_directory()
        found: dict[tuple[int, Path], list[Step]] = {}
        for tree in self._directory.births:
            with suppress(TreeReplaced):
                of_tree = self._with_nodes(tree, partial(steps, changes=changes, lead=CACHE_TTL))
                found |= {(tree, path): of_node for path, of_node in of_tree.items()}
        return found

    def late_entries(self, changes: Sequence[Change]) -> list[tuple[str, bytes, int]]:
        """Return the late entries of changes just counted: participant, rank key, and the birth of a node.

        That node misses the entry unless it is written again. Late entries are rare: their writer's clock is
        wrong, their item is foreign, or they were held up on their way. Other entries cost nothing. For a
        late one, mode STREAM has just cached the nodes on the way; the other modes cost a consistent read of
        each, and of the directory.
        """
        now = now_ms()
        suspects = [
            change
            for change in changes
            if change.new is not None
            and is_ranked(change.new)
            and not _latest_rewrite(change) <= written_at(change.new) <= now + MAX_CLOCK_SKEW
        ]
        trees = self
        if self._board.counter_mode is not CounterMode.STREAM:  # writers have counted by caches of their own
            trees = Trees(self._db, self._board, self._standings, CachedTrees())
        found = []
        for change in suspects:
            image = correct_written_at(change.new, now + MAX_CLOCK_SKEW, 0) or {}
            births = [] if image is change.new else [0]
            for tree, birth in trees._directory.births.items():
                find = partial(first_missed_birth, born=birth, item=image, due=_latest_rewrite(change))
                missed = trees._with_nodes(tree, find)
                births += [] if missed is None else [missed]
            if births:
                found.append((change.participant, bytes(image["rank_key"]["B"]), max(births)))
        return found

    def locate(self, keys: Sequence[bytes]) -> tuple[int, dict[bytes, Leaf]]:
        """Return the number of the tree in use, and each rank key's leaf in it."""
        tree = self._directory.current
        try:
            return tree, {key: self._with_nodes(tree, partial(find_leaf, key=key)) for key in keys}
        except TreeReplaced:
            return self.locate(keys)

    def child_range(self, tree: int, path: Path, child: int) -> tuple[bytes, bytes | None]:
        """Return the half-open range of rank keys under a node's child."""
        return self._with_nodes(tree, partial(child_range, path=path, child=child))

    def current(self) -> int:
        """Read the number of the tree in use: a read unit."""
        return self._read_directory().current

    def is_replaced(self, tree: int, item: Item) -> bool:
        """Return whether a `trees` item, empty where there is none, names a newer tree in use than this one.

        Such an item may come from an eventually consistent read, so it is not cached. If the cache does not
        know of the newer tree, the directory is read again, consistently: a read unit.
        """
        current = parse_directory(item).current
        if current > max(tree, self._directory.current):
            self._read_directory()
        return current > tree

    def remember_node(
        self, tree: int, path: Path, item: Item, *, edges: Item | None = None, read_at: int = 0
    ) -> Node:
        """Cache what a node's item says of its growth, and return the node.

        `edges` is the item of its edges, if that has been read too. `read_at` is when the node's item was
        read, consistently, or written. After an eventually consistent read it is left out: readers learn of
        growth, but how long the node holds for counting does not change.
        """
        node = self._cached.nodes.get(tree, {}).get(path) or self._new_node(tree, path, edges)
        cache = self._db.cache(CounterCache)
        with cache.lock:
            node = self._cached.nodes.get(tree, {}).get(path, node)
            # Growth is never undone: what another thread or a fresher read has found stays.
            node = replace(
                node,
                grown={**node.grown, **by_child(item, BIRTH)},
                settled=node.settled.union(by_child(item, SETTLED)),
                known_at=max(node.known_at, read_at),
            )
            self._cached.put_node(tree, path, node)
            if self._is_shared:
                cache.trees.put(self._standings, self._cached, self._cached.size)
            return node

    def _with_nodes(self, tree: int, compute: Callable[[Mapping[Path, Node]], T]) -> T:
        """Return what `compute` makes of a tree's nodes, reading each node that it turns out to need.

        Raises:
            LookupError: the edges of a node are missing.
            TreeReplaced: the tree is not in the directory any more.
        """
        while True:
            try:
                return compute(self._cached.nodes.setdefault(tree, {}))
            except UnknownNode as unknown:
                path, read_at = unknown.path, now_ms()
                item = get_node(self._db, self._standings, node_name(tree, path), consistent=True)
                self.remember_node(tree, path, item, read_at=read_at)
                if tree not in self._directory.births:
                    raise TreeReplaced from None

    def _new_node(self, tree: int, path: Path, item: Item | None) -> Node:
        edges = static_edges(self._board, path)
        if edges is None:
            name = edges_name(tree, path)
            item = item or get_node(self._db, self._standings, name, consistent=True)
            if not item:
                raise (
                    LookupError(f"no item {name}") if tree in self._read_directory().births else TreeReplaced
                )
            return Node(unpack_edges(item["edges"]["B"]), int(item["born"]["N"]))
        if tree not in self._directory.births:
            self._read_directory()
        children = range(len(edges) + 1 if len(path) + 1 < static_depth(self._board) else 0)
        static = [child for child in children if static_edges(self._board, (*path, child)) is not None]
        return Node(edges, self._directory.births.get(tree, 0), dict.fromkeys(static, 0), frozenset(static))

    @property
    def _directory(self) -> Directory:
        return self._cached.directory or self._read_directory()

    def _read_directory(self) -> Directory:
        cached, read_at = self._cached, now_ms()
        directory = read_directory(self._db, self._standings)
        with self._db.cache(CounterCache).lock:
            if cached.directory is not None and read_at < cached.read_at:
                return cached.directory  # another thread has read it since
            cached.directory, cached.read_at = directory, read_at
            cached.keep(directory.births)
        return directory


def _with_credible_times(board: Board, changes: Sequence[Change]) -> list[Change]:
    """Correct the `written_at` of entries that are too far ahead, and wait for those that are a little ahead.

    The stream's consumer must take an entry alike when it comes and when it goes: one that is still ahead
    when it goes was too far ahead to wait for when it came. In the other modes, an entry that is ahead by
    more than `CACHE_TTL` counts as written that much from now.
    """
    now = now_ms()
    if board.counter_mode is not CounterMode.STREAM:
        until = now + CACHE_TTL
        return [
            change.with_images(
                correct_written_at(change.old, until, until), correct_written_at(change.new, until, until)
            )
            for change in changes
        ]
    changes = [
        change.with_images(change.old, correct_written_at(change.new, now + MAX_CLOCK_SKEW, 0))
        for change in changes
    ]
    newest = max((written_at(change.new) for change in changes if change.new is not None), default=0)
    if newest > now + CACHE_TTL:
        time.sleep((newest - CACHE_TTL - now) / 1000)
    until = now_ms() + CACHE_TTL
    return [change.with_images(correct_written_at(change.old, until, 0), change.new) for change in changes]


def _latest_rewrite(change: Change) -> int:
    """Return the birth of the youngest node whose entries may have been rewritten before this change came.

    A rewrite begins `CACHE_TTL` after the birth. A stream record tells its second alone, and the rank index,
    from which the rewrite reads, may lag for another.
    """
    return int(change.at.timestamp() * 1000) + 2_000 - CACHE_TTL
