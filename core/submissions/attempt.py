"""One submission on its way into one entry. Nothing is read and then blindly written."""

import hashlib
import secrets
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from core.domain import rank_key
from core.domain.entry_item import entry_from_item, entry_key
from core.domain.errors import Throttled
from core.domain.keys import rank_shard, shard_of, standings_key
from core.domain.model import Board, Entry
from core.domain.periods import expires_at
from core.domain.policy import Standing, next_standing
from core.entries.write import EntryWrite, Item, write_entry
from core.records.flags import NO_FLAGS, ModerationFlags, check_not_removed, removed_at
from core.storage.backoff import back_off
from core.storage.clock import now_ms
from core.storage.database import Database
from core.storage.tables import TTL_ATTRIBUTE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

_MAX_SOURCES = 64  # ordered sources that an entry remembers, ten bytes each
_SOURCE_BYTES = 6
_NUMBER_BYTES = 4
ATTEMPTS = 100

Sequenced = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One submission to one entry, already checked: what to write, and when to."""

    db: Database
    board: Board
    period: str
    participant_id: str
    score: tuple[int, ...]
    achieved_at: datetime
    texts: dict[str, str]
    mark: ModerationFlags = NO_FLAGS
    write_id: bytes = field(default_factory=lambda: secrets.token_bytes(8))

    def submit_best(self) -> "Written":
        """Write if the rank key is better, decided by the database in one step.

        The participant must not be marked as hidden.

        Raises:
            EntryRemoved: the participant was removed after the score was achieved.
        """
        check_not_removed(self.mark.removed_at, self.achieved_at)
        offered = Standing(self.score, self.achieved_at)
        write = self._write(
            offered,
            condition="attribute_not_exists(participant)"
            " OR (rank_key > :rank_key AND attribute_exists(rank_shard)"
            " AND (attribute_not_exists(removed_at) OR removed_at < :achieved_at))",
            values={},
        )
        written = self._execute(write)
        if written.accepted:
            return written
        check_not_removed(removed_at(written.after), self.achieved_at)
        entry = self.entry(written.after)
        if entry is None or (entry.hidden and self._key(offered) < entry.rank_key):
            return self.submit_on_version(None, written.after)
        return written

    def submit_on_version(self, sequence: Sequenced | None, known: Item) -> "Written":
        """Decide on what is `known`, write if the entry still is that; else decide again on what it is now.

        What is known must have been read consistently: a refusal is final, and must not come from a state
        that is gone.

        Raises:
            InvalidScore: a sum leaves its component's bounds.
            EntryRemoved: the participant was removed after the score was achieved.
            Throttled: other writers were faster too many times.
        """
        item = known
        for attempt in range(ATTEMPTS):
            step = self.decide(item, sequence)
            if isinstance(step, Written):
                return step
            written = self._execute(step)
            if written.accepted:
                return written
            item = written.after
            back_off(attempt)
        raise Throttled("too many submissions for one participant at once; nothing was stored, try again")

    def decide(self, item: Item, sequence: Sequenced | None) -> "EntryWrite | Written":
        """Give the write that turns an entry from what it is to what it is to be, or why there is none.

        Raises:
            InvalidScore: a sum leaves its component's bounds.
            EntryRemoved: the participant was removed after the score was achieved.
        """
        entry = self.entry(item)
        sources = _sources(item)
        if sequence and sources.get(_source_id(sequence), 0) >= sequence[1]:
            return Written(item, item, accepted=False, duplicate=True)
        for removed in (self.mark.removed_at, removed_at(item)):
            check_not_removed(removed, self.achieved_at)
        standing = next_standing(self.board, entry, self.score, self.achieved_at)
        if standing is None:
            return Written(item, item, accepted=False)
        values: dict[str, AttributeValueTypeDef] = {}
        condition = "attribute_not_exists(participant)"
        if entry is not None:
            condition = "version = :version AND rank_key = :old_key"
            values = {":version": {"N": str(entry.version)}, ":old_key": {"B": entry.rank_key}}
        elif "removed_at" in item:
            condition += " OR (attribute_not_exists(rank_key) AND version = :version)"
            values = {":version": item["version"]}
        return self._write(
            standing,
            condition,
            values,
            known=item,
            hidden=entry.hidden if entry else self.mark.hidden,
            sources=_mark(sources, sequence),
        )

    def done(self, write: EntryWrite, before: Item) -> "Written":
        """Say what a write that was made has left behind."""
        after = {**before, **write.key, **_counted_up(before), **write.after}
        return Written(before, after, accepted=True)

    def is_own(self, item: Item) -> bool:
        """Say whether an entry stands as this very attempt wrote it."""
        return bytes(item.get("write_id", {"B": b""})["B"]) == self.write_id

    def entry(self, item: Item) -> Entry | None:
        """Read an entry from its item, which may be empty."""
        # Before a first write DynamoDB returns nothing, the embedded engine the bare key.
        return entry_from_item(self.board, self.period, item) if "rank_key" in item else None

    def _write(
        self,
        standing: Standing,
        condition: str,
        values: "dict[str, AttributeValueTypeDef]",
        *,
        known: Item | None = None,
        hidden: bool = False,
        sources: "AttributeValueTypeDef | None" = None,
    ) -> EntryWrite:
        standings = standings_key(self.board.id, self.period, self.board.generation)
        sets: dict[str, AttributeValueTypeDef] = {
            "rank_key": {"B": self._key(standing)},
            "achieved_at": {"N": str(rank_key.microseconds(standing.achieved_at))},
            "written_at": {"N": str(now_ms())},
            "write_id": {"B": self.write_id},
            **{name: {"S": text} for name, text in self.texts.items()},
        }
        expires = expires_at(self.board, self.period)
        if expires is not None:
            sets[TTL_ATTRIBUTE] = {"N": str(int(expires.timestamp()))}
        if not hidden:
            sets["rank_shard"] = {"S": rank_shard(standings, shard_of(self.board, self.participant_id))}
        if sources is not None:
            sets["sources"] = sources
        # What is left of a removed entry goes with time; one that stands again stays.
        stays = known is not None and TTL_ATTRIBUTE in known and TTL_ATTRIBUTE not in sets
        change = {
            "UpdateExpression": f"SET {', '.join(f'{name} = :{name}' for name in sets)}"
            + (f" REMOVE {TTL_ATTRIBUTE}" if stays else "")
            + " ADD version :one, submissions :one",
            "ConditionExpression": condition,
            "ExpressionAttributeValues": {
                **{f":{name}": value for name, value in sets.items()},
                ":one": {"N": "1"},
                **values,
            },
        }
        key = entry_key(self.board, self.period, self.participant_id)
        return EntryWrite(key, change, before=known, after=sets)

    def _execute(self, write: EntryWrite) -> "Written":
        before, refused_by = write_entry(
            self.db, self.board, write.key, write.change, before=write.before, after=write.after
        )
        if refused_by is None:
            return self.done(write, before)
        # An answer may be lost on its way and the client try again: then it is this very write that stands.
        return Written(write.before or {}, refused_by, accepted=self.is_own(refused_by))

    def _key(self, standing: Standing) -> bytes:
        return rank_key.encode(self.board, standing.score, standing.achieved_at, self.participant_id)


@dataclass(frozen=True, slots=True)
class Written:
    """An entry's items before and after an attempt to write it, empty where there is none."""

    before: Item
    after: Item
    accepted: bool
    duplicate: bool = False


