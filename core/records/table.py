"""The archives table: what outlives the entries. Its partitions, and how they are read.

An archive is a partition under its id. What begins with `~` is about archives, boards and participants. The
two cannot be mistaken for one another: the last part of an archive's id is no part of the others' names.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from core.domain.pages import decode_token, encode_token
from core.storage.database import Database

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

RESERVED = {"#archive": "archive"}  # a word of DynamoDB's own


def archive_key(archive: str, chunk: str) -> "dict[str, AttributeValueTypeDef]":
    """Give the key of an item of the archives table."""
    return {"archive": {"S": archive}, "chunk": {"S": chunk}}


def query_archive(
    db: Database, archive: str, *, prefix: str = "", after: str = "", keys_only: bool = False
) -> Iterator[dict[str, Any]]:
    """Read a partition's items, in order, as of the last write: a read unit for each 4 KB.

    Those whose chunk starts with `prefix`, or those behind `after`.
    """
    values: dict[str, AttributeValueTypeDef] = {":archive": {"S": archive}}
    condition = "#archive = :archive"
    if prefix or after:
        condition += " AND begins_with(chunk, :chunk)" if prefix else " AND chunk > :chunk"
        values[":chunk"] = {"S": prefix or after}
    start: dict[str, Any] = {"ProjectionExpression": "#archive, chunk"} if keys_only else {}
    while True:
        answer = db.client.query(
            TableName=db.tables.archives,
            KeyConditionExpression=condition,
            ExpressionAttributeNames=RESERVED,
            ExpressionAttributeValues=values,
            ConsistentRead=True,
            **start,
        )
        yield from answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return
        start["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def newest_page(
    db: Database, archive: str, listed_as: str, limit: int, next_token: str | None
) -> tuple[list[dict[str, Any]], str | None]:
    """Read a page of a partition's items, last ones first, and the token of the next page.

    Raises:
        InvalidInput: the token is not of a page of this list.

    Costs half a read unit for each 4 KB.
    """
    values: dict[str, AttributeValueTypeDef] = {":archive": {"S": archive}}
    condition = "#archive = :archive"
    if next_token is not None:
        condition += " AND chunk < :before"
        values[":before"] = {"S": decode_token(listed_as, next_token).decode()}
    answer = db.client.query(
        TableName=db.tables.archives,
        KeyConditionExpression=condition,
        ExpressionAttributeNames=RESERVED,
        ExpressionAttributeValues=values,
        ScanIndexForward=False,
        Limit=limit,
    )
    items = answer["Items"]
    more = "LastEvaluatedKey" in answer
    return items, encode_token(listed_as, items[-1]["chunk"]["S"].encode()) if more else None
