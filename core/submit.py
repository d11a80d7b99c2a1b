"""Writing entries: submit, edit, remove. Nothing here is read and then blindly written."""

import json
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, cast

from core import rank_key
from core.database import Database
from core.errors import EntryNotFound, InvalidInput, Throttled
from core.ids import check_id, check_text
from core.items import entry_from_item, entry_key
from core.keys import rank_shard, shard_of, standings_key
from core.limits import MAX_DISPLAY_NAME_BYTES, MAX_METADATA_BYTES
from core.model import UNSET, Board, Entry, ScorePolicy, SubmitResult, Unset
from core.nodes import now_ms
from core.periods import ALL_TIME
from core.policy import Standing, next_standing
from core.scores import parse_score

if TYPE_CHECKING:
    from botocore.exceptions import ClientError
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
    rank key moved, 2 on the index; 1 if refused. SUM and LATEST read first: half a read unit more, and a
    failed write of 1 unit for each time that another writer was faster.
    """
    check_id("participantId", participant_id)
    if display_name is not None:
        check_text("displayName", display_name, MAX_DISPLAY_NAME_BYTES)
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
    if board.policy is ScorePolicy.BEST:
        return offer.submit_best()
    return offer.submit_on_version(sequence)


def remove_entry(db: Database, board: Board, participant_id: str) -> Entry | None:
    """Take a participant off the board; gives the entry that stood there, or None.

    Costs one DeleteItem: 1 write unit on the table, 1 on the index.
    """
    check_id("participantId", participant_id)
    answer = db.client.delete_item(
        TableName=db.tables.scores, Key=entry_key(board, ALL_TIME, participant_id), ReturnValues="ALL_OLD"
    )
    item = answer.get("Attributes")
    return entry_from_item(board, ALL_TIME, item) if item else None


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
        check_text("displayName", display_name, MAX_DISPLAY_NAME_BYTES)
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
            ConditionExpression="attribute_exists(participant)",
            ExpressionAttributeValues=values,
            ReturnValues="ALL_NEW",
        )
    except db.client.exceptions.ConditionalCheckFailedException:
        raise EntryNotFound(f"participantId: {participant_id!r} is not on this leaderboard") from None
    return entry_from_item(board, ALL_TIME, answer["Attributes"])


def check_metadata(text: str) -> None:
    """Refuse metadata that is not JSON, or is too long.

    Raises:
        InvalidInput: naming the rule.
    """
    try:
        size = len(text.encode())
        json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InvalidInput("metadata: must be valid JSON text") from None
    if size > MAX_METADATA_BYTES:
        raise InvalidInput(f"metadata: must be at most {MAX_METADATA_BYTES} bytes, not {size}")


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
    return achieved_at.astimezone(UTC)


def _no_constant(name: str) -> None:
    raise ValueError(name)


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

    def submit_best(self) -> SubmitResult:
        """Write if the rank key is better, decided by the database in one step."""
        key = rank_key.encode(self.board, self.score, self.achieved_at, self.participant_id)
        before, refused_by = self._write(
            Standing(self.score, self.achieved_at),
            condition="attribute_not_exists(participant)"
            " OR (rank_key > :rank_key AND attribute_exists(rank_shard))",
            values={},
        )
        if refused_by is None:
            return self._accepted(before, Standing(self.score, self.achieved_at))
        standing = self._entry(refused_by)
        if standing is not None and standing.hidden and key < standing.rank_key:
            return self.submit_on_version(None, known=refused_by)
        return self._kept(standing)

    def submit_on_version(
        self, sequence: Sequenced | None, known: "dict[str, Any] | None" = None
    ) -> SubmitResult:
        """Read, decide, write if the entry is still what was read; else decide again on what it is now.

        A stale read is harmless: what it would accept fails on the version and brings the newest state, and
        what it keeps or has seen before, a newer state keeps and has seen too.
        """
        item = known or self._read()
        for attempt in range(_ATTEMPTS):
            entry = self._entry(item)
            sources = _sources(item)
            if sequence and sources.get(sequence[0], 0) >= sequence[1]:
                return SubmitResult(
                    accepted=False,
                    duplicate=True,
                    entries=(entry,) if entry else (),
                    previous_score=entry.score if entry else None,
                )
            standing = next_standing(self.board, entry, self.score, self.achieved_at)
            if standing is None:
                return self._kept(entry)
            values: dict[str, AttributeValueTypeDef] = {}
            condition = "attribute_not_exists(participant)"
            if entry is not None:
                condition = "version = :version AND rank_key = :old_key"
                values = {":version": {"N": str(entry.version)}, ":old_key": {"B": entry.rank_key}}
            before, refused_by = self._write(
                standing,
                condition,
                values,
                hidden=bool(entry and entry.hidden),
                sources=_mark(sources, sequence),
            )
            if refused_by is None:
                return self._accepted(before, standing)
            item = refused_by
            time.sleep(random.uniform(0, min(_MAX_DELAY, _BASE_DELAY * 2**attempt)))
        raise Throttled("too many submissions for one participant at once; nothing was stored, try again")

    def _read(self) -> "dict[str, Any]":
        answer = self.db.client.get_item(
            TableName=self.db.tables.scores, Key=entry_key(self.board, self.period, self.participant_id)
        )
        return dict(answer.get("Item", {}))

    def _write(
        self,
        standing: Standing,
        condition: str,
        values: "dict[str, AttributeValueTypeDef]",
        *,
        hidden: bool = False,
        sources: "AttributeValueTypeDef | None" = None,
    ) -> "tuple[dict[str, Any], dict[str, Any] | None]":
        """Write under a condition: what stood before and, if refused, what stands now (empty: nothing)."""
        standings = standings_key(self.board.id, self.period, self.board.generation)
        key = rank_key.encode(self.board, standing.score, standing.achieved_at, self.participant_id)
        sets: dict[str, AttributeValueTypeDef] = {
            "rank_key": {"B": key},
            "written_at": {"N": str(now_ms())},
            "achieved_at": {"N": str(rank_key.microseconds(standing.achieved_at))},
            **{name: {"S": text} for name, text in self.texts.items()},
        }
        if not hidden:
            sets["rank_shard"] = {"S": rank_shard(standings, shard_of(self.board, self.participant_id))}
        if sources is not None:
            sets["sources"] = sources
        assignments = ", ".join(f"{name} = :{name}" for name in sets)
        try:
            answer = self.db.client.update_item(
                TableName=self.db.tables.scores,
                Key=entry_key(self.board, self.period, self.participant_id),
                UpdateExpression=f"SET {assignments} ADD version :one, submissions :one",
                ConditionExpression=condition,
                ExpressionAttributeValues={
                    **{f":{name}": value for name, value in sets.items()},
                    ":one": {"N": "1"},
                    **values,
                },
                ReturnValues="ALL_OLD",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except self.db.client.exceptions.ConditionalCheckFailedException as error:
            return {}, _returned(error)
        return dict(answer.get("Attributes", {})), None

    def _entry(self, item: "dict[str, Any]") -> Entry | None:
        # Before a first write DynamoDB returns nothing, the embedded engine the bare key.
        return entry_from_item(self.board, self.period, item) if "rank_key" in item else None

    def _accepted(self, before: "dict[str, Any]", standing: Standing) -> SubmitResult:
        previous = self._entry(before)
        key = rank_key.encode(self.board, standing.score, standing.achieved_at, self.participant_id)
        if previous is None:
            entry = Entry(
                board=self.board,
                period=self.period,
                participant_id=self.participant_id,
                display_name=self.texts.get("display_name"),
                score=standing.score,
                achieved_at=standing.achieved_at,
                submissions=1,
                metadata=self.texts.get("metadata"),
                hidden=False,
                version=1,
                rank_key=key,
            )
        else:
            entry = replace(
                previous,
                score=standing.score,
                achieved_at=standing.achieved_at,
                rank_key=key,
                submissions=previous.submissions + 1,
                version=previous.version + 1,
                **self.texts,  # type: ignore[arg-type]
            )
        return SubmitResult(
            accepted=True,
            duplicate=False,
            entries=(entry,),
            previous_score=previous.score if previous else None,
        )

    def _kept(self, entry: Entry | None) -> SubmitResult:
        return SubmitResult(
            accepted=False,
            duplicate=False,
            entries=(entry,) if entry else (),
            previous_score=entry.score if entry else None,
        )


def _returned(error: "ClientError") -> "dict[str, Any]":
    """Give the item that failed a condition, empty where there is none."""
    return dict(cast("dict[str, Any]", error.response).get("Item", {}))


def _sources(item: "dict[str, Any]") -> dict[str, int]:
    """Read the last number seen of each ordered source, the most recent source last."""
    return {pair["L"][0]["S"]: int(pair["L"][1]["N"]) for pair in item.get("sources", {"L": []})["L"]}


def _mark(sources: dict[str, int], sequence: Sequenced | None) -> "AttributeValueTypeDef | None":
    """Put a source's newest number behind the others, forgetting the oldest sources."""
    if sequence is None:
        return None
    source, number = sequence
    kept = [*((name, last) for name, last in sources.items() if name != source), (source, number)]
    return {"L": [{"L": [{"S": name}, {"N": str(last)}]} for name, last in kept[-_MAX_SOURCES:]]}
