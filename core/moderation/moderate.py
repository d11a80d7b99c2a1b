"""Moderation: hiding, restoring and removing a participant's entries, in every period of a board.

What is to be done is marked and recorded first, in one transaction; then it is done to each entry. Whoever
dies in between is finished by doing the same again.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from core.domain.entry_item import entry_from_item, is_entry
from core.domain.errors import EntryNotFound, Throttled
from core.domain.keys import rank_shard, shard_of, split_standings
from core.domain.model import Board, Entry
from core.domain.periods import ALL_TIME
from core.domain.rank_key import microseconds
from core.domain.text import check_id
from core.entries.read import board_items
from core.entries.write import EntryWrite, Item, write_entry
from core.records.audit import AuditAction, AuditContext, check_reason, record
from core.records.flags import expiry, flag_hidden, flag_removed, flag_restored
from core.storage.clock import now_ms
from core.storage.database import Database
from core.storage.tables import TTL_ATTRIBUTE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

    from core.domain.entry_item import Key

_ATTEMPTS = 20
_KEY = frozenset({"participant", "standings"})


def hide_entry(db: Database, board: Board, participant_id: str, audit: AuditContext) -> Entry:
    """Take a participant's rank in every period; scores stay, and further submissions change them unseen.

    Raises:
        EntryNotFound: the participant is not on the board.
        InvalidInput: the id or the reason.
        Throttled: too many submissions at once; do it again.

    Costs a read unit for each 4 KB of the participant's entries, 6 to 8 write units for mark and record, and
    for each entry what it costs to take it off the index.
    """
    check_reason(audit.reason)
    items = _entries(db, board, participant_id)
    if any("rank_shard" in item for item in items):
        _record(db, board, AuditAction.HIDE, participant_id, audit, flag_hidden(db, board, participant_id))
    return _shown(board, [_hide(db, board, item) for item in items])


def restore_entry(db: Database, board: Board, participant_id: str, audit: AuditContext) -> Entry:
    """Give a hidden participant's entries their places back: score and achievedAt are as they were.

    Raises:
        EntryNotFound: the participant is not on the board.
        InvalidInput: the id or the reason.
        Throttled: too many submissions at once; do it again.

    Costs as much as `hide_entry`.
    """
    check_reason(audit.reason)
    items = _entries(db, board, participant_id)
    if any("rank_shard" not in item for item in items):
        mark = flag_restored(db, board, participant_id, audit.at)
        _record(db, board, AuditAction.RESTORE, participant_id, audit, mark)
    return _shown(board, [_restore(db, board, item) for item in items])


def remove_entry(db: Database, board: Board, participant_id: str, audit: AuditContext) -> Entry | None:
    """Take a participant off the board in every period; gives the entry that stood there, or None.

    For 30 days a submission that was achieved before is refused, so that a late retry does not bring them
    back; a later one starts anew. Where there is nothing to remove, nothing is marked or recorded.

    Raises:
        InvalidInput: the id or the reason.
        Throttled: too many submissions at once; do it again.

    Costs as much as `hide_entry`.
    """
    check_reason(audit.reason)
    items = _entries(db, board, participant_id)
    if not items:
        return None
    mark = flag_removed(db, board, participant_id, audit.at)
    _record(db, board, AuditAction.REMOVE, participant_id, audit, mark)
    tombstones = [leave_tombstone(db, board, item, audit) for item in items]
    # Another removal may have been faster.
    return _shown(board, tombstones) if any(map(is_entry, tombstones)) else None


def leave_tombstone(db: Database, board: Board, item: Item, audit: AuditContext) -> Item:
    """Leave of an entry no more than its key and when it went; gives it as it was."""

    def change(found: Item) -> tuple[dict[str, Any], Item | None] | None:
        if "rank_key" not in found:
            return None
        gone = [name for name in found if name not in _KEY | {"version", TTL_ATTRIBUTE, "removed_at"}]
        expression = (
            f"SET removed_at = :at, {TTL_ATTRIBUTE} = :expires, version = version + :one"
            f" REMOVE {', '.join(gone)}"
        )
        values: dict[str, AttributeValueTypeDef] = {
            ":at": {"N": str(microseconds(audit.at))},
            ":expires": expiry(audit.at),
            **_pinned(found),
        }
        return _described(expression, values, "version = :version"), None

    before, _ = _write(db, board, item, change)
    return before


def _entries(db: Database, board: Board, participant_id: str) -> list[dict[str, Any]]:
    """Read a participant's entries on a board, the all-time one first."""
    check_id("participantId", participant_id)
    found = [item for item in board_items(db, board, participant_id) if is_entry(item)]
    return sorted(found, key=lambda item: _period(item) != ALL_TIME)


