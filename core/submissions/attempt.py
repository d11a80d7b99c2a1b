"""One submission on its way into one entry: what to write, decided from the item last seen. Pure."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from core.domain import rank_key
from core.domain.entry_item import (
    NAMED_AT,
    PREVIOUS,
    entry_from_item,
    entry_key,
    is_entry,
    sanitize_item,
    without_foreign_shard,
)
from core.domain.keys import rank_shard, shard_of, standings_key
from core.domain.model import Board, Entry, ScorePolicy
from core.domain.periods import expires_at
from core.domain.policy import Standing, next_standing
from core.entries.write import EntryWrite, Item, new_write_id
from core.records.flags import ModerationFlags, check_not_removed, removed_at
from core.storage.tables import TTL_ATTRIBUTE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

    from core.domain.entry_item import Key

_MAX_SOURCES = 64  # that an entry remembers, ten bytes each
_SOURCE_BYTES = 6
_NUMBER_BYTES = 4
_TIME_BYTES = 8

SourceNumber = tuple[str, int]  # an ordered source, such as an import, and the number of a submission of it


@dataclass(frozen=True, slots=True)
class Decision:
    """What an attempt makes of an entry: its items before and after, empty where there is no entry.

    `write` turns one into the other. An attempt that is not accepted has none, or one of a new name alone.
    """

    before: Item
    after: Item
    write: EntryWrite | None = None
    accepted: bool = False
    duplicate: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """A checked submission to one entry. `write_id` identifies its writes."""

    board: Board
    period: str
    participant_id: str
    score: tuple[int, ...]
    achieved_at: datetime
    texts: Mapping[str, str]
    sequence: SourceNumber | None = None
    write_id: bytes = field(default_factory=new_write_id)

    def write_if_better(self, flags: ModerationFlags, now_ms: int) -> EntryWrite:
        """Return the write of policy BEST, for which nothing is read: DynamoDB compares the rank keys.

        Its condition also fails where an entry is hidden and `flags` do not say so, or the other way round.

        Raises:
            EntryRemoved: the participant was removed after the score was achieved.
        """
        check_not_removed(flags.removed_at, self.achieved_at)
        return self._write(
            Standing(self.score, self.achieved_at),
            "attribute_not_exists(participant) OR (rank_key > :rank_key"
            f" AND {'attribute_not_exists' if flags.hidden else 'attribute_exists'}(rank_shard)"
            " AND (attribute_not_exists(removed_at) OR removed_at < :achieved_at))",
            {},
            hidden=flags.hidden,
            now_ms=now_ms,
        )

    def decide(self, item: Item, flags: ModerationFlags, now_ms: int) -> Decision:
        """Return what the submission makes of `item`, with a write on condition that the item is unchanged.

        A decision not to write is final, so the item must have been read consistently.

        Raises:
            InvalidScore: a sum leaves its component's bounds.
            EntryRemoved: the participant was removed after the score was achieved.
        """
        if self.sequence and _sources(item).get(_source_id(self.sequence), 0) >= self.sequence[1]:
            return Decision(item, item, duplicate=True)
        for removed in (flags.removed_at, removed_at(item)):
            check_not_removed(removed, self.achieved_at)
        entry = self.entry(item)
        previous = _previous(self.board, item)
        standing = next_standing(self.board, entry, self.score, self.achieved_at, previous)
        if standing is None:
            return self._rename(item)
        values: Key = {}
        condition = "attribute_not_exists(participant)"
        if entry is not None:
            condition = "version = :version AND rank_key = :old_key"
            values = {":version": item["version"], ":old_key": item["rank_key"]}
        elif "removed_at" in item:
            condition += " OR (attribute_not_exists(rank_key) AND version = :version)"
            values = {":version": item["version"]}
        hidden = entry.hidden if entry else flags.hidden
        write = self._write(standing, condition, values, hidden=hidden, now_ms=now_ms, before=item)
        return self.decision(write, item)

    def decision(self, write: EntryWrite, before: Item) -> Decision:
        """Return the decision that a write of this attempt carries out on the item `before`."""
        counted_up = {
            name: {"N": str(int(before[name]["N"]) + 1 if name in before else 1)}
            for name in ("version", "submissions")
        }
        return Decision(
            before, {**before, **write.key, **counted_up, **(write.after or {})}, write, accepted=True
        )

    def entry(self, item: Item) -> Entry | None:
        """Return the entry that an item holds, or None for an empty item or a tombstone."""
        return entry_from_item(self.board, self.period, item) if is_entry(item) else None

    def _rename(self, item: Item) -> Decision:
        """Return what a refused score makes of an entry: a new display name comes through."""
        sets = self._name(item)
        if not sets:
            return Decision(item, item)
        if self.sequence:
            sets["sources"] = {"B": _with_sequence(_sources(item), self.sequence)}
        update = {
            "UpdateExpression": f"SET {', '.join(f'{name} = :{name}' for name in sets)} ADD version :one",
            "ConditionExpression": "version = :version",
            "ExpressionAttributeValues": {
                **{f":{name}": value for name, value in sets.items()},
                ":version": item["version"],
                ":one": {"N": "1"},
            },
        }
        key = entry_key(self.board, self.period, self.participant_id)
        sane = sanitize_item(standings_key(self.board.id, self.period, self.board.generation), item)
        after = without_foreign_shard(self.board, sane)
        write = EntryWrite(key, update, before=item, after=after, id=self.write_id)
        version = {"N": str(int(item["version"]["N"]) + 1)}
        return Decision(item, {**item, **sets, "version": version}, write)

    def _name(self, item: Item) -> "Key":
        """Return the attributes of the display name, empty if it is the entry's or older than that."""
        name = self.texts.get("display_name")
        if name is None or name == item.get("display_name", {}).get("S"):
            return {}
        moment = rank_key.microseconds(self.achieved_at)
        if NAMED_AT in item and moment < int(item[NAMED_AT]["N"]):
            return {}
        return {"display_name": {"S": name}, NAMED_AT: {"N": str(moment)}}

    def _write(
        self,
        standing: Standing,
        condition: str,
        values: "Key",
        *,
        hidden: bool,
        now_ms: int,
        before: Item | None = None,
    ) -> EntryWrite:
        board, participant_id = self.board, self.participant_id
        key = rank_key.encode(board, standing.score, standing.achieved_at, participant_id)
        sets: dict[str, AttributeValueTypeDef] = {
            "rank_key": {"B": key},
            "achieved_at": {"N": str(rank_key.microseconds(standing.achieved_at))},
            "written_at": {"N": str(now_ms)},
            **{name: {"S": text} for name, text in self.texts.items()},
        }
        if "display_name" in self.texts:
            sets[NAMED_AT] = {"N": str(rank_key.microseconds(self.achieved_at))}
        expires = expires_at(board, self.period)
        if expires is not None:
            sets[TTL_ATTRIBUTE] = {"N": str(int(expires.timestamp()))}
        if not hidden:
            standings = standings_key(board.id, self.period, board.generation)
            sets["rank_shard"] = {"S": rank_shard(standings, shard_of(board, participant_id))}
        if self.sequence and before is not None:
            sets["sources"] = {"B": _with_sequence(_sources(before), self.sequence)}
        if board.policy is ScorePolicy.SUM and before and is_entry(before):
            sets[PREVIOUS] = {"B": _pack_previous(board, before)}
        expression = f"SET {', '.join(f'{name} = :{name}' for name in sets)}"
        # A tombstone expires; the entry that takes its place must not.
        if before and TTL_ATTRIBUTE in before and TTL_ATTRIBUTE not in sets:
            expression += f" REMOVE {TTL_ATTRIBUTE}"
        update = {
            "UpdateExpression": f"{expression} ADD version :one, submissions :one",
            "ConditionExpression": condition,
            "ExpressionAttributeValues": {
                **{f":{name}": value for name, value in sets.items()},
                ":one": {"N": "1"},
                **values,
            },
        }
        key_of_entry = entry_key(board, self.period, participant_id)
        return EntryWrite(key_of_entry, update, before=before, after=sets, id=self.write_id)


