"""The tables, as a laptop and the tests create them; on AWS Terraform does, to the same definition."""

from typing import TYPE_CHECKING

from core.domain.entry_item import PROJECTED
from core.storage.database import Database

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.literals import ScalarAttributeTypeType
    from mypy_boto3_dynamodb.type_defs import (
        AttributeDefinitionTypeDef,
        CreateTableInputTypeDef,
        KeySchemaElementTypeDef,
    )

RANK_INDEX = "by_rank"
BOARD_INDEX = "by_id"
TTL_ATTRIBUTE = "expires_at"


def definitions(db: Database) -> list["CreateTableInputTypeDef"]:
    """Describe every table: keys, indexes, stream."""
    tables = db.tables
    return [
        {
            "TableName": tables.scores,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": _attributes(participant="S", standings="S", rank_shard="S", rank_key="B"),
            "KeySchema": _key("participant", "standings"),
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": RANK_INDEX,
                    "KeySchema": _key("rank_shard", "rank_key"),
                    "Projection": {"ProjectionType": "INCLUDE", "NonKeyAttributes": list(PROJECTED)},
                }
            ],
            "StreamSpecification": {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
        },
        {
            "TableName": tables.counters,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": _attributes(standings="S", node="S"),
            "KeySchema": _key("standings", "node"),
        },
        {
            "TableName": tables.boards,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": _attributes(board="S", listed="S"),
            "KeySchema": _key("board"),
            "GlobalSecondaryIndexes": [
                {
                    "IndexName": BOARD_INDEX,
                    "KeySchema": _key("listed", "board"),
                    "Projection": {"ProjectionType": "ALL"},
                }
            ],
        },
        {
            "TableName": tables.records,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": _attributes(record_set="S", record_id="S"),
            "KeySchema": _key("record_set", "record_id"),
        },
        {
            "TableName": tables.receipts,
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": _attributes(receipt="S"),
            "KeySchema": _key("receipt"),
        },
    ]


def create_tables(db: Database) -> None:
    """Create the tables that are missing; those that exist stay as they are."""
    for definition in definitions(db):
        try:
            db.client.create_table(**definition)
        except db.client.exceptions.ResourceInUseException:
            continue
        db.client.get_waiter("table_exists").wait(
            TableName=definition["TableName"], WaiterConfig={"Delay": 1}
        )
        if definition["TableName"] in expiring(db):
            db.client.update_time_to_live(
                TableName=definition["TableName"],
                TimeToLiveSpecification={"Enabled": True, "AttributeName": TTL_ATTRIBUTE},
            )


def expiring(db: Database) -> set[str]:
    """Name the tables whose items go by themselves, some time after what their `TTL_ATTRIBUTE` says."""
    return {db.tables.scores, db.tables.counters, db.tables.records, db.tables.receipts}


def _attributes(**types: "ScalarAttributeTypeType") -> list["AttributeDefinitionTypeDef"]:
    return [{"AttributeName": name, "AttributeType": kind} for name, kind in types.items()]


def _key(partition: str, sort: str | None = None) -> list["KeySchemaElementTypeDef"]:
    key: list[KeySchemaElementTypeDef] = [{"AttributeName": partition, "KeyType": "HASH"}]
    return [*key, {"AttributeName": sort, "KeyType": "RANGE"}] if sort else key
