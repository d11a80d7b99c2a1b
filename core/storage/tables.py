"""The tables' definitions, and their creation on a laptop and in tests; on AWS infra/tables.tf does it."""

from typing import TYPE_CHECKING

from core.domain.entry_item import PROJECTED
from core.storage.database import Database

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.literals import ScalarAttributeTypeType
    from mypy_boto3_dynamodb.type_defs import CreateTableInputTypeDef, KeySchemaElementTypeDef

RANK_INDEX = "by_rank"
BOARD_INDEX = "by_id"
DUE_INDEX = "by_due"
TTL_ATTRIBUTE = "expires_at"


def definitions(db: Database) -> list["CreateTableInputTypeDef"]:
    """Return the definition of every table: keys, indexes, stream."""
    tables = db.tables
    return [
        {
            **_table(tables.scores, "participant", "standings", rank_shard="S", rank_key="B"),
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": RANK_INDEX,
                    "KeySchema": _key("rank_shard", "rank_key"),
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(PROJECTED)},
                }
            ],
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        },
        _table(tables.counters, "standings", "node"),
        {
            **_table(tables.boards, "board", listed="S", due_at="N"),
            "GlobalSecondaryIndexes": [
                {"IndexName": name, "KeySchema": _key("listed", key), "Projection": {"ProjectionType": "ALL"}}
                for name, key in [(BOARD_INDEX, "board"), (DUE_INDEX, "due_at")]
            ],
        },
        _table(tables.records, "record_set", "record_id"),
        _table(tables.receipts, "receipt"),
    ]


def create_tables(db: Database) -> None:
    """Create the missing tables; existing ones stay as they are."""
    for definition in definitions(db):
        try:
            db.client.create_table(**definition)
        except db.client.exceptions.ResourceInUseException:
            continue
        db.client.get_waiter("table_exists").wait(
            TableName=definition["TableName"], WaiterConfig={"Delay": 1}
        )
        if definition["TableName"] in tables_with_ttl(db):
            db.client.update_time_to_live(
                TableName=definition["TableName"],
                TimeToLiveSpecification={"Enabled": True, "AttributeName": TTL_ATTRIBUTE},
            )


def tables_with_ttl(db: Database) -> set[str]:
    """Return the names of the tables whose items TTL deletes."""
    return {db.tables.scores, db.tables.counters, db.tables.records, db.tables.receipts}


def _table(name: str, *key: str, **index_keys: "ScalarAttributeTypeType") -> "CreateTableInputTypeDef":
    types: dict[str, ScalarAttributeTypeType] = {**dict.fromkeys(key, "S"), **index_keys}
    return {
        "TableName": name,
        "BillingMode": "PAY_PER_REQUEST",
        "AttributeDefinitions": [
            {"AttributeName": attribute, "AttributeType": kind} for attribute, kind in types.items()
        ],
        "KeySchema": _key(*key),
    }


def _key(partition: str, sort: str | None = None) -> list["KeySchemaElementTypeDef"]:
    key: list[KeySchemaElementTypeDef] = [{"AttributeName": partition, "KeyType": "HASH"}]
    return [*key, {"AttributeName": sort, "KeyType": "RANGE"}] if sort else key
