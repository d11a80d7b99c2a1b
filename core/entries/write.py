"""Writing an entry so that its board's counters follow, in the board's mode.

STREAM         the write alone: the stream's consumer counts it
TRANSACTIONAL  the write and, where it crosses a leaf's edge, the counts in one transaction
INLINE         the write, and after it the counts; a death in between leaves a drift for `check` to find
"""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from core.counters.known_trees import Trees
from core.counters.nodes import expiry, node_key, partitions
from core.domain.errors import Throttled
from core.domain.model import Board, CounterMode
from core.storage.backoff import back_off
from core.storage.clock import now_ms
from core.storage.database import Database, failed_item
from core.storage.parallel import run_all
from core.tree.changes import Change, read_entry, without_foreign_shard
from core.tree.node import node_name

if TYPE_CHECKING:
    from botocore.exceptions import ClientError
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

    from core.domain.entry_item import Key

Item = Mapping[str, Any]

_ATTEMPTS = 30
_PASSING = frozenset({"TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"})


@dataclass(frozen=True, slots=True)
class EntryWrite:
    """A change of one entry, as `write_entry` takes it."""

    key: "Key"
    change: dict[str, Any]
    before: Item | None
    after: Item


def write_entry(
    db: Database,
    board: Board,
    key: "Key",
    change: dict[str, Any],
    *,
    before: Item | None,
    after: Item | None,
    at_once: bool = False,
) -> tuple[Item, Item | None]:
    """Change an entry under a condition: gives what stood before and, if refused, what stands instead.

    `change` is what an UpdateItem takes besides its table and key, or a DeleteItem where it has no
    `UpdateExpression`. `after` is the entry's rank key, shard and `written_at` afterwards, None if it goes.
    `before` is the entry as it was read, which TRANSACTIONAL counts from. With `at_once` an INLINE board
    counts as a TRANSACTIONAL one does.

    Raises:
        Throttled: other transactions got in the way too often; nothing is stored.

    Costs a write unit a KB on the table and what moves on the index; where a leaf's edge is crossed,
    TRANSACTIONAL twice that on the table and two units for each node, INLINE a unit for each node.
    """
    mode = board.counter_mode
    if mode is CounterMode.INLINE and at_once:
        mode = CounterMode.TRANSACTIONAL
    if mode is CounterMode.TRANSACTIONAL:
        counts = _node_updates(db, board, key, before, after)
        change = _pin(change, before or {})
        if counts:
            refused = _transact(db, [_part(db, key, change), *counts])
            return (before or {}, None) if refused is None else ({}, refused[0])
    operation = db.client.update_item if "UpdateExpression" in change else db.client.delete_item
    try:
        answer = operation(
            TableName=db.tables.scores,
            Key=key,
            **change,
            ReturnValues="ALL_OLD",
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    except db.client.exceptions.ConditionalCheckFailedException as error:
        return {}, failed_item(error)
    old: Item = answer.get("Attributes", {})
    if mode is CounterMode.INLINE:
        updates = _node_updates(db, board, key, old, after)
        run_all([partial(db.client.update_item, **update["Update"]) for update in updates])
    return old, None


def _node_updates(
    db: Database, board: Board, key: "Key", before: Item | None, after: Item | None
) -> "list[TransactWriteItemTypeDef]":
    """Describe what a change of one entry does to each node's counts."""
    standings = cast("dict[str, str]", key["standings"])["S"]
    change = Change(
        sequence=0,
        at=datetime.now(UTC),
        standings=standings,
        participant=cast("dict[str, str]", key["participant"])["S"],
        old=without_foreign_shard(board, read_entry(standings, before)),
        new=after,
    )
    if change.old is None and change.new is None:
        return []
    partition = random.choice(partitions(board, standings))
    sets = {"as_of": {"N": str(now_ms())}, **expiry(board, standings)}
    updates: list[TransactWriteItemTypeDef] = []
    for (tree, path), steps in Trees(db, board, standings).steps([change]).items():
        moved = Counter[int]()
        for step in steps:
            moved[step.child] += step.by
        adds = {child: by for child, by in moved.items() if by}
        if adds:
            names = ", ".join(f"c{child:02x} :c{child:02x}" for child in adds)
            updates.append(
                {
                    "Update": {
                        "TableName": db.tables.counters,
                        "Key": node_key(partition, node_name(tree, path)),
                        "UpdateExpression": f"SET {', '.join(f'{one} = :{one}' for one in sets)} ADD {names}",
                        "ExpressionAttributeValues": {
                            **{f":{one}": value for one, value in sets.items()},
                            **{f":c{child:02x}": {"N": str(by)} for child, by in adds.items()},
                        },
                    }
                }
            )
    return updates


def _pin(change: dict[str, Any], before: Item) -> dict[str, Any]:
    """Add to a write's condition that the entry is still counted as it was when read."""
    if "rank_key" not in before:
        return change
    values = {**change.get("ExpressionAttributeValues", {}), ":pinned_key": before["rank_key"]}
    condition = "rank_key = :pinned_key"
    for name in ("written_at", "rank_shard"):
        if name in before:
            values[f":pinned_{name}"] = before[name]
            condition += f" AND {name} = :pinned_{name}"
        else:
            condition += f" AND attribute_not_exists({name})"
    if "ConditionExpression" in change:
        condition = f"({change['ConditionExpression']}) AND {condition}"
    return {**change, "ConditionExpression": condition, "ExpressionAttributeValues": values}


def write_together(
    db: Database, board: Board, writes: Sequence[EntryWrite], also: "TransactWriteItemTypeDef | None"
) -> list[Item | None] | None:
    """Change several entries, and write `also`, all or none: gives None once done.

    If any condition fails, gives for each entry, and for `also` behind them, the item that stands instead of
    the one expected, None where its condition holds. The counts of a TRANSACTIONAL and of an INLINE board are
    in the transaction.

    Raises:
        Throttled: other transactions got in the way too often; nothing is stored.

    Costs two write units a KB for each item, and what moves on the index.
    """
    parts = []
    counts = []
    for write in writes:
        change = write.change
        if board.counter_mode is not CounterMode.STREAM:
            change = _pin(change, write.before or {})
            counts += _node_updates(db, board, write.key, write.before, write.after)
        parts.append(_part(db, write.key, change))
    parts += [also] if also else []
    if not parts:
        return None
    refused = _transact(db, [*parts, *counts])
    return None if refused is None else refused[: len(parts)]


def _part(db: Database, key: "Key", change: dict[str, Any]) -> "TransactWriteItemTypeDef":
    kind = "Update" if "UpdateExpression" in change else "Delete"
    write = {
        "TableName": db.tables.scores,
        "Key": key,
        **change,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return cast("TransactWriteItemTypeDef", {kind: write})


def _transact(db: Database, items: "list[TransactWriteItemTypeDef]") -> list[Item | None] | None:
    """Write all or none; where a condition fails, gives the items that failed theirs, None for the others."""
    for attempt in range(_ATTEMPTS):
        try:
            db.client.transact_write_items(TransactItems=items)
        except db.client.exceptions.TransactionCanceledException as error:
            reasons = _reasons(error)
            failed = [reason.get("Code") == "ConditionalCheckFailed" for reason in reasons]
            if any(failed):
                return [
                    reason.get("Item", {}) if fails else None
                    for reason, fails in zip(reasons, failed, strict=True)
                ]
            if not any(reason.get("Code") in _PASSING for reason in reasons):
                raise
            # Another transaction holds one of the items: counts commute, so it is only a matter of turns.
            back_off(attempt)
            continue
        return None
    raise Throttled("too many submissions cross the same counters at once; nothing was stored, try again")


def _reasons(error: "ClientError") -> list[dict[str, Any]]:
    """Give why a transaction was cancelled, one reason for each of its items."""
    reasons: list[dict[str, Any]] = cast("dict[str, Any]", error.response).get("CancellationReasons", [{}])
    return reasons
