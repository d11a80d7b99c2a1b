"""The counter tree in storage: its nodes' counts, and what this process knows of their growth.

A node is one item of the counters table: `c00` to `c7f` count the entries under each child and `seq_*` guard
them (core.guard). Of its growth, `g..` says since when a child has a node of its own, `w..` when its entries
were last written again, `r..` that they all have been once, and `s..` that readers may use it. The edges of a
grown node never change and are an item apart, so that a count writes as few bytes as it can.

    standings          node        what
    race#all-time#g1   trees       which tree readers use, and which one is being built
    race#all-time#g1   tree0:      the root
    race#all-time#g1   tree0:05    the node under its child 5
    race#all-time#g1   edges0:05   where that node's children meet
"""

import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from core.database import Database, batch_get
from core.deltas import Change, is_ranked, written_at
from core.guard import failed_item, guard_name, guard_value, not_counted, outdated
from core.keys import SEPARATOR, split_standings
from core.memory import REMEMBERED, KnownTrees
from core.model import Board, CounterMode
from core.periods import expires_at
from core.scale import Path, counter_shards, static_depth, static_edges
from core.tables import TTL_ATTRIBUTE
from core.tree import (
    Leaf,
    Node,
    Step,
    Unknown,
    believe,
    edges_name,
    locate,
    missed_since,
    node_name,
    path_of,
    steps,
    stretch,
)

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

# A node is announced so many milliseconds before its birth. What a process knows of a node it trusts for half
# of that; the other half is for clocks that differ and for the announcement's own way into the table.
LEAD = 5_000
TRUST = LEAD // 2
# A clock may be so far ahead: its entries are counted when their time comes. Those from further ahead count
# as ones that do not tell when they were written, and are written again at once.
AHEAD = 2 * LEAD
TREES_NODE = "trees"
_WORTH_A_WRITE = 4  # guards

_COUNT = re.compile(r"c([0-9a-f]{2})")
_GROWN = re.compile(r"g([0-9a-f]{2})")
_SETTLED = re.compile(r"s([0-9a-f]{2})")

Item = Mapping[str, Any]
T = TypeVar("T")


class Gone(Exception):
    """A node's edges are not there: its tree has been replaced."""


