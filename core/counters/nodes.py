"""The counter tree in storage: the items that hold its nodes' counts.

A node is one item of the counters table: `c00` to `c7f` count the entries under each child and `seq_*` guard
them (guard.py). Of its growth, `g..` says since when a child has a node of its own, `w..` when its entries
were last written again, `r..` that they all have been once, and `s..` that readers may use it. The edges of a
grown node never change and are an item apart, so that a count writes as few bytes as it can.

    standings          node        what
    race#all-time#g1   trees       which tree readers use, and which one is being built
    race#all-time#g1   tree0:      the root
    race#all-time#g1   tree0:05    the node under its child 5
    race#all-time#g1   edges0:05   where that node's children meet
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from core.counters.guard import guard_name, guard_value, not_counted, outdated
from core.domain.keys import SEPARATOR, split_standings
from core.domain.model import Board, CounterMode
from core.domain.periods import expires_at
from core.storage.clock import now_ms
from core.storage.database import Database, batch_get, failed_item, query_all
from core.storage.tables import TTL_ATTRIBUTE
from core.tree.node import Step
from core.tree.shape import counter_shards

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

TREES_NODE = "trees"
_WORTH_A_WRITE = 4  # guards

_COUNT = re.compile(r"c([0-9a-f]{2})")
_GROWN = re.compile(r"g([0-9a-f]{2})")
_SETTLED = re.compile(r"s([0-9a-f]{2})")

Item = Mapping[str, Any]


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


def get_nodes(
    db: Database, board: Board, standings: str, names: Iterable[str], *, consistent: bool = False
) -> dict[str, Item]:
    """Read several nodes in one round trip, leaving out those that are not there.

    Costs half a read unit (consistent: one) for each 4 KB of a node, for each counter shard; the `trees` item
    is in the first.
    """
    shards = partitions(board, standings)
    keys = [node_key(one, name) for name in names for one in (shards[:1] if name == TREES_NODE else shards)]
    return merge_shards(standings, batch_get(db, db.tables.counters, keys, consistent=consistent))


def query_nodes(db: Database, partition: str, prefix: str) -> Iterator[Item]:
    """Read a partition's items whose name starts with `prefix`: half a read unit for each 4 KB of them."""
    condition = "standings = :standings"
    values: dict[str, AttributeValueTypeDef] = {":standings": {"S": partition}}
    if prefix:  # DynamoDB refuses an empty string in a key condition
        condition += " AND begins_with(node, :prefix)"
        values[":prefix"] = {"S": prefix}
    return query_all(
        db,
        TableName=db.tables.counters,
        KeyConditionExpression=condition,
        ExpressionAttributeValues=values,
    )


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


def grown_of(item: Item) -> dict[int, int]:
    """Read which children of a node have nodes of their own, and since when: milliseconds since 1970."""
    return {child: int(item[name]["N"]) for child, name in _named(_GROWN, item)}


def settled_of(item: Item) -> frozenset[int]:
    """Read which children's nodes readers may use."""
    return frozenset(child for child, _ in _named(_SETTLED, item))


def as_of(board: Board, nodes: Iterable[Item], read_at: datetime) -> datetime:
    """Say when the counts of some nodes of one tree, its root among them, were true.

    Where the stream is counted that is the time of the newest change in them, of which nothing older is
    missing. Where writers count for themselves it is the time of reading.
    """
    if board.counter_mode is not CounterMode.STREAM:
        return read_at
    newest = max((int(node["as_of"]["N"]) for node in nodes if "as_of" in node), default=0)
    return min(read_at, max(board.created_at, datetime.fromtimestamp(newest / 1000, UTC)))


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


def _named(pattern: re.Pattern[str], item: Item) -> Iterator[tuple[int, str]]:
    for name in item:
        match = pattern.fullmatch(name)
        if match:
            yield int(match[1], 16), name
