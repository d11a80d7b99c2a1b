"""Submitting a score. Nothing is read and then blindly written."""

import random
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from core import rank_key
from core.database import Database
from core.entry_writes import Item, write_entry
from core.errors import InvalidInput, Throttled
from core.ids import check_id
from core.items import entry_from_item, entry_key
from core.keys import rank_shard, shard_of, standings_key
from core.model import Board, CounterMode, Entry, ScorePolicy, SubmitResult
from core.nodes import now_ms
from core.periods import ALL_TIME
from core.policy import Standing, next_standing
from core.scores import parse_score
from core.texts import check_display_name, check_metadata

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

# A clock may run a little fast, but a score from the future would hold its place against honest ones.
MAX_CLOCK_SKEW = timedelta(minutes=5)
_MAX_SOURCES = 16  # ordered sources that an entry remembers
_ATTEMPTS = 50
_BASE_DELAY = 0.002  # seconds
_MAX_DELAY = 0.1

Sequenced = tuple[str, int]


def submit_score(
    db: Database,
    board: Board,
    *,
    participant_id: str,
    score: Sequence[str],
    now: datetime,
    achieved_at: datetime | None = None,
    display_name: str | None = None,
    metadata: str | None = None,
    sequence: Sequenced | None = None,
) -> SubmitResult:
    """Submit a score; the board's policy decides what stands afterwards.

    `metadata` is JSON text. A display name or metadata left out stays as it was; with a submission that is
    not accepted nothing changes. `sequence` is (source, number) of an ordered source such as an import: a
    number that the entry has seen from that source changes nothing (SUM and LATEST; BEST needs no such care).

    Raises:
        InvalidScore: naming the component and the rule; nothing is stored.
        InvalidInput: another argument breaks a rule; nothing is stored.
        Throttled: too many writers on this one entry; nothing is stored.

    Costs, for entries under 1 KB: BEST is one conditional UpdateItem: 1 write unit on the table and, if the
    rank key moved, 2 on the index; 1 if refused. SUM and LATEST read first: a read unit more, and a failed
    write of 1 unit for each time that another writer was faster.
    """
    check_id("participantId", participant_id)
    if display_name is not None:
        check_display_name(display_name)
    if metadata is not None:
        check_metadata(metadata)
    achieved_at = check_achieved_at(achieved_at, now)
    texts = {"display_name": display_name, "metadata": metadata}
    offer = _Offer(
        db=db,
        board=board,
        period=ALL_TIME,
        participant_id=participant_id,
        score=parse_score(board.components, score),
        achieved_at=achieved_at,
        texts={name: text for name, text in texts.items() if text is not None},
    )
    if board.policy is ScorePolicy.BEST and board.counter_mode is not CounterMode.TRANSACTIONAL:
        return offer.submit_best()
    return offer.submit_on_version(sequence)


def check_achieved_at(achieved_at: datetime | None, now: datetime) -> datetime:
    """Give the instant that a score counts from: now, or what the caller says unless it lies ahead.

    Raises:
        InvalidInput: the instant has no offset, or lies in the future.
    """
    if achieved_at is None:
        return now.astimezone(UTC)
    if achieved_at.tzinfo is None:
        raise InvalidInput("achievedAt: must have an offset, such as 2026-11-30T12:00:00Z")
    if achieved_at > now + MAX_CLOCK_SKEW:
        raise InvalidInput(f"achievedAt: must not be more than {MAX_CLOCK_SKEW.seconds} s ahead of now")
    try:
        return achieved_at.astimezone(UTC)
    except OverflowError:
        raise InvalidInput("achievedAt: must be from year 1 on, in UTC") from None