class Trees:
    """The shape of a database's counter trees, from this process's memory as far as it holds."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._of = db.memory.trees_of

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
        known = self._of(standings)
        if board.counter_mode is not CounterMode.STREAM:
            known = KnownTrees()
            self._read_trees(standings, known)
        found = []
        for change in suspects:
            image = believe(change.new, now + AHEAD, 0) or {}
            missed = [0] if image is not change.new else []
            for tree, born in known.born.items():
                ask = partial(missed_since, born=born, image=image, due=_due(change))
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
                key: self._knowing(board, standings, known, tree, partial(locate, key=key)) for key in keys
            }
        except Gone:
            if self.current(standings) == tree:
                raise
            return self.locate(board, standings, keys)

    def stretch(
        self, board: Board, standings: str, tree: int, path: Path, child: int
    ) -> tuple[bytes, bytes | None]:
        """Give the stretch of a node's child, from (inclusive) and to (exclusive)."""
        ask = partial(stretch, path=path, child=child)
        return self._knowing(board, standings, self._of(standings), tree, ask)

    def current(self, standings: str) -> int:
        """Give the number of the tree that readers use, freshly read: a read unit."""
        known = self._of(standings)
        self._read_trees(standings, known)
        return known.current

    def learn_current(self, standings: str, item: Item) -> bool:
        """Take note of the `trees` item, empty where there is none; says whether readers now use another.

        Readers' reads may be old, and tell nothing of which trees to count; a change is read again.
        """
        known = self._of(standings)
        if not item or int(item["current"]["N"]) <= known.current:
            return False
        self._read_trees(standings, known)
        return True

    def learn_edges(self, standings: str, tree: int, items: Iterable[Item]) -> None:
        """Remember the edges of grown nodes."""
        _learn_edges(self._of(standings), tree, items)

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
        """Ask something of a tree's nodes, reading those that it turns out to need."""
        while True:
            try:
                return ask(known.nodes.setdefault(tree, {}))
            except Unknown as unknown:
                path, read_at = unknown.path, now_ms()
                item = get_node(self._db, standings, node_name(tree, path), consistent=True)
                self._learn(board, standings, known, tree, path, item, read_at)

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
        grown = {child: int(item[name]["N"]) for child, name in _named(_GROWN, item)}
        settled = frozenset(child for child, _ in _named(_SETTLED, item))
        static = _static_children(board, path, edges)
        with self._db.memory.lock:
            nodes = known.nodes.setdefault(tree, {})
            # Nothing that has grown ever goes: what a fresher read or another thread has learned holds.
            node = nodes.get(path, Node(edges, born, dict.fromkeys(static, 0), static))
            nodes[path] = replace(
                node,
                grown={**node.grown, **grown},
                settled=node.settled | settled,
                known_at=max(node.known_at, read_at),
            )
            return nodes[path]

    def _read_trees(self, standings: str, known: KnownTrees) -> None:
        read_at = now_ms()
        item = get_node(self._db, standings, TREES_NODE, consistent=True)
        with self._db.memory.lock:
            known.current = int(item["current"]["N"]) if item else 0
            known.born = (
                {int(tree): int(born["N"]) for tree, born in item["born"]["M"].items()} if item else {0: 0}
            )
            known.known_at = read_at
            known.nodes = {tree: nodes for tree, nodes in known.nodes.items() if tree in known.born}

    def _edges(
        self, board: Board, standings: str, known: KnownTrees, tree: int, path: Path
    ) -> tuple[tuple[bytes, ...], int]:
        edges = static_edges(board, path)
        if edges is not None:
            if tree not in known.born:
                self._read_trees(standings, known)
            return edges, known.born.get(tree, 0)
        if (tree, path) not in known.edges:
            item = get_node(self._db, standings, edges_name(tree, path), consistent=True)
            if not item:
                raise Gone(path)
            _learn_edges(known, tree, [item])
        return known.edges[tree, path]


def add_steps(
    db: Database,
    shard_id: str,
    board: Board,
    standings: str,
    name: str,
    node_steps: Sequence[Step],
    at: datetime,
) -> Item:
    """Add to a node what is not in it yet of one stream shard's steps, and give the item as it is then.

    Costs one conditional UpdateItem, a write unit a KB of the node; where some are in it, another, where all
    are, only that one, in vain.
    """
    guard = guard_name(shard_id)
    goes = expiry(board, standings)
    item: Item = {}
    while node_steps:
        by_child = Counter[int]()
        for step in node_steps:
            by_child[step.child] += step.by
        # Changes that cancel one another out move the guard too: the batch may come again in pieces.
        moved = {child: by for child, by in by_child.items() if by}
        try:
            return db.client.update_item(
                TableName=db.tables.counters,
                Key=node_key(standings, name),
                UpdateExpression=f"SET {guard} = :last, as_of = :at"
                + "".join(f", {one} = :{one}" for one in goes)
                + (" ADD " + ", ".join(f"c{child:02x} :c{child:02x}" for child in moved) if moved else ""),
                ConditionExpression=f"attribute_not_exists({guard}) OR {guard}[0] < :first",
                ExpressionAttributeValues={
                    ":first": {"N": str(node_steps[0].sequence)},
                    ":last": guard_value(node_steps[-1].sequence, now_ms()),
                    ":at": {"N": str(int(at.timestamp() * 1000))},
                    **{f":{one}": when for one, when in goes.items()},
                    **{f":c{child:02x}": {"N": str(by)} for child, by in moved.items()},
                },
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )["Attributes"]
        except db.client.exceptions.ConditionalCheckFailedException as error:
            item = failed_item(error)
            node_steps = not_counted(node_steps, item, guard)
    return item


