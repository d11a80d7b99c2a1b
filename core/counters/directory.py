"""Which counter trees some standings have: the one that readers use, and one that is being built beside it.

The directory is the item `trees`. Without one there is a single tree, number 0.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from core.counters.nodes import TREES_NODE, Item, expiry, get_node, node_key
from core.domain.model import Board
from core.storage.database import Database


@dataclass(frozen=True, slots=True)
class Directory:
    """The trees by number: the one in use, the births of all (ms since 1970), the last number given."""

    current: int
    born: Mapping[int, int]
    last: int = 0
    revision: int = 0


def parse_directory(item: Item) -> Directory:
    """Return what a `trees` item says; it may be empty."""
    if not item:
        return Directory(0, {0: 0})
    born = {int(tree): int(when["N"]) for tree, when in item["born"]["M"].items()}
    current, last, revision = (int(item[name]["N"]) for name in ("current", "last", "revision"))
    return Directory(current, born, last, revision)


def read_directory(db: Database, standings: str) -> Directory:
    """Read the directory consistently: a read unit."""
    return parse_directory(get_node(db, standings, TREES_NODE, consistent=True))


def replace_directory(db: Database, board: Board, standings: str, old: Directory, new: Directory) -> bool:
    """Write a directory unless another process has since `old` was read; return whether it was written.

    Costs a write unit.
    """
    item = {
        **node_key(standings, TREES_NODE),
        **expiry(board, standings),
        "current": {"N": str(new.current)},
        "born": {"M": {str(tree): {"N": str(when)} for tree, when in new.born.items()}},
        "last": {"N": str(new.last)},
        "revision": {"N": str(old.revision + 1)},
    }
    try:
        db.client.put_item(
            TableName=db.tables.counters,
            Item=item,
            ConditionExpression="attribute_not_exists(node) OR revision = :revision",
            ExpressionAttributeValues={":revision": {"N": str(old.revision)}},
        )
    except db.client.exceptions.ConditionalCheckFailedException:
        return False
    return True
