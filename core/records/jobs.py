"""What is left to be done in the background, written down in the transaction that asks for it.

Each chore is one item; whoever does it takes it off when it is done, and until then any process may go on.

    archive   chunk                what
    ~chores   archive#<id>         an archive to be taken
    ~chores   delete#race#g1       a board that is gone, with its definition: its entries have to go
    ~chores   forget#<hash>        a participant to be taken out of the archives
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from core.records.table import archive_key, query_archive
from core.storage.database import Database

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, TransactWriteItemTypeDef

CHORES = "~chores"

Item = Mapping[str, Any]


class Chore(StrEnum):
    """What kinds there are."""

    ARCHIVE = "archive"
    DELETE = "delete"
    FORGET = "forget"


def ask(
    db: Database, chore: Chore, name: str, **details: "AttributeValueTypeDef"
) -> "TransactWriteItemTypeDef":
    """Describe the write that asks for a chore."""
    return {"Put": {"TableName": db.tables.archives, "Item": {**chore_key(chore, name), **details}}}


def done(db: Database, chore: Chore, name: str) -> "TransactWriteItemTypeDef":
    """Describe the write that takes a chore off."""
    return {"Delete": {"TableName": db.tables.archives, "Key": chore_key(chore, name)}}


def note(db: Database, chore: Chore, name: str, **details: "AttributeValueTypeDef") -> None:
    """Note how far a chore has come, if it is still there: a write unit a KB."""
    try:
        db.client.update_item(
            TableName=db.tables.archives,
            Key=chore_key(chore, name),
            UpdateExpression="SET " + ", ".join(f"#{detail} = :{detail}" for detail in details),
            ConditionExpression="attribute_exists(chunk)",
            ExpressionAttributeNames={f"#{detail}": detail for detail in details},
            ExpressionAttributeValues={f":{detail}": value for detail, value in details.items()},
        )
    except db.client.exceptions.ConditionalCheckFailedException:
        return  # another process has done it


def left(db: Database, chore: Chore | None = None) -> list[tuple[Chore, str, Item]]:
    """List the chores that are left, of one kind or of all: a read unit for each 4 KB."""
    found: list[tuple[Chore, str, Item]] = []
    for item in query_archive(db, CHORES, prefix=f"{chore}#" if chore else ""):
        kind, _, name = item["chunk"]["S"].partition("#")
        found.append((Chore(kind), name, item))
    return found


def chore_key(chore: Chore, name: str) -> "dict[str, AttributeValueTypeDef]":
    """Give the key of a chore's item."""
    return archive_key(CHORES, f"{chore}#{name}")
