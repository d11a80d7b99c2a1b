"""The records table, which holds what outlives entries: archives, jobs, audit records, flags, secrets.

    record_set          record_id    what
    <archive id>        rows ...     an archive (core.archives.items)
    ~archives#race#g1   ...          the complete archives of a board
    ~jobs               ...          background work to be done (core.records.jobs)
    ~audit#race         ...          what was done to a board (core.records.audit)
    ~flags#race#g1#3    ...          participants who were hidden or removed (core.records.flags)
    ~periods#race#g1    ...          up to which period's end hooks have been called (core.upkeep.period_ends)

A record set is a partition. The other names begin with `~`, and no archive's id ends as they do.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from core.domain.page_tokens import decode_text, encode_token
from core.storage.database import Database, query_all

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, TransactWriteItemTypeDef

Item = dict[str, Any]


def record_key(record_set: str, record_id: str) -> "dict[str, AttributeValueTypeDef]":
    """Return the key of a record."""
    return {"record_set": {"S": record_set}, "record_id": {"S": record_id}}


def put_record(
    db: Database, record_set: str, record_id: str, **attributes: "AttributeValueTypeDef"
) -> "TransactWriteItemTypeDef":
    """Return the part of a transaction that puts a record."""
    return {
        "Put": {"TableName": db.tables.records, "Item": {**record_key(record_set, record_id), **attributes}}
    }


def read_record(db: Database, record_set: str, record_id: str, *, consistent: bool = False) -> Item | None:
    """Read a record, or None: half a read unit for each 4 KB (consistent: one)."""
    key = record_key(record_set, record_id)
    return db.client.get_item(TableName=db.tables.records, Key=key, ConsistentRead=consistent).get("Item")


def query_records(
    db: Database, record_set: str, *, prefix: str = "", keys_only: bool = False
) -> Iterator[Item]:
    """Yield records whose id starts with `prefix`, in order, consistently: a read unit for each 4 KB."""
    return query_all(
        db,
        TableName=db.tables.records,
        **_condition(record_set, "begins_with(record_id, :id)", prefix),
        ConsistentRead=True,
        **({"ProjectionExpression": "record_set, record_id"} if keys_only else {}),
    )


def newest_page(
    db: Database, record_set: str, listing: str, limit: int, next_token: str | None
) -> tuple[list[Item], str | None]:
    """Read a page of a record set, the last ids first; `listing` names the list that page tokens are for.

    Returns the records and the token of the next page.

    Raises:
        InvalidInput: the token is not one of this list.

    Costs half a read unit for each 4 KB.
    """
    before = "" if next_token is None else decode_text(listing, next_token)
    answer = db.client.query(
        TableName=db.tables.records,
        **_condition(record_set, "record_id < :id", before),
        ScanIndexForward=False,
        Limit=limit,
    )
    items = answer["Items"]
    more = "LastEvaluatedKey" in answer
    return items, encode_token(listing, items[-1]["record_id"]["S"].encode()) if more else None


def _condition(record_set: str, on_id: str, record_id: str) -> dict[str, Any]:
    """Return the key condition of a record set, with `on_id` besides if a `record_id` is given."""
    condition, values = "record_set = :set", {":set": {"S": record_set}}
    if record_id:
        condition += f" AND {on_id}"
        values[":id"] = {"S": record_id}
    return {"KeyConditionExpression": condition, "ExpressionAttributeValues": values}
