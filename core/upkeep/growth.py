"""Growth: a leaf that has filled up gets a node of its own.

    announce: cut the leaf where its entries stand; the new node is born a little later
    rewrite:  once born, touch the entries that were written before, so that the stream counts them in it
    settle:   when the node counts as many entries as its parent does for it, readers may use it

Each step is one conditional write or can be done again, so any process may take over at any point.
"""

import logging
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from core.boards import Boards
from core.counters.growing import growing, unmark_growing
from core.counters.known_trees import LEAD, TRUST, Trees
from core.counters.nodes import (
    counts_of,
    expiry,
    merge_shards,
    node_key,
    pack_edges,
    partitions,
)
from core.counters.whole_tree import Child, children, load_tree
from core.domain.keys import split_standings
from core.domain.model import Board
from core.domain.periods import is_expired
from core.domain.rank_key import score_bytes
from core.storage.clock import now_ms
from core.storage.database import Database
from core.storage.rank_index import read_keys
from core.tree.node import edges_name, node_name
from core.tree.shape import capacity
from core.tree.split import choose_edges
from core.upkeep.rewrites import rewrite

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef


_log = logging.getLogger(__name__)


def grow_all(db: Database, boards: Boards) -> int:
    """Take every noted tree one step further; gives how many still have steps to go.

    A tree that cannot be grown stops no other, and is tried again. Costs half a read unit for each 4 KB of
    notes, and what `grow` does.
    """
    left = 0
    for standings, marked_at in growing(db).items():
        try:
            board_id, period, generation = split_standings(standings)
            board = boards.get_generation(board_id, generation)
            lives = board is not None and not is_expired(board, period, datetime.now(UTC))
            more = board is not None and lives and grow(db, board, standings)
        except Exception:
            _log.exception("the counter tree of %s could not grow, trying again", standings)
            more = True
        if more:
            left += 1
        else:
            unmark_growing(db, standings, marked_at)
    return left


def grow(db: Database, board: Board, standings: str, tree: int | None = None) -> bool:
    """Take an order's tree (the one in use) a step further: announce, rewrite or settle what is due.

    Gives whether steps are left to take. Costs a read of the whole tree, half a unit for each 4 KB; and for a
    leaf that grows, reading its entries from the index and a write unit for each of them.
    """
    if tree is None:
        tree = Trees(db).current(standings)
    known = load_tree(db, board, standings, tree)
    left = False
    for leaf, count in children(known):
        node, item = known[leaf.path]
        if leaf.number in node.settled:
            continue
        if leaf.number not in node.grown:
            if count > capacity(board, leaf.low, leaf.high):
                left |= _announce(db, board, standings, tree, leaf)
            continue
        born = node.grown[leaf.number]
        left = True  # once this settles, there may be more to grow in it
        # Until one sweep is through, equal counts may hide one entry that is missing behind one under way.
        through = f"r{leaf.number:02x}" in item
        if now_ms() < born + TRUST or (through and _settle(db, board, standings, tree, leaf)):
            continue
        # Again and again, as an entry may have slipped through while the index lagged; but ever less often.
        swept = int(item.get(f"w{leaf.number:02x}", {"N": "0"})["N"])
        if not swept or now_ms() > swept + max(2 * LEAD, swept - born):
            _note(db, standings, tree, leaf, "w", now_ms())
            rewrite(db, board, standings, leaf.low, leaf.high, born)
            _note(db, standings, tree, leaf, "r", 1)
    return left


def _announce(db: Database, board: Board, standings: str, tree: int, leaf: Child) -> bool:
    keys = read_keys(db, board, _period(standings), leaf.low, leaf.high)
    due = len(keys) > capacity(board, leaf.low, leaf.high) // 2  # if the index agrees by and large
    edges = choose_edges(keys, score_bytes(board), leaf.low, leaf.high) if due else ()
    if not edges:
        return False
    born: AttributeValueTypeDef = {"N": str(now_ms() + LEAD)}
    sets: dict[str, AttributeValueTypeDef] = {f"g{leaf.number:02x}": born, **expiry(board, standings)}
    with suppress(db.client.exceptions.TransactionCanceledException):  # another process announced it
        db.client.transact_write_items(
            TransactItems=[
                {
                    "Put": {
                        "TableName": db.tables.counters,
                        "Item": {
                            **node_key(standings, edges_name(tree, leaf.node)),
                            **expiry(board, standings),
                            "edges": {"B": pack_edges(edges)},
                            "born": born,
                        },
                        "ConditionExpression": "attribute_not_exists(node)",
                    }
                },
                {
                    "Update": {
                        "TableName": db.tables.counters,
                        "Key": node_key(standings, node_name(tree, leaf.path)),
                        "UpdateExpression": "SET " + ", ".join(f"{one} = :{one}" for one in sets),
                        "ConditionExpression": f"attribute_not_exists(g{leaf.number:02x})",
                        "ExpressionAttributeValues": {f":{one}": value for one, value in sets.items()},
                    }
                },
            ]
        )
    return True


def _settle(db: Database, board: Board, standings: str, tree: int, leaf: Child) -> bool:
    """Let readers use a node if it counts what its parent does: four read units a shard, and a write unit."""
    names = [node_name(tree, leaf.path), node_name(tree, leaf.node)]
    keys = [node_key(one, name) for one in partitions(board, standings) for name in names]
    try:
        answer = db.client.transact_get_items(
            TransactItems=[{"Get": {"TableName": db.tables.counters, "Key": key}} for key in keys]
        )
    except db.client.exceptions.TransactionCanceledException:
        return False  # they are being written to; another time
    items = merge_shards(standings, (one["Item"] for one in answer["Responses"] if one.get("Item")))
    parent, node = (counts_of(items.get(name, {})) for name in names)
    if sum(node.values()) != parent.get(leaf.number, 0):
        return False
    _note(db, standings, tree, leaf, "s", 1)
    return True


def _note(db: Database, standings: str, tree: int, leaf: Child, kind: str, value: int) -> None:
    db.client.update_item(
        TableName=db.tables.counters,
        Key=node_key(standings, node_name(tree, leaf.path)),
        UpdateExpression=f"SET {kind}{leaf.number:02x} = :value",
        ExpressionAttributeValues={":value": {"N": str(value)}},
    )


def _period(standings: str) -> str:
    return split_standings(standings)[1]