def _counted_up(before: Item) -> dict[str, dict[str, str]]:
    return {
        name: {"N": str(int(before[name]["N"]) + 1 if name in before else 1)}
        for name in ("version", "submissions")
    }


def _sources(item: Item) -> dict[bytes, int]:
    """Read the last number seen of each ordered source, the most recent source last."""
    packed = bytes(item["sources"]["B"]) if "sources" in item else b""
    size = _SOURCE_BYTES + _NUMBER_BYTES
    records = (packed[at : at + size] for at in range(0, len(packed), size))
    return {record[:_SOURCE_BYTES]: int.from_bytes(record[_SOURCE_BYTES:], "big") for record in records}


def _mark(sources: dict[bytes, int], sequence: Sequenced | None) -> "AttributeValueTypeDef | None":
    """Put a source's newest number behind the others, forgetting the oldest sources."""
    if sequence is None:
        return None
    source, number = _source_id(sequence), sequence[1]
    kept = [*((one, last) for one, last in sources.items() if one != source), (source, number)]
    return {"B": b"".join(one + last.to_bytes(_NUMBER_BYTES, "big") for one, last in kept[-_MAX_SOURCES:])}


def _source_id(sequence: Sequenced) -> bytes:
    return hashlib.blake2b(sequence[0].encode(), digest_size=_SOURCE_BYTES).digest()
