"""What is known of a moderated participant on one board, whatever the period.

An entry says itself that it is hidden, and what is left of a removed one says when it went. The mark says it
for periods in which the participant has no entry yet, and lists who is hidden, whom no index shows.

    archive              chunk   what
    ~marks#race#g1#3     ann     is_hidden, removed_at; 3 is the participant's index shard
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

# For so long a submission from before a removal is known to be one. AWS's queues keep a message for 14 days.
REMEMBERED = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class ModerationFlags:
    """What moderation has done to a participant on a board."""

    hidden: bool = False
    removed_at: datetime | None = None


NO_FLAGS = ModerationFlags()


def read_flags(db: Database, board: Board, participant_ids: Collection[str]) -> dict[str, ModerationFlags]:
    """Read participants' marks, leaving out those who have none: a read unit each."""
    keys = [_key(board, participant_id) for participant_id in participant_ids]
    return {
        item["record_id"]["S"]: ModerationFlags(
            hidden=item.get("is_hidden", {}).get("BOOL", False), removed_at=removed_at(item)
        )
        for item in batch_get(db, db.tables.records, keys, consistent=True)
    }


def flag_hidden(db: Database, board: Board, participant_id: str) -> "TransactWriteItemTypeDef":
    """Describe the write that marks a participant as hidden."""
    return _update(
        db,
        board,
        participant_id,
        f"SET is_hidden = :hidden REMOVE {TTL_ATTRIBUTE}",
        {":hidden": {"BOOL": True}},
    )


def flag_restored(
    db: Database, board: Board, participant_id: str, now: datetime
) -> "TransactWriteItemTypeDef":
    """Describe the write that takes the mark of hiding back."""
    values: dict[str, AttributeValueTypeDef] = {":hidden": {"BOOL": False}, ":expires": expiry(now)}
    return _update(db, board, participant_id, f"SET is_hidden = :hidden, {TTL_ATTRIBUTE} = :expires", values)


def flag_removed(
    db: Database, board: Board, participant_id: str, now: datetime
) -> "TransactWriteItemTypeDef":
    """Describe the write that marks a participant as removed, and hidden no more."""
    return _update(
        db,
        board,
        participant_id,
        f"SET is_hidden = :hidden, removed_at = :at, {TTL_ATTRIBUTE} = :expires",
        {":hidden": {"BOOL": False}, ":at": {"N": str(microseconds(now))}, ":expires": expiry(now)},
    )


def flagged_participants(db: Database, board: Board) -> Iterator[str]:
    """Name the participants with a mark, the hidden ones among them: a read unit for each 4 KB."""
    for shard in range(board.shards):
        for item in query_records(db, flags_partition(board, shard), keys_only=True):
            yield item["record_id"]["S"]


def flags_partition(board: Board, shard: int) -> str:
    """Name one partition of a board's marks."""
    return f"~marks#{board.id}#{board.generation}#{shard}"


def removed_at(item: Mapping[str, Any]) -> datetime | None:
    """Say when a participant was removed, by a mark or by what an entry remembers."""
    return instant(int(item["removed_at"]["N"])) if "removed_at" in item else None


def check_not_removed(removed: datetime | None, achieved_at: datetime) -> None:
    """Refuse a score from before its participant was removed.

    Raises:
        EntryRemoved: saying since when.
    """
    if removed is not None and achieved_at <= removed:
        raise EntryRemoved(
            f"achievedAt: must be after {removed.isoformat()}, when the participant was removed"
        )


def expiry(now: datetime) -> "AttributeValueTypeDef":
    """Say until when a removal is remembered, as TTL takes it."""
    return {"N": str(int((now + REMEMBERED).timestamp()))}


def _update(
    db: Database,
    board: Board,
    participant_id: str,
    expression: str,
    values: "dict[str, AttributeValueTypeDef]",
) -> "TransactWriteItemTypeDef":
    return {
        "Update": {
            "TableName": db.tables.records,
            "Key": _key(board, participant_id),
            "UpdateExpression": expression,
            "ExpressionAttributeValues": values,
        }
    }


def _key(board: Board, participant_id: str) -> "dict[str, AttributeValueTypeDef]":
    return record_key(flags_partition(board, shard_of(board, participant_id)), participant_id)
