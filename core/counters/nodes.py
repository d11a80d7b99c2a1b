"""The items of the counters table that hold counter trees.

    standings          node        what
    race#all-time#g1   trees       the directory (directory.py)
    race#all-time#g1   tree0:      the root of tree 0
    race#all-time#g1   tree0:05    the node of the root's child 5
    race#all-time#g1   edges0:05   that node's edges, and when it was created, if it has grown

A node's item says of each child, by its number in two hexadecimal digits:

    c05   how many entries are under it
    g05   the birth of its own node, in ms since 1970, if it has grown
    w05   when the last rewrite of its entries, by which its node counts them, began, in ms since 1970
    r05   its entries have all been written again at least once
    s05   its node is settled: readers may use it

It also has `as_of`, the time of the newest change counted, and `seq_*`, the guards (guard.py). Names are
short and edges are an item apart, since each count is charged by the size of the node's item.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from core.counters.guard import guard_name, guard_value, not_counted, outdated
from core.domain.keys import SEPARATOR, split_standings
from core.domain.model import Board, CounterMode
from core.domain.periods import expires_at
from core.storage.clock import now_ms
from core.storage.database import Database, batch_get, query_all
from core.storage.faults import failed_item
from core.storage.tables import TTL_ATTRIBUTE
from core.tree.node import Step, is_node_name
from core.tree.shape import counter_shards

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

TREES_NODE = "trees"
COUNT, BIRTH, REWRITE_BEGUN, REWRITTEN, SETTLED = "c", "g", "w", "r", "s"  # first letters of attributes
_WORTH_A_WRITE = 4  # outdated guards
_REMOVED_AT_ONCE = 100  # outdated guards; an expression has 4 KB at most
# By kind and name, the child. A big node has some hundred attributes, and each read looks at all of them.
_CHILDREN = {
    kind: {f"{kind}{child:02x}": child for child in range(256)}
    for kind in (COUNT, BIRTH, REWRITE_BEGUN, REWRITTEN, SETTLED)
}

Item = Mapping[str, Any]


def add_steps(
    db: Database, shard_id: str, board: Board, standings: str, name: str, steps: Sequence[Step], at: datetime
) -> Item:
    """Add to a node those steps of a stream shard that it does not count yet; return its item as it is then.

    Costs one conditional UpdateItem, a write unit a KB of the node; two where some steps are counted already;
    and another now and then, to remove outdated guards.
    """
    guard = guard_name(shard_id)
    ttl = expiry(board, standings)
    item: Item = {}
    while steps:
        sums = Counter[int]()
        for step in steps:
            sums[step.child] += step.by
        # Advance the guard even if the steps add up to zero: one part alone may be delivered again.
        added = {attribute(COUNT, child): {"N": str(by)} for child, by in sums.items() if by}
        try:
            item = db.client.update_item(
                TableName=db.tables.counters,
                Key=node_key(standings, name),
                UpdateExpression=f"SET {guard} = :last, as_of = :at"
                + "".join(f", {attr} = :{attr}" for attr in ttl)
                + (" ADD " + ", ".join(f"{attr} :{attr}" for attr in added) if added else ""),
                ConditionExpression=f"attribute_not_exists({guard}) OR {guard}[0] < :first",
                ExpressionAttributeValues={
                    ":first": {"N": str(steps[0].sequence)},
                    ":last": guard_value(steps[-1].sequence, now_ms()),
                    ":at": {"N": str(int(at.timestamp() * 1000))},
                    **{f":{attr}": value for attr, value in (ttl | added).items()},
                },
                ReturnValues="ALL_NEW",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )["Attributes"]
            break
        except db.client.exceptions.ConditionalCheckFailedException as error:
            item = failed_item(error)
            steps = not_counted(steps, item, guard)
    guards = outdated(item, now_ms())
    if len(guards) >= _WORTH_A_WRITE:
        db.client.update_item(
            TableName=db.tables.counters,
            Key=node_key(standings, name),
            UpdateExpression="REMOVE " + ", ".join(guards[:_REMOVED_AT_ONCE]),
        )
    return item


def get_node(db: Database, standings: str, name: str, *, consistent: bool = False) -> Item:
    """Read one item, empty if there is none: half a read unit (consistent: one) for each 4 KB."""
    answer = db.client.get_item(
        TableName=db.tables.counters, Key=node_key(standings, name), ConsistentRead=consistent
    )
    return answer.get("Item", {})


def get_nodes(
    db: Database, board: Board, standings: str, names: Iterable[str], *, consistent: bool = False
) -> dict[str, Item]:
    """Read several nodes by name in one round trip, leaving out those that do not exist.

    Costs half a read unit (consistent: one) for each 4 KB of a node and each counter shard. The directory and
    edges are in the first shard alone.
    """
    shards = partitions(board, standings)
    keys = [
        node_key(shard, name) for name in names for shard in (shards if is_node_name(name) else shards[:1])
    ]
    return merge_shards(standings, batch_get(db, db.tables.counters, keys, consistent=consistent))


def query_nodes(db: Database, partition: str, prefix: str) -> Iterator[Item]:
    """Yield a partition's items whose name starts with `prefix`: half a read unit for each 4 KB of them."""
    condition = "standings = :standings"
    values: dict[str, AttributeValueTypeDef] = {":standings": {"S": partition}}
    if prefix:  # DynamoDB refuses an empty string in a key condition
        condition += " AND begins_with(node, :prefix)"
        values[":prefix"] = {"S": prefix}
    table = db.tables.counters
    return query_all(db, TableName=table, KeyConditionExpression=condition, ExpressionAttributeValues=values)


