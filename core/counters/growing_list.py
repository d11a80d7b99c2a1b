"""The list of standings whose counter tree has a leaf to grow: a partition of the counters table."""

from contextlib import suppress

from core.counters.nodes import node_key, query_nodes
from core.storage.clock import now_ms
from core.storage.database import Database

_GROWING = "~growing"


def mark_growing(db: Database, standings: str) -> None:
    """Put standings on the list: one write unit."""
    db.client.put_item(
        TableName=db.tables.counters,
        Item={**node_key(_GROWING, standings), "marked_at": {"N": str(now_ms())}},
    )


def growing(db: Database) -> dict[str, str]:
    """Return the listed standings, each with when it was marked: half a read unit for each 4 KB."""
    marks = query_nodes(db, _GROWING, "")
    return {item["node"]["S"]: item.get("marked_at", {}).get("N", "0") for item in marks}


def unmark_growing(db: Database, standings: str, marked_at: str) -> None:
    """Take standings off the list unless marked again since `marked_at`: one write unit."""
    with suppress(db.client.exceptions.ConditionalCheckFailedException):
        db.client.delete_item(
            TableName=db.tables.counters,
            Key=node_key(_GROWING, standings),
            ConditionExpression="attribute_not_exists(marked_at) OR marked_at = :marked_at",
            ExpressionAttributeValues={":marked_at": {"N": marked_at}},
        )
