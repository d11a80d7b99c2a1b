"""Restore a backup into a stack, and resume a restore that was interrupted.

Every step can be repeated:

1. Write each board closed and unlisted, so that no archive is made of incomplete standings.
2. Write all other items, and have them counted. The records table stores how far each file is written.
3. Write the boards as they were.
4. Write the jobs that were pending.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from core.boards import board_item, board_key
from core.domain.board import board_from_json
from core.domain.keys import standings_key
from core.domain.model import Board, CounterMode
from core.domain.periods import periods_used
from core.ranking.queries import size
from core.records.audit import SECRETS, adopt_secret
from core.records.jobs import JOBS
from core.records.table import record_key
from core.storage.clock import now_ms
from core.storage.database import Database, batch_write
from core.storage.parallel import batched
from core.storage.rank_index import read_run
from core.storage.tables import TTL_ATTRIBUTE
from core.upkeep import checks, rebuilds
from local.backups.items_file import read_items
from local.backups.retries import retried
from local.backups.state import Part, open_complete
from local.console import progress
from local.errors import StackError
from local.importing.checkpoint import PREFIX as IMPORTS
from local.stack.target import Stack, following

_RESTORES = "~restore"
_KEPT_SECONDS = 30 * 86_400
_ITEMS_BETWEEN_SAVES = 2_000


def restore(stack: Stack, folder: Path) -> tuple[int, int]:
    """Restore a backup, from where an earlier run stopped; return the numbers of boards and ranked entries.

    Raises:
        StackError: the backup is not complete or was changed, or the stack has one of its boards already.

    Costs what submitting every entry once does, and a unit a KB for other items. Boards whose writers count
    for themselves cost a rebuild besides.
    """
    backup_id, parts = open_complete(folder)
    boards = [
        board_from_json(item["definition"]["S"])
        for part in parts
        if part.table == "boards"
        for item in read_items(folder / part.file)
    ]
    if _progress(stack.db, backup_id, "complete") is not None:
        raise StackError(f"{folder} was restored into this stack already")
    _check_free(stack.db, boards, backup_id)
    for board in boards:
        retried(partial(_put_board, stack.db, replace(board, closed=True), listed=False))
    total = sum(part.items for part in parts)
    done = 0
    with progress(f"restoring {folder}", total) as show:
        for part in parts:
            if part.table != "boards":
                _write_part(stack.db, folder, part, backup_id, partial(_show_from, show, done))
                retried(stack.drain)
            done += part.items
    with following(stack):
        entries = sum(retried(partial(_count, stack, board)) for board in boards)
    for board in boards:
        retried(partial(_put_board, stack.db, board))
    for part in parts:
        if part.table == "records":
            jobs = (item for item in read_items(folder / part.file) if _is_job(item))
            puts: Any = [{"PutRequest": {"Item": job}} for job in jobs]
            retried(partial(batch_write, stack.db, stack.db.tables.records, puts))
    _save_progress(stack.db, backup_id, "complete", total)
    return len(boards), entries


def _show_from(show: Callable[[int], object], before: int, count: int) -> None:
    show(before + count)


def _check_free(db: Database, boards: Sequence[Board], backup_id: str) -> None:
    """Raise if the stack has a board of the backup, unless an earlier run of this restore wrote it."""
    for board in boards:
        key = board_key(board.id)
        item = db.client.get_item(TableName=db.tables.boards, Key=key, ConsistentRead=True).get("Item")
        if item is None:
            continue
        generation = board_from_json(item["definition"]["S"]).generation
        if generation != board.generation or _progress(db, backup_id, "begun") is None:
            raise StackError(f"the stack has a board {board.id!r} already; restore into another stack")
    _save_progress(db, backup_id, "begun", 0)


def _put_board(db: Database, board: Board, *, listed: bool = True) -> None:
    item = board_item(board)
    if not listed:
        del item["listed"]
    db.client.put_item(TableName=db.tables.boards, Item=item)


def _write_part(
    db: Database, folder: Path, part: Part, backup_id: str, show: Callable[[int], object]
) -> None:
    """Write a file's items, from where an earlier run stopped."""
    written = _progress(db, backup_id, part.file) or 0
    table = getattr(db.tables, part.table)
    count = 0
    for batch in batched(read_items(folder / part.file), _ITEMS_BETWEEN_SAVES):
        count += len(batch)
        if count > written:
            for item in batch:
                if item.get("record_set") == {"S": SECRETS}:
                    adopt_secret(db, bytes(item["secret"]["B"]))
            items = [
                _written_now(item) if part.table == "scores" else item for item in batch if _belongs(item)
            ]
            puts: Any = [{"PutRequest": {"Item": item}} for item in items]
            retried(partial(batch_write, db, table, puts))
            retried(partial(_save_progress, db, backup_id, part.file, count))
        show(count)


def _written_now(item: dict[str, Any]) -> dict[str, Any]:
    """Return an entry with the present as its time of writing: nodes born since the backup count it too."""
    return item | {"written_at": {"N": str(now_ms())}} if "rank_key" in item else item


def _belongs(item: dict[str, Any]) -> bool:
    """Return whether an item is written in step 2.

    Left out are checkpoints of imports and restores, which may be ahead of the entries; the backup's secret,
    as the stack keeps its own; and pending jobs, which come last.
    """
    left_out = item.get("record_set", {}).get("S", "").startswith((IMPORTS, _RESTORES, SECRETS))
    return not (left_out or _is_job(item))


def _is_job(item: dict[str, Any]) -> bool:
    return bool(item.get("record_set") == {"S": JOBS})


def _progress(db: Database, backup_id: str, step: str) -> int | None:
    key = record_key(f"{_RESTORES}#{backup_id}", step)
    item = db.client.get_item(TableName=db.tables.records, Key=key, ConsistentRead=True).get("Item")
    return int(item["items"]["N"]) if item else None


def _save_progress(db: Database, backup_id: str, step: str, count: int) -> None:
    db.client.put_item(
        TableName=db.tables.records,
        Item={
            **record_key(f"{_RESTORES}#{backup_id}", step),
            "items": {"N": str(count)},
            TTL_ATTRIBUTE: {"N": str(int(time.time()) + _KEPT_SECONDS)},
        },
    )


def _count(stack: Stack, board: Board) -> int:
    """Have a board's entries counted; return how many are ranked, in all periods."""
    total = 0
    for period in periods_used(board, datetime.now(UTC)):
        if not read_run(stack.db, board, period, 1):
            continue
        standings = standings_key(board.id, period, board.generation)
        if (
            board.counter_mode is not CounterMode.STREAM
            and checks.check(stack.db, board, standings, patience=0).drifts
        ):
            rebuilds.rebuild(stack.db, board, standings)
        total += size(stack.db, board, period)
    return total