def partitions(board: Board, standings: str) -> list[str]:
    """Return the partitions that hold the counter shards. Attributes that are no counts are in the first."""
    return [standings, *(f"{standings}{SEPARATOR}{shard}" for shard in range(1, counter_shards(board)))]


def merge_shards(standings: str, items: Iterable[Item]) -> dict[str, Item]:
    """Merge each node's items of all counter shards into the first shard's, with the sums of the counts."""
    merged: dict[str, dict[str, Any]] = {}
    for item in items:
        node = merged.setdefault(item["node"]["S"], {})
        first = item["standings"]["S"] == standings
        for name, value in item.items():
            if name in node and name in _CHILDREN[COUNT]:
                node[name] = {"N": str(int(node[name]["N"]) + int(value["N"]))}
            elif name == "as_of" and name in node:
                node[name] = max(node[name], value, key=lambda when: int(when["N"]))
            elif first or name not in node:
                node[name] = value
    return dict(merged)


def attribute(kind: str, child: int) -> str:
    """Return the name of a node's attribute of one kind for one child."""
    return f"{kind}{child:02x}"


def by_child(item: Item, kind: str) -> dict[int, int]:
    """Return the values of a node's attributes of one kind, by child."""
    children = _CHILDREN[kind]
    return {children[name]: int(value["N"]) for name, value in item.items() if name in children}


def counts_of(item: Item) -> dict[int, int]:
    """Return how many entries are under each child of a node."""
    return by_child(item, COUNT)


def as_of(board: Board, nodes: Iterable[Item], read_at: datetime) -> datetime:
    """Return the time up to which the counts in some nodes of one tree, its root included, are complete.

    In mode STREAM that is the time of the newest change in them: all older changes are counted too. In the
    other modes, in which writers count for themselves, it is the time of reading.
    """
    if board.counter_mode is not CounterMode.STREAM:
        return read_at
    newest = max((int(node["as_of"]["N"]) for node in nodes if "as_of" in node), default=0)
    return min(read_at, max(board.created_at, datetime.fromtimestamp(newest / 1000, UTC)))


def expiry(board: Board, standings: str) -> "dict[str, AttributeValueTypeDef]":
    """Return the attribute that lets TTL delete an item with its period; none if the period has no end."""
    at = expires_at(board, split_standings(standings)[1])
    return {} if at is None else {TTL_ATTRIBUTE: {"N": str(int(at.timestamp()))}}


def node_key(standings: str, name: str) -> "dict[str, AttributeValueTypeDef]":
    """Return the key of an item of the counters table."""
    return {"standings": {"S": standings}, "node": {"S": name}}


def pack_edges(edges: Sequence[bytes]) -> bytes:
    """Return edges as one value, each behind its length in two bytes."""
    return b"".join(len(edge).to_bytes(2, "big") + edge for edge in edges)


def unpack_edges(packed: bytes) -> tuple[bytes, ...]:
    """Return the edges that `pack_edges` packed."""
    edges = []
    at = 0
    while at < len(packed):
        start = at + 2
        at = start + int.from_bytes(packed[at:start], "big")
        edges.append(bytes(packed[start:at]))
    return tuple(edges)
