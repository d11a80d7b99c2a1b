"""Stream records as changes of entries. Pure.

A change is taken from a record's two images alone, so every writer's entries are counted: this code's, an
operator's in the console, TTL's deletions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from core.domain.entry_item import Item, sanitize_item, written_at
from core.domain.errors import InvalidInput
from core.domain.keys import split_standings
from core.domain.text import check_id


class MalformedRecord(ValueError):
    """A record that is no change of an entry; it is set aside and never stops the others."""


@dataclass(frozen=True, slots=True)
class Change:
    """One entry's change: its items before and after, None where there was or is none."""

    sequence: int
    at: datetime
    standings: str
    participant: str
    old: Item | None
    new: Item | None

    def with_images(self, old: Item | None, new: Item | None) -> "Change":
        """Return the same change of other images; itself if they are its own, as they nearly always are."""
        return self if old is self.old and new is self.new else replace(self, old=old, new=new)


def read_change(record: Mapping[str, Any]) -> Change:
    """Read a stream record, as GetRecords or a Lambda event delivers it.

    Raises:
        MalformedRecord: the record is malformed, or about an item that is neither an entry nor a tombstone.
    """
    try:
        body = record["dynamodb"]
        standings = body["Keys"]["standings"]["S"]
        for part in split_standings(standings):
            check_id("standings", part)
        second = _milliseconds(body["ApproximateCreationDateTime"])
        new = sanitize_item(standings, body.get("NewImage"))
        change = Change(
            sequence=int(body["SequenceNumber"]),
            # The stream tells only the second; the entry's own time of writing is more precise.
            at=datetime.fromtimestamp(min(max(second, written_at(new or {})), second + 999) / 1000, UTC),
            standings=standings,
            participant=body["Keys"]["participant"]["S"],
            old=sanitize_item(standings, body.get("OldImage")),
            new=new,
        )
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError, InvalidInput) as error:
        raise MalformedRecord(f"not a change of an entry: {error!r}") from error
    if change.old is None and change.new is None and not _concerns_tombstone(body):
        raise MalformedRecord("neither image is an entry")
    return change


def latest(changes: Sequence[Change]) -> dict[str, Change]:
    """Return each participant's last change; `changes` are in the order of their records."""
    return {change.participant: change for change in changes}


def _concerns_tombstone(body: Mapping[str, Any]) -> bool:
    return any("removed_at" in (body.get(image) or {}) for image in ("OldImage", "NewImage"))


def _milliseconds(value: datetime | float) -> int:
    return int((value.timestamp() if isinstance(value, datetime) else value) * 1000)
