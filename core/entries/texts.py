"""Change an entry's display name and metadata."""

from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from core.domain.entry_item import NAMED_AT, TEXTS, check_texts, entry_from_item, entry_key
from core.domain.errors import EntryNotFound
from core.domain.model import UNSET, Board, Entry, Unset
from core.domain.periods import ALL_TIME, period_key
from core.domain.rank_key import microseconds
from core.domain.text import check_id
from core.storage.database import Database
from core.storage.parallel import run_all

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef


def update_entry(
    db: Database,
    board: Board,
    participant_id: str,
    *,
    now: datetime,
    **texts: str | Unset | None,
) -> Entry:
    """Change an entry's texts, such as `display_name`; None clears one. Score and rank stay.

    Changes the entry of each current period and leaves those of earlier periods. Returns the all-time entry,
    or else the first one that there is.

    Raises:
        EntryNotFound: the participant is on the board in no current period.
        InvalidInput: naming the field and the rule.

    Costs one conditional UpdateItem for each period: 1 write unit on the table, 1 on the index.
    """
    check_id("participantId", participant_id)
    values: dict[str, AttributeValueTypeDef] = {":one": {"N": "1"}}
    check_texts(texts)
    sets, removes = "SET version = version + :one", []
    for name in (text.name for text in TEXTS):
        value = texts.get(name, UNSET)
        if isinstance(value, str):
            sets += f", {name} = :{name}"
            values[f":{name}"] = {"S": value}
        elif value is None:
            removes.append(name)
    if texts.get("display_name", UNSET) is not UNSET:
        sets += f", {NAMED_AT} = :{NAMED_AT}"
        values[f":{NAMED_AT}"] = {"N": str(microseconds(now))}
    expression = f"{sets} REMOVE {', '.join(removes)}" if removes else sets

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
