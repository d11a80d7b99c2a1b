"""Write entries so that their counters follow, in the board's counter mode.

STREAM         the write alone; the stream's consumer counts it
TRANSACTIONAL  the write and, where it crosses a leaf's edge, the counts, in one transaction
INLINE         the write, and after it the counts; a death in between leaves a drift that `check` finds

The AWS client sends a write again if its answer was lost, and the condition may then fail on the very first
try. So an entry holds the ids of its last writes: one that finds its own id has been made.
"""

import random
import secrets
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from core.counters.known_trees import Trees
from core.counters.nodes import expiry, node_key, partitions
from core.domain.entry_item import sanitize_item, without_foreign_shard
from core.domain.model import Board, CounterMode
from core.storage.clock import now_ms
from core.storage.database import Database
from core.storage.faults import failed_item, lost_race
from core.storage.parallel import run_all
from core.tree.changes import Change
from core.tree.node import node_name

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef, UpdateTypeDef

Item = Mapping[str, Any]

_ID_BYTES = 8
_KEPT_IDS = 4  # writers who get in between a write and its repetition


@dataclass(frozen=True, slots=True)
class EntryWrite:
    """A conditional update of one entry.

    `update` is an UpdateItem without its table and key, whose expression begins with SET. `before` is the
    entry as it was read, which counts start from. `after` has its rank key, shard and `written_at`
    afterwards, and is None if it leaves the standings. Without an `id`, the update can be made twice.
    """

    key: Item
    update: Mapping[str, Any]
    before: Item | None
    after: Item | None
    id: bytes | None = None


def new_write_id() -> bytes:
    """Return an id for a write."""
    return secrets.token_bytes(_ID_BYTES)


def write_entry(
    db: Database, board: Board, write: EntryWrite, *, at_once: bool = False
) -> tuple[Item | None, Item | None]:
    """Update an entry; return the item before and None, or if its condition fails, None and the item found.

    Both are None if the entry has been updated, but the answer was lost and the entry had not been read. With
    `at_once` an INLINE board counts as a TRANSACTIONAL one does.

    Raises:
        Throttled: other transactions got in the way too often; nothing is stored.

    Costs a write unit a KB on the table and what moves on the index; where a leaf's edge is crossed,
    TRANSACTIONAL twice that on the table and two units for each node, INLINE a unit for each node.
    """
    inline = board.counter_mode is CounterMode.INLINE and not at_once
    if board.counter_mode is not CounterMode.STREAM and not inline:
        counts = _count_updates(db, board, write)
        write = _if_unchanged(write)
        if counts:
            failed = _transact(db, [_transact_item(db, write), *counts])
            return (write.before or {}, None) if failed is None else (None, failed[0])
    before: Item | None
    try:
        answer = db.client.update_item(**_update(db, write), ReturnValues="ALL_OLD")
        before = answer.get("Attributes", {})
    except db.client.exceptions.ConditionalCheckFailedException as error:
        found = failed_item(error)
        if write.id is None or write.id not in _ids(found):
            return None, found
        before = write.before
    if inline:
        counts = _count_updates(db, board, replace(write, before=before))
        run_all([partial(db.client.update_item, **count["Update"]) for count in counts])
    return before, None


def write_entries(
    db: Database, board: Board, writes: Sequence[EntryWrite], also: "TransactWriteItemTypeDef | None"
) -> list[Item | None] | None:
    """Update several entries and write `also`, all or none; return None once done.

    If any condition fails, returns for each entry, and last for `also`, the item found, or None where its
    own condition holds. The transaction has the counts too, unless the stream counts.

    Raises:
        Throttled: other transactions got in the way too often; nothing is stored.

    Costs two write units a KB for each item, and what moves on the index.
    """
    counts: list[TransactWriteItemTypeDef] = []
    if board.counter_mode is not CounterMode.STREAM:
        counts = [count for write in writes for count in _count_updates(db, board, write)]
        writes = [_if_unchanged(write) for write in writes]
    items = [*(_transact_item(db, write) for write in writes), *([also] if also else [])]
    failed = _transact(db, [*items, *counts]) if items else None
    return None if failed is None else failed[: len(items)]