def drop_guards(db: Database, standings: str, name: str, item: Item) -> None:
    """Take the guards off a node that guard nothing any more, once they are some: a write unit a KB."""
    names = outdated(item, now_ms())
    if len(names) >= _WORTH_A_WRITE:
        db.client.update_item(
            TableName=db.tables.counters,
            Key=node_key(standings, name),
            UpdateExpression="REMOVE " + ", ".join(names),
        )


def get_node(db: Database, standings: str, name: str, *, consistent: bool = False) -> Item:
    """Read one item of an order's derived data, empty if it is not there: half a read unit for each 4 KB."""
    answer = db.client.get_item(
        TableName=db.tables.counters, Key=node_key(standings, name), ConsistentRead=consistent
    )
    return answer.get("Item", {})


def get_nodes(db: Database, board: Board, standings: str, names: Iterable[str]) -> dict[str, Item]:
    """Read several nodes in one round trip, leaving out those that are not there.

    Costs half a read unit for each 4 KB of a node, for each counter shard; the `trees` item is in the first.
    """
    shards = partitions(board, standings)
    keys = [node_key(one, name) for name in names for one in (shards[:1] if name == TREES_NODE else shards)]
    return merge_shards(standings, batch_get(db, db.tables.counters, keys))


def query_nodes(db: Database, partition: str, prefix: str) -> Iterator[Item]:
    """Read a partition's items whose name starts with `prefix`: half a read unit for each 4 KB of them."""
    condition = "standings = :standings"
    values: dict[str, AttributeValueTypeDef] = {":standings": {"S": partition}}
    if prefix:  # DynamoDB refuses an empty string in a key condition
        condition += " AND begins_with(node, :prefix)"
        values[":prefix"] = {"S": prefix}
    start: dict[str, Any] = {}
    while True:
        answer = db.client.query(
            TableName=db.tables.counters,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            **start,
        )
        yield from answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def partitions(board: Board, standings: str) -> list[str]:
    """Name the partitions of an order's counters; what is not counted is in the first alone."""
    return [standings, *(f"{standings}{SEPARATOR}{shard}" for shard in range(1, counter_shards(board)))]


def merge_shards(standings: str, items: Iterable[Item]) -> dict[str, Item]:
    """Make one item of a node's items in every counter shard: the first shard's, with the counts of all."""
    merged: dict[str, dict[str, Any]] = {}
    for item in items:
        node = merged.setdefault(item["node"]["S"], {})
        first = item["standings"]["S"] == standings
        for name, value in item.items():
            if _COUNT.fullmatch(name) and name in node:
                node[name] = {"N": str(int(node[name]["N"]) + int(value["N"]))}
            elif name == "as_of" and name in node:
                node[name] = max(node[name], value, key=lambda when: int(when["N"]))
            elif first or name not in node:
                node[name] = value
    return dict(merged)


def counts_of(item: Item) -> dict[int, int]:
    """Read how many entries are under each child of a node."""
    return {child: int(item[name]["N"]) for child, name in _named(_COUNT, item)}


def as_of(board: Board, nodes: Iterable[Item], read_at: datetime) -> datetime:
    """Say when the counts of some nodes of one tree, its root among them, were true.

    Where the stream is counted that is the time of the newest change in them, of which nothing older is
    missing. Where writers count for themselves it is the time of reading.
    """
    if board.counter_mode is not CounterMode.STREAM:
        return read_at
    newest = max((int(node["as_of"]["N"]) for node in nodes if "as_of" in node), default=0)
    return min(read_at, max(board.created_at, datetime.fromtimestamp(newest / 1000, UTC)))


