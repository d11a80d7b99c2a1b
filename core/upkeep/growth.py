"""Growth: a leaf that has filled up gets a node of its own.

    announce: cut the leaf where its entries stand; the new node is born a little later
    rewrite:  once born, touch the entries that were written before, so that the stream counts them in it
    settle:   when the node counts as many entries as its parent does for it, readers may use it

Each step is one conditional write or can be done again, so any process may take over at any point.
"""

import logging
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from core.boards import Boards
from core.counters.known_trees import LEAD, TRUST, Trees
from core.counters.nodes import (
    Item,
    counts_of,
    expiry,
    merge_shards,
    node_key,
    now_ms,
    pack_edges,
    partitions,
    query_nodes,
)
from core.domain.keys import split_standings
from core.domain.model import Board
from core.domain.periods import is_expired
from core.domain.rank_key import just_above, score_bytes, worst_score
from core.storage.database import Database
from core.storage.parallel import run_all
from core.storage.rank_index import read_keys
from core.tree.node import Node, edges_name, node_name, path_of
from core.tree.shape import Path
from core.tree.split import choose_edges
from core.upkeep.rewrites import rewrite

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

GROW_AT = 256  # entries in a leaf
# Entries in a leaf of one score. Its rank is known without looking into it, only positions among the ties are
# not; and a board of few scores and many entries would else have a node to write for each of its scores.
TIES_GROW_AT = 1024
_GROWING = "~growing"

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Twig:
    """A child of a node, and the stretch of the order that it covers."""

    path: Path
    child: int
    low: bytes
    high: bytes | None

    @property
    def node(self) -> Path:
        """The path of the node that grows here."""
        return (*self.path, self.child)


def mark_growing(db: Database, standings: str) -> None:
    """Note that a tree has something to grow: one write unit."""
    db.client.put_item(
        TableName=db.tables.counters,
        Item={**node_key(_GROWING, standings), "marked_at": {"N": str(now_ms())}},
    )


def growing(db: Database) -> dict[str, str]:
    """List the orders that have something to grow, and since when: half a read unit for each 4 KB."""
    notes = query_nodes(db, _GROWING, "")
    return {item["node"]["S"]: item.get("marked_at", {}).get("N", "0") for item in notes}


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
            _unmark(db, standings, marked_at)
    return left


def _unmark(db: Database, standings: str, marked_at: str) -> None:
    with suppress(db.client.exceptions.ConditionalCheckFailedException):  # it has filled up again meanwhile
        db.client.delete_item(
            TableName=db.tables.counters,
            Key=node_key(_GROWING, standings),
            ConditionExpression="attribute_not_exists(marked_at) OR marked_at = :marked_at",
            ExpressionAttributeValues={":marked_at": {"N": marked_at}},
        )


def grow(db: Database, board: Board, standings: str, tree: int | None = None) -> bool:
    """Take an order's tree (the one in use) a step further: announce, rewrite or settle what is due.

    Gives whether steps are left to take. Costs a read of the whole tree, half a unit for each 4 KB; and for a
    leaf that grows, reading its entries from the index and a write unit for each of them.
    """
    if tree is None:
        tree = Trees(db).current(standings)
    known = load_tree(db, board, standings, tree)
    left = False
    for twig, count in twigs(known):
        node, item = known[twig.path]
        if twig.child in node.settled:
            continue
        if twig.child not in node.grown:
            if count > capacity(board, twig.low, twig.high):
                left |= _announce(db, board, standings, tree, twig)
            continue
        born = node.grown[twig.child]
        left = True  # once this settles, there may be more to grow in it
        # Until one sweep is through, equal counts may hide one entry that is missing behind one under way.
        through = f"r{twig.child:02x}" in item
        if now_ms() < born + TRUST or (through and _settle(db, board, standings, tree, twig)):
            continue
        # Again and again, as an entry may have slipped through while the index lagged; but ever less often.
        swept = int(item.get(f"w{twig.child:02x}", {"N": "0"})["N"])
        if not swept or now_ms() > swept + max(2 * LEAD, swept - born):
            _note(db, standings, tree, twig, "w", now_ms())
            rewrite(db, board, standings, twig.low, twig.high, born)
            _note(db, standings, tree, twig, "r", 1)
    return left


