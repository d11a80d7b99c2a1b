"""Derived data of one order: its size and its top. All of it follows from the entries and can be made anew.

Each item carries its own guard: per stream shard, the sequence number up to which that shard's records are
in it. An item changes only on condition that the guard has not moved, in the same write that moves it; so
redelivered, re-split and raced batches, and a death between two items, count every record once.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from core.database import Database
from core.deltas import Change, is_ranked, latest, size_delta
from core.index import read_run
from core.keys import split_standings
from core.model import Board

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

SIZE_NODE = "size"
TOP_NODE = "top"
TOP_KEPT = 26  # the top 25, and one more to see whether a tie goes on

_GUARD = "counted_"
_ENTRY_ATTRIBUTES = (
    "participant",
    "rank_key",
    "rank_shard",
    "achieved_at",
    "submissions",
    "version",
    "display_name",
    "metadata",
)


@dataclass(frozen=True, slots=True)
class Top:
    """The best entries as items, best first; `whole` where the board holds no others."""

    items: list[dict[str, Any]]
    whole: bool


def read_size(db: Database, standings: str) -> int:
    """Read the number of ranked entries: half a read unit."""
    item = _read(db, standings, SIZE_NODE)
    return int(item["ranked"]["N"]) if item else 0


def read_top(db: Database, standings: str) -> Top | None:
    """Read the materialised top, None before the first count: half a read unit for each 4 KB."""
    item = _read(db, standings, TOP_NODE)
    return _top(item) if item else None


def count_size(db: Database, shard_id: str, standings: str, changes: Sequence[Change]) -> None:
    """Add to a size what is not in it yet of one stream shard's changes: one write unit, none if it stays."""
    guard = _guard(shard_id)
    while True:
        delta = size_delta(changes)
        if delta == 0:
            return
        try:
            db.client.update_item(
                TableName=db.tables.counters,
                Key=_key(standings, SIZE_NODE),
                UpdateExpression="SET #guard = :last ADD ranked :delta",
                ConditionExpression="attribute_not_exists(#guard) OR #guard < :first",
                ExpressionAttributeNames={"#guard": guard},
                ExpressionAttributeValues={
                    ":first": {"N": str(changes[0].sequence)},
                    ":last": {"N": str(changes[-1].sequence)},
                    ":delta": {"N": str(delta)},
                },
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except db.client.exceptions.ConditionalCheckFailedException as error:
            changes = _not_counted(changes, cast("dict[str, Any]", error.response).get("Item", {}), guard)
            continue
        return


def follow_top(db: Database, shard_id: str, board: Board, standings: str, changes: Sequence[Change]) -> None:
    """Bring a materialised top up to one stream shard's changes.

    Reads the top (a unit for each 4 KB) and writes it (a unit a KB) if it changes. Only when entries leave a
    board's top and those behind it are unknown is the rank index read.
    """
    guard = _guard(shard_id)
    _, period, _ = split_standings(standings)
    while True:
        item = _read(db, standings, TOP_NODE, consistent=True)
        changes = _not_counted(changes, item, guard)
        if not changes:
            return
        known = _top(item) if item else Top([], whole=False)
        top = _merge(known, latest(changes))
        if not top.whole and len(top.items) < TOP_KEPT:
            found = read_run(db, board, period, TOP_KEPT)
            # The index lags behind the stream at times: the later version of an entry counts.
            top = _merge(Top(_newest(known.items, found), whole=len(found) < TOP_KEPT), latest(changes))
        if item and top == known:
            return
        try:
            db.client.put_item(
                TableName=db.tables.counters,
                Item={
                    **{name: value for name, value in item.items() if name.startswith(_GUARD)},
                    **_key(standings, TOP_NODE),
                    guard: {"N": str(changes[-1].sequence)},
                    "revision": {"N": str(int(item.get("revision", {"N": "0"})["N"]) + 1)},
                    "whole": {"BOOL": top.whole},
                    "entries": {"L": [{"M": one} for one in top.items]},
                },
                ConditionExpression="attribute_not_exists(revision) OR revision = :revision",
                ExpressionAttributeValues={":revision": item.get("revision", {"N": "0"})},
            )
        except db.client.exceptions.ConditionalCheckFailedException:
            continue  # another stream shard's consumer was faster: again, on what it left
        return


def _guard(shard_id: str) -> str:
    return _GUARD + hashlib.blake2b(shard_id.encode(), digest_size=6).hexdigest()


def _not_counted(changes: Sequence[Change], item: dict[str, Any], guard: str) -> list[Change]:
    counted = int(item[guard]["N"]) if guard in item else -1
    return [change for change in changes if change.sequence > counted]


def _merge(known: Top, changed: dict[str, Change]) -> Top:
    """Put changed entries where they belong now. Behind the last known entry only a whole top is known."""
    items = [one for one in known.items if one["participant"]["S"] not in changed]
    for change in changed.values():
        new = change.new
        if new is not None and is_ranked(new):
            inside = known.whole or (known.items and _rank_key(new) <= _rank_key(known.items[-1]))
            if inside:
                items.append({name: new[name] for name in _ENTRY_ATTRIBUTES if name in new})
    items.sort(key=_rank_key)
    return Top(items[:TOP_KEPT], whole=known.whole and len(items) <= TOP_KEPT)


def _newest(known: Sequence[dict[str, Any]], found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    versions = {one["participant"]["S"]: one for one in known}
    newest = []
    for one in found:
        other = versions.get(one["participant"]["S"], one)
        best = max(one, other, key=lambda item: int(item["version"]["N"]))
        newest.append({name: best[name] for name in _ENTRY_ATTRIBUTES if name in best})
    return sorted(newest, key=_rank_key)


def _rank_key(item: Mapping[str, Any]) -> bytes:
    return bytes(item["rank_key"]["B"])


def _top(item: dict[str, Any]) -> Top:
    return Top([one["M"] for one in item["entries"]["L"]], whole=item["whole"]["BOOL"])


def _read(db: Database, standings: str, node: str, *, consistent: bool = False) -> dict[str, Any]:
    answer = db.client.get_item(
        TableName=db.tables.counters, Key=_key(standings, node), ConsistentRead=consistent
    )
    return dict(answer.get("Item", {}))


def _key(standings: str, node: str) -> "dict[str, AttributeValueTypeDef]":
    return {"standings": {"S": standings}, "node": {"S": node}}
