"""Changing an entry without a score: its texts, or taking it off the board."""

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from core.database import Database
from core.entry_writes import write_entry
from core.errors import EntryNotFound, Throttled
from core.ids import check_id
from core.items import entry_from_item, entry_key
from core.model import UNSET, Board, CounterMode, Entry, Unset
from core.parallel import run_all
from core.periods import ALL_TIME, period_key
from core.texts import check_display_name, check_metadata

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

_ATTEMPTS = 20


def remove_entry(db: Database, board: Board, participant_id: str) -> Entry | None:
    """Take a participant off the board; gives the entry that stood there, or None.

    Costs one DeleteItem: 1 write unit on the table, 1 on the index, and what `core.entry_writes` says.
    """
    check_id("participantId", participant_id)
    key = entry_key(board, ALL_TIME, participant_id)
    if board.counter_mode is not CounterMode.TRANSACTIONAL:
        item, _ = write_entry(db, board, key, {}, before=None, after=None)
        return entry_from_item(board, ALL_TIME, item) if "rank_key" in item else None
    before: Any = db.client.get_item(TableName=db.tables.scores, Key=key, ConsistentRead=True).get("Item", {})
    for _ in range(_ATTEMPTS):
        if not before:
            return None
        item, refused_by = write_entry(db, board, key, {}, before=before, after=None)
        if refused_by is None:
            return entry_from_item(board, ALL_TIME, before)
        before = refused_by
    raise Throttled("too many submissions for one participant at once; nothing was removed, try again")


def update_entry(
    db: Database,
    board: Board,
    participant_id: str,
    *,
    now: datetime,
    display_name: str | Unset | None = UNSET,
    metadata: str | Unset | None = UNSET,
) -> Entry:
    """Change a participant's display name or metadata (None clears it) and nothing of score or place.

    Changes the entry of each current period; those of earlier periods stay as they were. Gives the all-time
    one, or the first there is.

    Raises:
        EntryNotFound: the participant is on the board in no current period.
        InvalidInput: naming the field and the rule.

    Costs one conditional UpdateItem for each period: 1 write unit on the table, 1 on the index.
    """
    check_id("participantId", participant_id)
    sets = ["version = version + :one"]
    removes = []
    values: dict[str, AttributeValueTypeDef] = {":one": {"N": "1"}}
    if isinstance(display_name, str):
        check_display_name(display_name)
    if isinstance(metadata, str):
        check_metadata(metadata)
    for name, value in (("display_name", display_name), ("metadata", metadata)):
        if isinstance(value, str):
            sets.append(f"{name} = :{name}")
            values[f":{name}"] = {"S": value}
        elif value is None:
            removes.append(name)
    expression = f"SET {', '.join(sets)}" + (f" REMOVE {', '.join(removes)}" if removes else "")

    def edit(period: str) -> Entry | None:
        try:
            answer = db.client.update_item(
                TableName=db.tables.scores,
                Key=entry_key(board, period, participant_id),
                UpdateExpression=expression,
                ConditionExpression="attribute_exists(rank_key)",
                ExpressionAttributeValues=values,
                ReturnValues="ALL_NEW",
            )
        except db.client.exceptions.ConditionalCheckFailedException:
            return None
        return entry_from_item(board, period, answer["Attributes"])

    periods = [period_key(board, kind, now) for kind in board.periods]
    edited = [entry for entry in run_all([partial(edit, period) for period in periods]) if entry]
    if not edited:
        raise EntryNotFound(f"participantId: {participant_id!r} is not on this leaderboard")
    return min(edited, key=lambda entry: entry.period != ALL_TIME)
