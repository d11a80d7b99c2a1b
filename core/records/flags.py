"""Moderation flags: what moderation has done to a participant on a board, whatever the period.

Whether an entry is hidden is stored in the entry, and when it was removed in its tombstone. The flags say so
for periods in which the participant has no entry yet, and list the hidden participants, whom no index shows.

    record_set           record_id   what
    ~flags#race#g1#3     ann         is_hidden, removed_at; 3 is the participant's index shard
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from core.domain.errors import EntryRemoved
from core.domain.keys import shard_of
from core.domain.model import Board
from core.domain.rank_key import instant, microseconds
from core.records.table import query_records, record_key
from core.storage.database import Database, batch_get
from core.storage.tables import TTL_ATTRIBUTE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, TransactWriteItemTypeDef

    Values = dict[str, AttributeValueTypeDef]

# How long a removal is remembered, to refuse late retries: longer than SQS can keep a message, 14 days.
REMEMBERED = timedelta(days=30)
SET_REMOVED = f"SET removed_at = :removed_at, {TTL_ATTRIBUTE} = :expires"  # with `removed_values`


@dataclass(frozen=True, slots=True)
class ModerationFlags:
    """What moderation has done to a participant on a board."""

    hidden: bool = False
    removed_at: datetime | None = None


NO_FLAGS = ModerationFlags()


def read_flags(db: Database, board: Board, participant_ids: Collection[str]) -> dict[str, ModerationFlags]:
    """Read the flags of those participants who have any: a read unit for each participant."""
    keys = [_key(board, participant_id) for participant_id in participant_ids]
    return {
        item["record_id"]["S"]: ModerationFlags(
            hidden=item.get("is_hidden", {}).get("BOOL", False), removed_at=removed_at(item)
        )
        for item in batch_get(db, db.tables.records, keys, consistent=True)
    }


def flag_hidden(db: Database, board: Board, participant_id: str) -> "TransactWriteItemTypeDef":
    """Return the write that flags a participant as hidden, until they are restored or removed."""
    expression = f"SET is_hidden = :hidden REMOVE {TTL_ATTRIBUTE}"
    return _update(db, board, participant_id, expression, {":hidden": {"BOOL": True}})


def flag_restored(
    db: Database, board: Board, participant_id: str, now: datetime
) -> "TransactWriteItemTypeDef":
    """Return the write that flags a participant as hidden no more."""
    expression = f"SET is_hidden = :hidden, {TTL_ATTRIBUTE} = :expires"
    values: Values = {":hidden": {"BOOL": False}, ":expires": _expiry(now)}
    return _update(db, board, participant_id, expression, values)


def flag_removed(
    db: Database, board: Board, participant_id: str, now: datetime
) -> "TransactWriteItemTypeDef":
    """Return the write that flags a participant as removed, and as hidden no more."""
    values: Values = {":hidden": {"BOOL": False}, **removed_values(now)}
    return _update(db, board, participant_id, f"{SET_REMOVED}, is_hidden = :hidden", values)


def flagged_participants(db: Database, board: Board) -> Iterator[str]:
    """Yield all participants with flags, hidden, removed or restored: a read unit for each 4 KB."""
    for shard in range(board.shards):
        for item in query_records(db, flags_partition(board, shard), keys_only=True):
            yield item["record_id"]["S"]


def flags_partition(board: Board, shard: int) -> str:
    """Return one of the record sets that hold a board's flags."""
    return f"~flags#{board.id}#{board.generation}#{shard}"


def removed_values(now: datetime) -> "Values":
    """Return the values of `SET_REMOVED` for a removal at `now`."""
    return {":removed_at": {"N": str(microseconds(now))}, ":expires": _expiry(now)}


def removed_at(item: Mapping[str, Any]) -> datetime | None:
    """Return when the participant of flags, an entry or a tombstone was last removed, if ever."""
    return instant(int(item["removed_at"]["N"])) if "removed_at" in item else None


def check_not_removed(removed: datetime | None, achieved_at: datetime) -> None:
    """Check that a score was achieved after its participant was removed.

    Raises:
        EntryRemoved: it was not.
    """
    if removed is not None and achieved_at <= removed:
        raise EntryRemoved(
            f"achievedAt: must be after {removed.isoformat()}, when the participant was removed"
        )


def _expiry(now: datetime) -> "AttributeValueTypeDef":
    return {"N": str(int((now + REMEMBERED).timestamp()))}


def _update(
    db: Database, board: Board, participant_id: str, expression: str, values: "Values"
) -> "TransactWriteItemTypeDef":
    return {
        "Update": {
            "TableName": db.tables.records,
            "Key": _key(board, participant_id),
            "UpdateExpression": expression,
            "ExpressionAttributeValues": values,
        }
    }


def _key(board: Board, participant_id: str) -> "Values":
    return record_key(flags_partition(board, shard_of(board, participant_id)), participant_id)