def _hide(db: Database, board: Board, item: Item) -> Item:
    def change(found: Item) -> tuple[dict[str, Any], Item | None] | None:
        if "rank_shard" not in found:
            return None
        after = {name: found[name] for name in ("rank_key", "written_at") if name in found}
        described = _described(
            "SET version = version + :one REMOVE rank_shard", _pinned(found), "version = :version"
        )
        return described, after

    _, after = _write(db, board, item, change)
    return after


def _restore(db: Database, board: Board, item: Item) -> Item:
    def change(found: Item) -> tuple[dict[str, Any], Item | None] | None:
        if "rank_shard" in found or "rank_key" not in found:
            return None
        shard = rank_shard(found["standings"]["S"], shard_of(board, found["participant"]["S"]))
        # Counters that came to be meanwhile take it for an entry of now.
        sets: Item = {"rank_shard": {"S": shard}, "written_at": {"N": str(now_ms())}}
        values = {":shard": sets["rank_shard"], ":now": sets["written_at"], **_pinned(found)}
        expression = "SET rank_shard = :shard, written_at = :now, version = version + :one"
        return _described(expression, values, "version = :version"), {"rank_key": found["rank_key"], **sets}

    _, after = _write(db, board, item, change)
    return after


def _write(
    db: Database,
    board: Board,
    item: Item,
    change: Callable[[Item], tuple[dict[str, Any], Item | None] | None],
) -> tuple[Item, Item]:
    """Change an entry as it is found, again while submissions come in between; gives it before and after.

    `change` gives a write and the entry afterwards, or None where there is nothing to do.
    """
    key: Key = {name: item[name] for name in _KEY}
    for _ in range(_ATTEMPTS):
        due = change(item)
        if due is None:
            return item, item
        write, after = due
        _, refused_by = write_entry(db, board, EntryWrite(key, write, before=item, after=after))
        if refused_by is None:
            kept = {name: item[name] for name in item if name not in {"rank_shard", "written_at"}}
            return item, {**kept, **(after or {})}
        item = refused_by
    raise Throttled("too many submissions for one participant at once; do it again")


def _described(expression: str, values: "dict[str, AttributeValueTypeDef]", condition: str) -> dict[str, Any]:
    return {
        "UpdateExpression": expression,
        "ConditionExpression": condition,
        "ExpressionAttributeValues": {**values, ":one": {"N": "1"}},
    }


def _pinned(found: Item) -> "dict[str, AttributeValueTypeDef]":
    return {":version": found["version"]}


def _record(
    db: Database, board: Board, action: AuditAction, participant_id: str, audit: AuditContext, mark: Any
) -> None:
    told = record(db, action, audit, board_id=board.id, participant_id=participant_id)
    db.client.transact_write_items(TransactItems=[mark, *told])


def _shown(board: Board, items: "list[Item]") -> Entry:
    standing = [item for item in items if is_entry(item)]
    if not standing:
        raise EntryNotFound("participantId: is not on this leaderboard")
    return entry_from_item(board, _period(standing[0]), standing[0])


def _period(item: Item) -> str:
    return split_standings(item["standings"]["S"])[1]
