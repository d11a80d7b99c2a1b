"""The directory of some standings: which counter trees they have, and which one readers use.

It is the item `trees` of the counters table. Without that item there is one tree, number 0. During a rebuild
there are two: the one in use, and a new one with a higher number.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from core.counters.nodes import TREES_NODE, Item, expiry, get_node, node_key
from core.domain.model import Board
from core.storage.database import Database


@dataclass(frozen=True, slots=True)
class Directory:
    """The number of the tree in use, the births of all trees (ms since 1970), and the last number given."""

    current: int
    births: Mapping[int, int]
    last: int = 0
    revision: int = 0


def parse_directory(item: Item) -> Directory:
    """Return the directory that a `trees` item holds; an empty item stands for tree 0 alone."""
    if not item:
        return Directory(0, {0: 0})
    births = {int(tree): int(birth["N"]) for tree, birth in item["born"]["M"].items()}
    current, last, revision = (int(item[name]["N"]) for name in ("current", "last", "revision"))
    return Directory(current, births, last, revision)


def read_directory(db: Database, standings: str) -> Directory:
    """Read the directory consistently: a read unit."""
    return parse_directory(get_node(db, standings, TREES_NODE, consistent=True))


def change_directory(
    db: Database, board: Board, standings: str, change: Callable[[Directory], Directory]
) -> Directory:
    """Replace the directory by what `change` makes of it, and return that.

    `change` returns its argument where there is nothing to do, and is called again on the directory as it is
    then if another process has been faster. Costs a read unit and a write unit for each attempt.
    """
    while True:
        old = read_directory(db, standings)
        new = change(old)
        if new is old:
            return new
        with suppress(db.client.exceptions.ConditionalCheckFailedException):
            db.client.put_item(
                TableName=db.tables.counters,
                Item={
                    **node_key(standings, TREES_NODE),
                    **expiry(board, standings),
                    "current": {"N": str(new.current)},
                    "born": {"M": {str(tree): {"N": str(birth)} for tree, birth in new.births.items()}},
                    "last": {"N": str(new.last)},
                    "revision": {"N": str(old.revision + 1)},
                },
                ConditionExpression="attribute_not_exists(node) OR revision = :revision",
                ExpressionAttributeValues={":revision": {"N": str(old.revision)}},
            )
            return new
