"""Rebuild the parents of nested fields from the sources that AppSync passes to their calls.

A source is what the parent's call returned. Boards and participants are rebuilt from their ids. An entry's
source also carries its place in the standings, in a field that is not in the public schema. Without it, each
entry of a page would be read again for its rank.
"""

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import strawberry

from core.boards import Boards
from core.domain.errors import LeaderboardNotFound
from core.domain.model import Board, Place, Rank, RankBucket, RankStrategy
from core.domain.model import Entry as CoreEntry
from core.domain.rank_key import decode_score
from resolvers.observability import traced
from resolvers.request.scalars import parse_date_time
from resolvers.types.archive import Archive
from resolvers.types.board import Leaderboard
from resolvers.types.entry import Entry, Participant

SOURCE_FIELD = "_source"

Source = Mapping[str, Any]


def pack_entry(entry: Entry) -> str:
    """Write what an entry's rank is found by: the board's generation, its key, its place; or a rank then."""
    one = entry.source
    place = one.place
    return json.dumps(
        [
            one.board.generation,
            _text(one.rank_key),
            one.version,
            entry.standing,
            place and [_text(place.anchor), place.steps, place.tie_start, place.tie_end],
            entry.rank_then and _pack_rank(entry.rank_then),
        ],
        separators=(",", ":"),
    )


@dataclass(frozen=True, slots=True)
class Sources:
    """The boards of some calls' sources: by id, and for entries by id and generation."""

    current: Mapping[str, Board]
    by_generation: Mapping[tuple[str, str], Board | None]

    @classmethod
    def read(cls, boards: Boards, calls: Iterable[Mapping[str, Any]]) -> "Sources":
        """Read each board once. Costs half a read unit each, nothing while cached."""
        current, generations = set(), set()
        for call in calls:
            source = call.get("source") or {}
            if call["info"]["parentTypeName"] == "Leaderboard":
                current.add(source["id"])
            elif SOURCE_FIELD in source:
                generations.add((source["leaderboardId"], json.loads(source[SOURCE_FIELD])[0]))
        wanted = current | {board_id for board_id, _ in generations}
        found = traced(boards.get_many, wanted) if wanted else {}
        return cls(
            found,
            {
                (board_id, generation): (
                    found[board_id]
                    if board_id in found and found[board_id].generation == generation
                    else boards.get_generation(board_id, generation)
                )
                for board_id, generation in generations
            },
        )

    def parent(self, type_name: str, call: Mapping[str, Any]) -> object:
        """Return the parent of a call's field; None for a root field.

        Raises:
            LeaderboardNotFound: the board was deleted after the parent's call.
        """
        source: Source = call.get("source") or {}
        match type_name:
            case "Leaderboard":
                return Leaderboard.of(_there(self.current.get(source["id"]), source["id"]))
            case "Participant":
                return Participant(id=strawberry.ID(source["id"]), display_name=source.get("displayName"))
            case "Entry":
                return self._entry(source)
            case "Archive":
                return Archive(
                    id=strawberry.ID(source["id"]),
                    leaderboard_id=strawberry.ID(source["leaderboardId"]),
                    period=source["period"],
                    taken_at=parse_date_time(source["takenAt"]),
                    size=source["size"],
                    complete=source["complete"],
                )
        return None

    def _entry(self, source: Source) -> Entry:
        generation, key, version, standing, place, rank_then = json.loads(source[SOURCE_FIELD])
        board_id = source["leaderboardId"]
        board = _there(self.by_generation[board_id, generation], board_id)
        rank_key = base64.b64decode(key)
        return Entry.of(
            CoreEntry(
                board=board,
                period=source["period"],
                participant_id=source["participant"]["id"],
                display_name=source["participant"].get("displayName"),
                score=decode_score(board, rank_key),
                achieved_at=parse_date_time(source["achievedAt"]),
                submissions=source["submissions"],
                metadata=None,
                hidden=source["hidden"],
                version=version,
                rank_key=rank_key,
                place=place and Place(place[0] and base64.b64decode(place[0]), *place[1:]),
            ),
            standing=standing,
            rank_then=rank_then and _unpack_rank(rank_then),
        )


def _pack_rank(rank: Rank) -> dict[str, Any]:
    """Return an archived rank with its bucket, as the board may have other buckets by now."""
    return asdict(rank) | {"as_of": rank.as_of.isoformat()}


def _unpack_rank(packed: dict[str, Any]) -> Rank:
    parsed = {
        "bucket": RankBucket(**packed["bucket"]),
        "as_of": datetime.fromisoformat(packed["as_of"]),
        "strategy": RankStrategy(packed["strategy"]),
    }
    return Rank(**packed | parsed)


def _there(board: Board | None, board_id: str) -> Board:
    if board is None:
        raise LeaderboardNotFound(f"there is no leaderboard {board_id!r}")
    return board


def _text(value: bytes | None) -> str | None:
    return None if value is None else base64.b64encode(value).decode()
