"""Rebuild the parents of nested fields from the sources that AppSync passes to their calls.

A source is what the parent's call returned. Boards and participants are rebuilt from their ids. An entry's
source also carries its place in the standings, in a field that is not in the public schema. Without it, each
entry of a page would be read again for its rank.
"""

import asyncio
import base64
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

import strawberry

from core.boards import Boards
from core.domain.entry_item import NUMBERS, TEXTS, entry_from_plain, plain_values
from core.domain.errors import LeaderboardNotFound
from core.domain.model import Board, Place, Rank, RankBucket, RankStrategy
from core.domain.text import check_json
from resolvers.observability import traced
from resolvers.request.scalars import parse_date_time
from resolvers.types.archive import Archive
from resolvers.types.board import Leaderboard
from resolvers.types.entry import Entry, Participant

SOURCE_FIELD = "_source"

Source = Mapping[str, Any]


def pack_entry(entry: Entry) -> str:
    """Write what an entry is made from again, but for its texts."""
    one = entry.source
    place = one.place
    return json.dumps(
        [
            one.board.generation,
            _text(one.rank_key),
            plain_values(one, NUMBERS),
            entry.standing,
            place and [_text(place.anchor), place.steps, place.tie_start, place.tie_end],
            entry.rank_then and _pack_rank(entry.rank_then),
        ],
        separators=(",", ":"),
    )


@dataclass(frozen=True, slots=True)
class Sources:
    """What calls' sources hold: packed entries, and boards by id, those of entries by id and generation."""

    current: Mapping[str, Board]
    by_generation: Mapping[tuple[str, str], Board | None]
    unpacked: Mapping[str, Sequence[Any]]

    @classmethod
    async def read(cls, boards: Boards, calls: Iterable[Mapping[str, Any]]) -> "Sources":
        """Read each board once. Costs half a read unit each, nothing while cached."""
        current, generations, unpacked = set(), set(), {}
        for call in calls:
            source = call.get("source") or {}
            if call["info"]["parentTypeName"] == "Leaderboard":
                current.add(source["id"])
            elif SOURCE_FIELD in source:
                packed = source[SOURCE_FIELD]
                unpacked[packed] = json.loads(packed)
                generations.add((source["leaderboardId"], unpacked[packed][0]))
        wanted = current | {board_id for board_id, _ in generations}
        if boards.are_cached(wanted):
            found = traced(boards.get_many, wanted) if wanted else {}
        else:
            found = await asyncio.to_thread(traced, boards.get_many, wanted)
        by_generation: dict[tuple[str, str], Board | None] = {}
        for board_id, generation in generations:
            board = found.get(board_id)
            if board is None or board.generation != generation:
                board = await asyncio.to_thread(boards.get_generation, board_id, generation)
            by_generation[board_id, generation] = board
        return cls(found, by_generation, unpacked)

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
        generation, key, numbers, standing, place, rank_then = self.unpacked[source[SOURCE_FIELD]]
        board_id = source["leaderboardId"]
        return Entry.of(
            entry_from_plain(
                _there(self.by_generation[board_id, generation], board_id),
                source["period"],
                source["participant"]["id"],
                base64.b64decode(key),
                {one.name: number for one, number in zip(NUMBERS, numbers, strict=True)} | _texts(source),
                hidden=source["hidden"],
                place=place and Place(place[0] and base64.b64decode(place[0]), *place[1:]),
            ),
            standing=standing,
            rank_then=rank_then and _unpack_rank(rank_then),
        )


def _texts(source: Source) -> dict[str, str | None]:
    """Read an entry's texts from the fields that show them; JSON, which AppSync parses, is written again."""
    shown = {**source["participant"], **source}
    texts = {one: shown.get(one.public_name) for one in TEXTS}
    return {
        one.name: write_json(text) if one.check is check_json and text is not None else text
        for one, text in texts.items()
    }


def write_json(value: object) -> str:
    """Write JSON that AppSync has parsed."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


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