def read_size(db: Database, board: Board, standings: str) -> int:
    """Read the number of ranked entries, as far as counted.

    Costs half a read unit, and another for each counter shard.
    """
    first = node_name(0, ())
    items = get_nodes(db, board, standings, [TREES_NODE, first])
    tree = int(items[TREES_NODE]["current"]["N"]) if TREES_NODE in items else 0
    if tree:
        first = node_name(tree, ())
        items = get_nodes(db, board, standings, [first])
    counts = counts_of(items.get(first, {}))
    remember_root(db, standings, counts)
    return sum(counts.values())


def remember_root(db: Database, standings: str, counts: Mapping[int, int]) -> None:
    """Remember how an order's entries are spread over its root."""
    if len(db.memory.roots) > REMEMBERED:
        db.memory.roots.clear()
    db.memory.roots[standings] = (time.monotonic(), counts)


def expiry(board: Board, standings: str) -> "dict[str, AttributeValueTypeDef]":
    """Give the attribute by which an item of an order's derived data goes with its period; none for ever."""
    at = expires_at(board, split_standings(standings)[1])
    return {} if at is None else {TTL_ATTRIBUTE: {"N": str(int(at.timestamp()))}}


def node_key(standings: str, name: str) -> "dict[str, AttributeValueTypeDef]":
    """Give the key of an item of an order's derived data."""
    return {"standings": {"S": standings}, "node": {"S": name}}


def pack_edges(edges: Sequence[bytes]) -> bytes:
    """Write edges as one value: each with its length before it."""
    return b"".join(len(edge).to_bytes(2, "big") + edge for edge in edges)


def unpack_edges(packed: bytes) -> tuple[bytes, ...]:
    """Read edges that `pack_edges` wrote."""
    edges = []
    at = 0
    while at < len(packed):
        start = at + 2
        at = start + int.from_bytes(packed[at:start], "big")
        edges.append(bytes(packed[start:at]))
    return tuple(edges)


def now_ms() -> int:
    """Give the time in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def _learn_edges(known: KnownTrees, tree: int, items: Iterable[Item]) -> None:
    for item in items:
        edges = unpack_edges(item["edges"]["B"])
        known.edges[tree, path_of(item["node"]["S"])] = edges, int(item["born"]["N"])


def _believed(board: Board, changes: Sequence[Change]) -> list[Change]:
    """Make sense of clocks that are ahead, waiting for an entry's time to come if it is near.

    An entry must be taken the same way when it comes and when it goes: whatever is still ahead when it goes
    was too far ahead to be waited for when it came. Writers that count for themselves believe each other.
    """
    now = now_ms()
    if board.counter_mode is not CounterMode.STREAM:
        until = now + TRUST
        return [
            replace(one, old=believe(one.old, until, until), new=believe(one.new, until, until))
            for one in changes
        ]
    changes = [replace(one, new=believe(one.new, now + AHEAD, 0)) for one in changes]
    newest = max((written_at(one.new) for one in changes if one.new), default=0)
    if newest > now + TRUST:
        time.sleep((newest - TRUST - now) / 1000)
    until = now_ms() + TRUST
    return [replace(one, old=believe(one.old, until, 0)) for one in changes]


def _due(change: Change) -> int:
    """Give the last birth of a node whose entries may have been written again before this one came.

    The stream tells the second of a record alone, and the index is given another to show it.
    """
    return int(change.at.timestamp() * 1000) + 2_000 - TRUST


def _named(pattern: re.Pattern[str], item: Item) -> Iterator[tuple[int, str]]:
    for name in item:
        match = pattern.fullmatch(name)
        if match:
            yield int(match[1], 16), name


def _static_children(board: Board, path: Path, edges: Sequence[bytes]) -> frozenset[int]:
    """Name the children that have nodes from the start."""
    if len(path) + 1 >= static_depth(board):
        return frozenset()
    return frozenset(
        child for child in range(len(edges) + 1) if static_edges(board, (*path, child)) is not None
    )


def _writings(change: Change) -> Iterator[int]:
    return (written_at(image) for image in (change.old, change.new) if image is not None)