@dataclass(frozen=True, slots=True)
class _Offer:
    """One submission to one entry, already checked."""

    db: Database
    board: Board
    period: str
    participant_id: str
    score: tuple[int, ...]
    achieved_at: datetime
    texts: dict[str, str]
    write_id: bytes = field(default_factory=lambda: secrets.token_bytes(8))

    def submit_best(self) -> SubmitResult:
        """Write if the rank key is better, decided by the database in one step."""
        offered = Standing(self.score, self.achieved_at)
        written = self._write(
            offered,
            condition="attribute_not_exists(participant)"
            " OR (rank_key > :rank_key AND attribute_exists(rank_shard))",
            values={},
        )
        entry = self._entry(written.after)
        if not written.accepted and entry and entry.hidden and self._key(offered) < entry.rank_key:
            return self.submit_on_version(None, known=written.after)
        return self._result(written)

    def submit_on_version(self, sequence: Sequenced | None, known: Item | None = None) -> SubmitResult:
        """Read, decide, write if the entry is still what was read; else decide again on what it is now.

        The read is consistent: a refusal is final, and must not come from a state that is gone.
        """
        item = known or self._read()
        for attempt in range(_ATTEMPTS):
            entry = self._entry(item)
            sources = _sources(item)
            if sequence and sources.get(sequence[0], 0) >= sequence[1]:
                return self._result(_Written(item, item, accepted=False), duplicate=True)
            standing = next_standing(self.board, entry, self.score, self.achieved_at)
            if standing is None:
                return self._result(_Written(item, item, accepted=False))
            values: dict[str, AttributeValueTypeDef] = {}
            condition = "attribute_not_exists(participant)"
            if entry is not None:
                condition = "version = :version AND rank_key = :old_key"
                values = {":version": {"N": str(entry.version)}, ":old_key": {"B": entry.rank_key}}
            written = self._write(
                standing,
                condition,
                values,
                known=item,
                hidden=bool(entry and entry.hidden),
                sources=_mark(sources, sequence),
            )
            if written.accepted:
                return self._result(written)
            item = written.after
            time.sleep(random.uniform(0, min(_MAX_DELAY, _BASE_DELAY * 2**attempt)))
        raise Throttled("too many submissions for one participant at once; nothing was stored, try again")

    def _read(self) -> Item:
        answer = self.db.client.get_item(
            TableName=self.db.tables.scores,
            Key=entry_key(self.board, self.period, self.participant_id),
            ConsistentRead=True,
        )
        return answer.get("Item", {})

    def _write(
        self,
        standing: Standing,
        condition: str,
        values: "dict[str, AttributeValueTypeDef]",
        *,
        known: Item | None = None,
        hidden: bool = False,
        sources: "AttributeValueTypeDef | None" = None,
    ) -> "_Written":
        standings = standings_key(self.board.id, self.period, self.board.generation)
        sets: dict[str, AttributeValueTypeDef] = {
            "rank_key": {"B": self._key(standing)},
            "achieved_at": {"N": str(rank_key.microseconds(standing.achieved_at))},
            "written_at": {"N": str(now_ms())},
            "write_id": {"B": self.write_id},
            **{name: {"S": text} for name, text in self.texts.items()},
        }
        if not hidden:
            sets["rank_shard"] = {"S": rank_shard(standings, shard_of(self.board, self.participant_id))}
        if sources is not None:
            sets["sources"] = sources
        key = entry_key(self.board, self.period, self.participant_id)
        before, refused_by = write_entry(
            self.db,
            self.board,
            key,
            {
                "UpdateExpression": f"SET {', '.join(f'{name} = :{name}' for name in sets)}"
                " ADD version :one, submissions :one",
                "ConditionExpression": condition,
                "ExpressionAttributeValues": {
                    **{f":{name}": value for name, value in sets.items()},
                    ":one": {"N": "1"},
                    **values,
                },
            },
            before=known,
            after={name: sets[name] for name in ("rank_key", "rank_shard", "written_at") if name in sets},
        )
        if refused_by is None:
            return _Written(before, {**before, **key, **_counted_up(before), **sets}, accepted=True)
        # An answer may be lost on its way and the client try again: then it is this very write that stands.
        ours = bytes(refused_by.get("write_id", {"B": b""})["B"]) == self.write_id
        return _Written(known or {}, refused_by, accepted=ours)

    def _key(self, standing: Standing) -> bytes:
        return rank_key.encode(self.board, standing.score, standing.achieved_at, self.participant_id)

    def _entry(self, item: Item) -> Entry | None:
        # Before a first write DynamoDB returns nothing, the embedded engine the bare key.
        return entry_from_item(self.board, self.period, item) if "rank_key" in item else None

    def _result(self, written: "_Written", *, duplicate: bool = False) -> SubmitResult:
        entry = self._entry(written.after)
        previous = self._entry(written.before) if written.accepted else entry
        return SubmitResult(
            accepted=written.accepted,
            duplicate=duplicate,
            entries=(entry,) if entry else (),
            previous_score=previous.score if previous else None,
        )


@dataclass(frozen=True, slots=True)
class _Written:
    """An entry's items before and after an attempt to write it, empty where there is none."""

    before: Item
    after: Item
    accepted: bool


def _counted_up(before: Item) -> dict[str, dict[str, str]]:
    return {
        name: {"N": str(int(before[name]["N"]) + 1 if name in before else 1)}
        for name in ("version", "submissions")
    }


def _sources(item: Item) -> dict[str, int]:
    """Read the last number seen of each ordered source, the most recent source last."""
    return {pair["L"][0]["S"]: int(pair["L"][1]["N"]) for pair in item.get("sources", {"L": []})["L"]}


def _mark(sources: dict[str, int], sequence: Sequenced | None) -> "AttributeValueTypeDef | None":
    """Put a source's newest number behind the others, forgetting the oldest sources."""
    if sequence is None:
        return None
    source, number = sequence
    kept = [*((name, last) for name, last in sources.items() if name != source), (source, number)]
    return {"L": [{"L": [{"S": name}, {"N": str(last)}]} for name, last in kept[-_MAX_SOURCES:]]}