def _if_unchanged(write: EntryWrite) -> EntryWrite:
    """Add the condition that the entry is counted where `before` was counted."""
    before = write.before or {}
    if "rank_key" not in before:
        return write
    values = dict(write.update["ExpressionAttributeValues"])
    condition = f"({write.update['ConditionExpression']})"
    for name in ("rank_key", "written_at", "rank_shard"):
        if name in before:
            values[f":counted_{name}"] = before[name]
            condition += f" AND {name} = :counted_{name}"
        else:
            condition += f" AND attribute_not_exists({name})"
    update = {**write.update, "ConditionExpression": condition, "ExpressionAttributeValues": values}
    return replace(write, update=update)


def _count_updates(db: Database, board: Board, write: EntryWrite) -> "list[TransactWriteItemTypeDef]":
    """Return an update of each node whose counts an entry's change alters."""
    standings = write.key["standings"]["S"]
    change = Change(
        sequence=0,
        at=datetime.now(UTC),
        standings=standings,
        participant=write.key["participant"]["S"],
        old=without_foreign_shard(board, sanitize_item(standings, write.before)),
        new=write.after,
    )
    if change.old is None and change.new is None:
        return []
    counter_shard = random.choice(partitions(board, standings))
    sets = {"as_of": {"N": str(now_ms())}, **expiry(board, standings)}
    updates: list[TransactWriteItemTypeDef] = []
    for (tree, path), steps in Trees(db, board, standings).steps([change]).items():
        by_child = Counter[int]()
        for step in steps:
            by_child[step.child] += step.by
        adds = {f"c{child:02x}": {"N": str(by)} for child, by in by_child.items() if by}
        if adds:
            update: UpdateTypeDef = {
                "TableName": db.tables.counters,
                "Key": node_key(counter_shard, node_name(tree, path)),
                "UpdateExpression": f"SET {', '.join(f'{name} = :{name}' for name in sets)}"
                f" ADD {', '.join(f'{name} :{name}' for name in adds)}",
                "ExpressionAttributeValues": {f":{name}": value for name, value in {**sets, **adds}.items()},
            }
            updates.append({"Update": update})
    return updates


def _transact_item(db: Database, write: EntryWrite) -> "TransactWriteItemTypeDef":
    return {"Update": cast("UpdateTypeDef", _update(db, write))}


def _update(db: Database, write: EntryWrite) -> dict[str, Any]:
    update: dict[str, Any] = {
        "TableName": db.tables.scores,
        "Key": write.key,
        **write.update,
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    if write.id is not None:
        ids = [write.id, *_ids(write.before or {})][:_KEPT_IDS]
        changes = update["UpdateExpression"].removeprefix("SET ")
        update["UpdateExpression"] = f"SET write_id = :write_id, {changes}"
        values = update["ExpressionAttributeValues"]
        update["ExpressionAttributeValues"] = {**values, ":write_id": {"B": b"".join(ids)}}
    return update


def _ids(item: Item) -> list[bytes]:
    """Return the ids of an entry's last writes, the latest first."""
    ids = bytes(item["write_id"]["B"]) if "write_id" in item else b""
    return [ids[start : start + _ID_BYTES] for start in range(0, len(ids), _ID_BYTES)]


def _transact(db: Database, items: "list[TransactWriteItemTypeDef]") -> list[Item | None] | None:
    """Write all items or none; return None once done, else the items found where a condition failed."""
    try:
        db.client.transact_write_items(TransactItems=items)
    except db.client.exceptions.TransactionCanceledException as error:
        if not lost_race(error):
            raise
        reasons = cast("dict[str, Any]", error.response)["CancellationReasons"]
        return [
            reason.get("Item", {}) if reason.get("Code") == "ConditionalCheckFailed" else None
            for reason in reasons
        ]
    return None
