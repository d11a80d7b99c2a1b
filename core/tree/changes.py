"""What stream records say, and what they change in derived data. Pure.

Everything is taken from a record's two images alone, so whoever wrote the entry is counted: this code, an
operator in the console, TTL.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from core.domain.errors import InvalidInput
from core.domain.keys import SEPARATOR, split_standings
from core.domain.limits import MAX_DISPLAY_NAME_BYTES, MAX_METADATA_BYTES
from core.domain.model import Board
from core.domain.text import check_id

_TIME = re.compile(r"[0-9]+(\.[0-9]+)?")
_TEXTS = {"display_name": MAX_DISPLAY_NAME_BYTES, "metadata": MAX_METADATA_BYTES}


class MalformedRecord(ValueError):
    """A record that is no change of an entry; it is set aside and never stops the others."""


@dataclass(frozen=True, slots=True)
class Change:
    """One entry's change: its items before and after, None where there was or is none."""

    sequence: int
    at: datetime
    standings: str
    participant: str
    old: Mapping[str, Any] | None
    new: Mapping[str, Any] | None


def read_change(record: Mapping[str, Any]) -> Change:
    """Read a stream record, as GetRecords or a Lambda event gives it.

    Raises:
        MalformedRecord: the record is malformed, or about an item that is no entry.
    """
    try:
        body = record["dynamodb"]
        standings = body["Keys"]["standings"]["S"]
        for part in split_standings(standings):
            check_id("standings", part)
        second = _milliseconds(body["ApproximateCreationDateTime"])
        new = read_entry(standings, body.get("NewImage"))
        change = Change(
            sequence=int(body["SequenceNumber"]),
            # The stream gives the second alone; the entry's own time of writing says when in it.
            at=_moment(min(max(second, written_at(new or {})), second + 999)),
            standings=standings,
            participant=body["Keys"]["participant"]["S"],
            old=read_entry(standings, body.get("OldImage")),
            new=new,
        )
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, InvalidInput) as error:
        raise MalformedRecord(f"not a change of an entry: {error!r}") from error
    if change.old is None and change.new is None and not _was_removed(body):
        raise MalformedRecord("neither image is an entry")
    return change


def written_at(image: Mapping[str, Any]) -> int:
    """Say when an entry's item was last written, in milliseconds since 1970; 0 for one that does not tell."""
    return int(image["written_at"]["N"].partition(".")[0]) if "written_at" in image else 0


def is_ranked(image: Mapping[str, Any] | None) -> bool:
    """Say whether an entry's item takes a rank: it exists and is not hidden."""
    return image is not None and "rank_shard" in image


def without_foreign_shard(board: Board, image: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Take a stranger's entry in a shard that its board has not for a hidden one."""
    if image is None or "rank_shard" not in image:
        return image
    shard = image["rank_shard"]["S"].rpartition(SEPARATOR)[2]
    if int(shard) < board.shards and shard == str(int(shard)):
        return image
    return {name: value for name, value in image.items() if name != "rank_shard"}


def latest(changes: Sequence[Change]) -> dict[str, Change]:
    """Keep each participant's last change, which the order of the records tells."""
    return {change.participant: change for change in changes}


def read_entry(standings: str, image: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Give an entry's item with its rank key as bytes; None for one that is no entry, however it came there.

    What only a stranger can have written is left out, as if it were not there: a shard that is none of this
    order's, a time of writing that is no time, a text that is none or too long.
    """
    if image is None:
        return None
    try:
        rank_key = image["rank_key"]["B"]
        # A Lambda event is JSON and holds binary as base64; boto3 has decoded it.
        raw = base64.b64decode(rank_key, validate=True) if isinstance(rank_key, str) else bytes(rank_key)
        for name in ("achieved_at", "submissions", "version"):
            int(image[name]["N"])
    except (KeyError, TypeError, ValueError):
        return None
    ours = {name: value for name, value in image.items() if _is_ours(standings, name, value)}
    return {**ours, "rank_key": {"B": raw}}


def _is_ours(standings: str, name: str, value: Mapping[str, Any]) -> bool:
    if name == "rank_shard":
        order, _, shard = str(value.get("S", "")).rpartition(SEPARATOR)
        return order == standings and shard.isdecimal()
    if name == "written_at":
        return _TIME.fullmatch(str(value.get("N", ""))) is not None
    most = _TEXTS.get(name)
    return most is None or ("S" in value and len(value["S"].encode()) <= most)


def _was_removed(body: Mapping[str, Any]) -> bool:
    """Say whether a record is about what is left of a removed entry: as when TTL takes it away."""
    return any("removed_at" in (body.get(image) or {}) for image in ("OldImage", "NewImage"))


def _milliseconds(value: datetime | float) -> int:
    return int((value.timestamp() if isinstance(value, datetime) else value) * 1000)


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
