"""Changing an entry's texts."""

from typing import TYPE_CHECKING

from core.database import Database
from core.errors import EntryNotFound
from core.ids import check_id
from core.items import entry_from_item, entry_key
from core.model import UNSET, Board, Entry, Unset
from core.periods import ALL_TIME
from core.texts import check_display_name, check_metadata

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef


def update_entry(
    db: Database,
    board: Board,
    participant_id: str,
    *,
    display_name: str | Unset | None = UNSET,
    metadata: str | Unset | None = UNSET,
) -> Entry:
    """Change an entry's display name or metadata (None clears it) and nothing of its score or place.

    Raises:
        EntryNotFound: the participant is not on the board.
        InvalidInput: naming the field and the rule.

    Costs one conditional UpdateItem: 1 write unit on the table, 1 on the index.
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
    try:
        answer = db.client.update_item(
            TableName=db.tables.scores,
            Key=entry_key(board, ALL_TIME, participant_id),
            UpdateExpression=expression,
            ConditionExpression="attribute_exists(rank_key)",
            ExpressionAttributeValues=values,
            ReturnValues="ALL_NEW",
        )
    except db.client.exceptions.ConditionalCheckFailedException:
        raise EntryNotFound(f"participantId: {participant_id!r} is not on this leaderboard") from None
    return entry_from_item(board, ALL_TIME, answer["Attributes"])
