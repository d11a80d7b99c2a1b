"""Read all items that the scores table holds of one participant."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from core.domain.keys import SEPARATOR, split_standings
from core.domain.model import Board
from core.storage.database import Database, query_all

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef


def participant_items(db: Database, participant_id: str) -> Iterator[dict[str, Any]]:
    """Read a participant's items on every board, consistently: a read unit for each 4 KB."""
    return _query(db, participant_id, "participant = :participant")


def board_items(db: Database, board: Board, participant_id: str) -> Iterator[dict[str, Any]]:
    """Read a participant's items on one board, in every period, consistently: a read unit for each 4 KB."""
    condition = "participant = :participant AND begins_with(standings, :prefix)"
    for item in _query(db, participant_id, condition, prefix=board.id + SEPARATOR):
        # Another board's id may begin like this one's.
        board_id, _, generation = split_standings(item["standings"]["S"])
        if (board_id, generation) == (board.id, board.generation):
            yield item


def _query(db: Database, participant_id: str, condition: str, **values: str) -> Iterator[dict[str, Any]]:
    named: dict[str, AttributeValueTypeDef] = {f":{name}": {"S": value} for name, value in values.items()}
    return query_all(
        db,
        TableName=db.tables.scores,
        KeyConditionExpression=condition,
        ExpressionAttributeValues={":participant": {"S": participant_id}, **named},
        ConsistentRead=True,
    )