def capacity(board: Board, low: bytes, high: bytes | None) -> int:
    """Say how many entries a leaf may hold before it grows."""
    first_score = low[: score_bytes(board)].ljust(score_bytes(board), b"\0")
    end = just_above(worst_score(board)) if high is None else high
    return TIES_GROW_AT if end <= just_above(first_score) else GROW_AT


def load_tree(db: Database, board: Board, standings: str, tree: int) -> dict[Path, tuple[Node, Item]]:
    """Read every node of a tree: half a read unit for each 4 KB of it, in one round trip for each MB."""
    trees = Trees(db)
    queries = [(standings, edges_name(tree, ()))]
    queries += [(partition, node_name(tree, ())) for partition in partitions(board, standings)]
    edges, *parts = run_all([partial(_read_all, db, *query) for query in queries])
    trees.learn_edges(standings, tree, edges)
    found = {}
    for name, item in merge_shards(standings, chain.from_iterable(parts)).items():
        path = path_of(name)
        found[path] = (trees.learn(board, standings, tree, path, item), item)
    if () not in found:
        found[()] = (trees.learn(board, standings, tree, (), {}), {})
    return found


def _read_all(db: Database, partition: str, prefix: str) -> list[Item]:
    return list(query_nodes(db, partition, prefix))


def twigs(known: dict[Path, tuple[Node, Item]]) -> list[tuple[Twig, int]]:
    """List every child of every node in use with its stretch and its count, in the order of the board."""
    found: list[tuple[Twig, int]] = []

    def visit(path: Path, low: bytes, high: bytes | None) -> None:
        node, item = known[path]
        counts = counts_of(item)
        for child in range(len(node.edges) + 1):
            twig = Twig(path, child, *node.bounds(child, low, high))
            found.append((twig, counts.get(child, 0)))
            if child in node.settled and twig.node in known:
                visit(twig.node, twig.low, twig.high)

    visit((), b"", None)
    return found


def _announce(db: Database, board: Board, standings: str, tree: int, twig: Twig) -> bool:
    keys = read_keys(db, board, _period(standings), twig.low, twig.high)
    due = len(keys) > capacity(board, twig.low, twig.high) // 2  # if the index agrees by and large
    edges = choose_edges(keys, score_bytes(board), twig.low, twig.high) if due else ()
    if not edges:
        return False
    born: AttributeValueTypeDef = {"N": str(now_ms() + LEAD)}
    sets: dict[str, AttributeValueTypeDef] = {f"g{twig.child:02x}": born, **expiry(board, standings)}
    with suppress(db.client.exceptions.TransactionCanceledException):  # another process announced it
        db.client.transact_write_items(
            TransactItems=[
                {
                    "Put": {
                        "TableName": db.tables.counters,
                        "Item": {
                            **node_key(standings, edges_name(tree, twig.node)),
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
                        "Key": node_key(standings, node_name(tree, twig.path)),
                        "UpdateExpression": "SET " + ", ".join(f"{one} = :{one}" for one in sets),
                        "ConditionExpression": f"attribute_not_exists(g{twig.child:02x})",
                        "ExpressionAttributeValues": {f":{one}": value for one, value in sets.items()},
                    }
                },
            ]
        )
    return True


def _settle(db: Database, board: Board, standings: str, tree: int, twig: Twig) -> bool:
    """Let readers use a node if it counts what its parent does: four read units a shard, and a write unit."""
    names = [node_name(tree, twig.path), node_name(tree, twig.node)]
    keys = [node_key(one, name) for one in partitions(board, standings) for name in names]
    try:
        answer = db.client.transact_get_items(
            TransactItems=[{"Get": {"TableName": db.tables.counters, "Key": key}} for key in keys]
        )
    except db.client.exceptions.TransactionCanceledException:
        return False  # they are being written to; another time
    items = merge_shards(standings, (one["Item"] for one in answer["Responses"] if one.get("Item")))
    parent, node = (counts_of(items.get(name, {})) for name in names)
    if sum(node.values()) != parent.get(twig.child, 0):
        return False
    _note(db, standings, tree, twig, "s", 1)
    return True


def _note(db: Database, standings: str, tree: int, twig: Twig, kind: str, value: int) -> None:
    db.client.update_item(
        TableName=db.tables.counters,
        Key=node_key(standings, node_name(tree, twig.path)),
        UpdateExpression=f"SET {kind}{twig.child:02x} = :value",
        ExpressionAttributeValues={":value": {"N": str(value)}},
    )


def _period(standings: str) -> str:
    return split_standings(standings)[1]
