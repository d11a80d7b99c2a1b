"""Growth: give a leaf that has filled up a node of its own, in three steps.

    announce  store the new node's edges, cut where the entries are, and its birth a little later
    rewrite   once it is born, write the leaf's older entries again, so that the new node counts them
    settle    once it counts as many entries as its parent counts for it, let readers use it

Each step is one conditional write, or can be repeated, so any process may take over at any point.
"""

import logging
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from core.boards import Boards
from core.counters import nodes
from core.counters.growing_list import growing, unmark_growing
from core.counters.known_trees import ANNOUNCEMENT_LEAD, CACHE_TTL, Trees
from core.counters.whole_tree import Child, children, load_tree
from core.domain.keys import split_standings
from core.domain.model import Board
from core.domain.periods import is_expired
from core.domain.rank_key import score_bytes
from core.storage.clock import now_ms
from core.storage.database import Database
from core.storage.rank_index import read_keys
from core.tree.edges import choose_edges
from core.tree.node import edges_name, node_name
from core.tree.shape import capacity
from core.upkeep.entry_rewrites import rewrite

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

_log = logging.getLogger(__name__)


def grow_all(db: Database, boards: Boards) -> int:
    """Grow every tree on the list by one step; return how many are not done.

    A failure is logged and tried again in the next call; it stops no other tree. Costs half a read unit for
    each 4 KB of the list, and what `grow` does.
    """
    left = 0
    for standings, marked_at in growing(db).items():
        try:
            board_id, period, generation = split_standings(standings)
            board = boards.get_generation(board_id, generation)
            now = datetime.now(UTC)
            more = board is not None and not is_expired(board, period, now) and grow(db, board, standings)
        except Exception:
            _log.exception("the counter tree of %s could not grow, trying again", standings)
            more = True
        if more:
            left += 1
        else:
            unmark_growing(db, standings, marked_at)
    return left


def grow(db: Database, board: Board, standings: str, tree: int | None = None) -> bool:
    """Take the next step for every full leaf of a tree (the one in use); return whether there are more steps.

    Costs half a read unit for each 4 KB of the tree; and for a leaf that grows, reading its entries from the
    index and a write unit for each of them.
    """
    if tree is None:
        tree = Trees(db, board, standings).current()
    whole = load_tree(db, board, standings, tree)
    more = False
    for child, count in children(whole):
        node, item = whole[child.path]
        if child.number in node.grown and child.number not in node.settled:
            more = True  # once it has settled, there may be more to grow in it
            _rewrite_or_settle(db, board, standings, tree, child, node.grown[child.number], item)
        elif child.number not in node.settled and count > capacity(board, child.low, child.high):
            more |= _announce(db, board, standings, tree, child)
    return more


def _announce(db: Database, board: Board, standings: str, tree: int, leaf: Child) -> bool:
    keys = read_keys(db, board, split_standings(standings)[1], leaf.low, leaf.high)
    # The index may lag behind the counts: wait until it shows enough entries to cut by.
    enough = len(keys) > capacity(board, leaf.low, leaf.high) // 2
    edges = choose_edges(keys, score_bytes(board), leaf.low, leaf.high) if enough else ()
    if not edges:
        return False
    birth: AttributeValueTypeDef = {"N": str(now_ms() + ANNOUNCEMENT_LEAD)}
    name = nodes.attribute(nodes.BIRTH, leaf.number)
    sets = {name: birth, **nodes.expiry(board, standings)}
    with suppress(db.client.exceptions.TransactionCanceledException):  # another process has announced it
        db.client.transact_write_items(
            TransactItems=[
                {
                    "Put": {
                        "TableName": db.tables.counters,
                        "Item": {
                            **nodes.node_key(standings, edges_name(tree, leaf.node)),
                            **nodes.expiry(board, standings),
                            "edges": {"B": nodes.pack_edges(edges)},
                            "born": birth,
                        },
                        "ConditionExpression": "attribute_not_exists(node)",
                    }
                },
                {
                    "Update": {
                        "TableName": db.tables.counters,
                        "Key": nodes.node_key(standings, node_name(tree, leaf.path)),
                        "UpdateExpression": "SET " + ", ".join(f"{attr} = :{attr}" for attr in sets),
                        "ConditionExpression": f"attribute_not_exists({name})",
                        "ExpressionAttributeValues": {f":{attr}": value for attr, value in sets.items()},
                    }
                },
            ]
        )
    return True


def _rewrite_or_settle(
    db: Database, board: Board, standings: str, tree: int, child: Child, birth: int, item: nodes.Item
) -> None:
    if now_ms() < birth + CACHE_TTL:
        return  # some process may still count by what it has cached
    # Before a first rewrite is complete, the counts may agree by chance: one entry is missing in the node,
    # and another one is not counted yet in its parent.
    if nodes.attribute(nodes.REWRITTEN, child.number) in item and _settle(db, board, standings, tree, child):
        return
    # The index may have lagged, so entries are rewritten again and again, but ever less often.
    begun = nodes.by_child(item, nodes.REWRITE_BEGUN).get(child.number)
    if begun is None or now_ms() > begun + max(2 * ANNOUNCEMENT_LEAD, begun - birth):
        _set(db, standings, tree, child, nodes.REWRITE_BEGUN, now_ms())
        rewrite(db, board, standings, child.low, child.high, birth)
        _set(db, standings, tree, child, nodes.REWRITTEN, 1)


def _settle(db: Database, board: Board, standings: str, tree: int, child: Child) -> bool:
    """Let readers use a child's node if it counts what its parent does; return whether they may.

    Costs four read units for each counter shard, and a write unit.
    """
    names = [node_name(tree, child.path), node_name(tree, child.node)]
    keys = [
        nodes.node_key(partition, name) for partition in nodes.partitions(board, standings) for name in names
    ]
    try:
        answer = db.client.transact_get_items(
            TransactItems=[{"Get": {"TableName": db.tables.counters, "Key": key}} for key in keys]
        )
    except db.client.exceptions.TransactionCanceledException:
        return False  # they are being written to; try again in the next step
    items = [response["Item"] for response in answer["Responses"] if response.get("Item")]
    merged = nodes.merge_shards(standings, items)
    parent, node = (nodes.counts_of(merged.get(name, {})) for name in names)
    if sum(node.values()) != parent.get(child.number, 0):
        return False
    _set(db, standings, tree, child, nodes.SETTLED, 1)
    return True


def _set(db: Database, standings: str, tree: int, child: Child, kind: str, value: int) -> None:
    db.client.update_item(
        TableName=db.tables.counters,
        Key=nodes.node_key(standings, node_name(tree, child.path)),
        UpdateExpression=f"SET {nodes.attribute(kind, child.number)} = :value",
        ExpressionAttributeValues={":value": {"N": str(value)}},
    )
