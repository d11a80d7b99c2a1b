"""Hide, restore or remove a participant's entries in every period of a board.

All three take the same path, `_moderate`: flags and audit record first, in one transaction, then each entry.
If a process dies in between, doing the same again completes it. Where two operators hide and restore at once,
the flags that were written last decide: whoever has changed entries reads them again, and follows them.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from core.domain.entry_item import entry_from_item, entry_key, is_entry
from core.domain.errors import EntryNotFound, Throttled
from core.domain.keys import rank_shard, shard_of, split_standings
from core.domain.model import Board, Entry
from core.domain.periods import ALL_TIME
from core.domain.text import check_id
from core.entries.read import board_items
from core.entries.write import EntryWrite, Item, new_write_id, write_entry
from core.records.audit import AuditAction, AuditContext, check_reason, record
from core.records.flags import (
    NO_FLAGS,
    SET_REMOVED,
    flag_hidden,
    flag_removed,
    flag_restored,
    read_flags,
    removed_values,
)
from core.storage.clock import now_ms
from core.storage.database import Database
from core.storage.tables import TTL_ATTRIBUTE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

_ATTEMPTS = 20
_TOMBSTONE = frozenset({"participant", "standings", "version", "write_id", "removed_at", TTL_ATTRIBUTE})

# What to do with an entry's item: `change` and `after` of `write_entry`, or None where nothing is to be done.
Decide = Callable[[Item], tuple[dict[str, Any], Item | None] | None]


def hide_entry(db: Database, board: Board, participant_id: str, audit: AuditContext) -> Entry:
    """Take a participant's rank in every period. Scores stay; later submissions change them unseen.

    Returns the all-time entry, or the first there is.

    Raises:
        EntryNotFound: the participant is not on the board.
        InvalidInput: the id or the reason.
        Throttled: too many submissions at once; do it again.

    Costs a read unit for each 4 KB of the participant's entries and one for the flags, 6 to 8 write units for
    flags and audit record, and for each entry what it costs to take it off the index.
    """
    flags = partial(flag_hidden, db, board, participant_id)
    changed = _moderate(db, board, participant_id, audit, AuditAction.HIDE, flags, _hide)
    return _found(_first_entry(board, (after for _, after in changed)))


def restore_entry(db: Database, board: Board, participant_id: str, audit: AuditContext) -> Entry:
    """Restore the places of a hidden participant's entries; score and achievedAt are as they were.

    Returns the all-time entry, or the first there is.

    Raises:
        EntryNotFound: the participant is not on the board.
        InvalidInput: the id or the reason.
        Throttled: too many submissions at once; do it again.

    Costs as much as `hide_entry`.
    """
    flags = partial(flag_restored, db, board, participant_id, audit.at)
    restore = partial(_restore, board)
    changed = _moderate(db, board, participant_id, audit, AuditAction.RESTORE, flags, restore)
    return _found(_first_entry(board, (after for _, after in changed)))


def remove_entry(db: Database, board: Board, participant_id: str, audit: AuditContext) -> Entry | None:
    """Take a participant off the board in every period.

    Returns the entry that stood there, or None. For 30 days a submission that was achieved before is refused,
    so that a late retry does not bring them back; a later one starts anew.

    Raises:
        InvalidInput: the id or the reason.
        Throttled: too many submissions at once; do it again.

    Costs as much as `hide_entry`.
    """
    flags = partial(flag_removed, db, board, participant_id, audit.at)
    remove = partial(_remove, audit.at)
    changed = _moderate(db, board, participant_id, audit, AuditAction.REMOVE, flags, remove)
    return _first_entry(board, (before for before, _ in changed))


def leave_tombstone(db: Database, board: Board, item: Item, at: datetime) -> Item:
    """Remove one entry, leaving a tombstone. Return the item that was there, perhaps a tombstone already."""
    before, _ = change_entry(db, board, item, partial(_remove, at))
    return before


def _moderate(
    db: Database,
    board: Board,
    participant_id: str,
    audit: AuditContext,
    action: AuditAction,
    flags: "Callable[[], TransactWriteItemTypeDef]",
    decide: Decide,
) -> list[tuple[Item, Item]]:
    """Write flags and audit record, then change each entry. Return the entries before and after.

    The all-time entry comes first. If there is nothing to do for any of them, nothing is written.
    """
    check_reason(audit.reason)
    check_id("participantId", participant_id)
    items = [item for item in board_items(db, board, participant_id) if is_entry(item)]
    items.sort(key=lambda item: _period(item) != ALL_TIME)
    if not any(decide(item) for item in items):
        return [(item, item) for item in items]
    records = record(db, action, audit, board_id=board.id, participant_id=participant_id)
    db.client.transact_write_items(TransactItems=[flags(), *records])
    changed = [change_entry(db, board, item, decide) for item in items]
    if action is not AuditAction.REMOVE:
        _follow_flags(db, board, participant_id, hidden=action is AuditAction.HIDE)
    return changed


def _follow_flags(db: Database, board: Board, participant_id: str, *, hidden: bool) -> None:
    """Hide or restore entries as the flags say, if another operator has changed them meanwhile.

    Costs a read unit, and what it takes to follow.

    Raises:
        Throttled: others change them again and again.
    """
    for _ in range(_ATTEMPTS):
        flags = read_flags(db, board, [participant_id]).get(participant_id, NO_FLAGS)
        if flags.hidden == hidden:
            return
        hidden = flags.hidden
        for item in board_items(db, board, participant_id):
            change_entry(db, board, item, _hide if hidden else partial(_restore, board))
    raise Throttled("too many changes of one participant at once; do it again")


def change_entry(db: Database, board: Board, item: Item, decide: Decide) -> tuple[Item, Item]:
    """Change an entry, or decide again if a submission came in between. Return it before and after.

    Raises:
        Throttled: too many submissions at once; do it again.
    """
    key = entry_key(board, _period(item), item["participant"]["S"])
    write_id = new_write_id()
    for _ in range(_ATTEMPTS):
        decided = decide(item)
        if decided is None:
            return item, item
        change, after = decided
        write = EntryWrite(key, change, before=item, after=after, id=write_id)
        _, refused_by = write_entry(db, board, write)
        if refused_by is None:
            kept = {name: item[name] for name in item if name not in {"rank_shard", "written_at"}}
            version = {"N": str(int(item["version"]["N"]) + 1)}
            return item, {**kept, **(after or {}), "version": version}
        item = refused_by
    raise Throttled("too many submissions for one participant at once; do it again")


def _hide(item: Item) -> tuple[dict[str, Any], Item] | None:
    if "rank_shard" not in item:
        return None
    after = {name: item[name] for name in ("rank_key", "written_at") if name in item}
    return update_unchanged(item, "SET version = version + :one REMOVE rank_shard", {}), after


def _restore(board: Board, item: Item) -> tuple[dict[str, Any], Item] | None:
    if "rank_shard" in item or "rank_key" not in item:
        return None
    shard = rank_shard(item["standings"]["S"], shard_of(board, item["participant"]["S"]))
    # Written now: nodes that were born while it was hidden count it too.
    sets = {"rank_shard": {"S": shard}, "written_at": {"N": str(now_ms())}}
    expression = "SET rank_shard = :shard, written_at = :now, version = version + :one"
    change = update_unchanged(item, expression, {":shard": sets["rank_shard"], ":now": sets["written_at"]})
    return change, {"rank_key": item["rank_key"], **sets}


def _remove(at: datetime, item: Item) -> tuple[dict[str, Any], None] | None:
    if "rank_key" not in item:
        return None
    gone = ", ".join(name for name in item if name not in _TOMBSTONE)
    return update_unchanged(
        item, f"{SET_REMOVED}, version = version + :one REMOVE {gone}", removed_values(at)
    ), None


def update_unchanged(item: Item, expression: str, values: Item) -> dict[str, Any]:
    """Return an update of an entry that is still of the version read."""
    return {
        "UpdateExpression": expression,
        "ConditionExpression": "version = :version",
        "ExpressionAttributeValues": {**values, ":version": item["version"], ":one": {"N": "1"}},
    }


def _first_entry(board: Board, items: Iterable[Item]) -> Entry | None:
    item = next(filter(is_entry, items), None)
    return None if item is None else entry_from_item(board, _period(item), item)


def _found(entry: Entry | None) -> Entry:
    if entry is None:
        raise EntryNotFound("participantId: is not on this leaderboard")
    return entry


def _period(item: Item) -> str:
    return split_standings(item["standings"]["S"])[1]