def _pack_previous(board: Board, item: Item) -> bytes:
    """Pack an entry's standing, for the next one to remember: microseconds, then the score's bytes."""
    moment = int(item["achieved_at"]["N"]).to_bytes(_TIME_BYTES, "big", signed=True)
    return moment + bytes(item["rank_key"]["B"])[: rank_key.score_bytes(board)]


def _previous(board: Board, item: Item) -> Standing | None:
    """Return what stood before an entry's last change, if it remembers that."""
    if PREVIOUS not in item:
        return None
    packed = bytes(item[PREVIOUS]["B"])
    achieved_at = rank_key.instant(int.from_bytes(packed[:_TIME_BYTES], "big", signed=True))
    return Standing(rank_key.decode_score(board, packed[_TIME_BYTES:]), achieved_at)


def _sources(item: Item) -> dict[bytes, int]:
    """Return the last number seen of each ordered source, the most recent source last."""
    packed = bytes(item["sources"]["B"]) if "sources" in item else b""
    size = _SOURCE_BYTES + _NUMBER_BYTES
    records = (packed[start : start + size] for start in range(0, len(packed), size))
    return {record[:_SOURCE_BYTES]: int.from_bytes(record[_SOURCE_BYTES:], "big") for record in records}


def _with_sequence(sources: dict[bytes, int], sequence: SourceNumber) -> bytes:
    """Pack the sources with a source's newest number last, leaving out the oldest sources."""
    newest = _source_id(sequence)
    kept = [*((source, last) for source, last in sources.items() if source != newest), (newest, sequence[1])]
    return b"".join(source + last.to_bytes(_NUMBER_BYTES, "big") for source, last in kept[-_MAX_SOURCES:])


def _source_id(sequence: SourceNumber) -> bytes:
    return hashlib.blake2b(sequence[0].encode(), digest_size=_SOURCE_BYTES).digest()
