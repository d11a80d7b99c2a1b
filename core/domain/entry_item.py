"""Entries as items of the scores table, both ways. Pure.

The rank key is the one copy of the score. A hidden entry keeps it but has no `rank_shard`, so it is in no
index partition and takes no rank.
"""

from typing import TYPE_CHECKING, Any

from core.domain import rank_key
from core.domain.keys import standings_key
from core.domain.model import Board, Entry

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

    Item = Mapping[str, Any]
    Key = dict[str, AttributeValueTypeDef]


def entry_key(board: Board, period: str, participant_id: str) -> "Key":
    """Give the primary key of an entry."""
    return {
        "participant": {"S": participant_id},
        "standings": {"S": standings_key(board.id, period, board.generation)},
    }


def entry_from_item(board: Board, period: str, item: "Item") -> Entry:
    """Read an entry from an item of the table or of the rank index."""
    key = bytes(item["rank_key"]["B"])
    return Entry(
        board=board,
        period=period,
        participant_id=item["participant"]["S"],
        display_name=_text(item, "display_name"),
        score=rank_key.decode_score(board, key),
        achieved_at=rank_key.instant(int(item["achieved_at"]["N"])),
        submissions=int(item["submissions"]["N"]),
        metadata=_text(item, "metadata"),
        hidden="rank_shard" not in item,
        version=int(item["version"]["N"]),
        rank_key=key,
    )


def is_entry(item: "Item") -> bool:
    """Say whether an item is an entry: of a removed one it is left when that was, and nothing else."""
    return "rank_key" in item


def _text(item: "Item", name: str) -> str | None:
    value = item.get(name)
    return None if value is None else str(value["S"])
