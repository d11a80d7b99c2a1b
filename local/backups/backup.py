"""`leaderboard backup` and `restore`: all boards with all that they hold, in a folder, and back into a stack.

A backup is the items of four tables, read side by side in segments: definitions; entries of every period,
hidden ones and what is left of removed ones too; submission ids; archives, marks and the audit record. What
is derived is not in it. It is no snapshot: each item is as it was at some moment of the backup.

A restore first writes every board closed and in no list, so that nothing is archived of what is not whole;
then all items, has them counted, opens the boards as they were, and last asks for what was under way. Each
step can be done again. What a file has given is noted in the stack, to go on from.
"""

import argparse
import json
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from core.domain.board import board_from_json, board_to_json
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
from core.upkeep import checks, rebuilds
from local.backups.items_file import append_page, digest, read_items, write_json
from local.commands.counters import followed
from local.errors import StackError
from local.importing.checkpoint import PREFIX
from local.importing.report import progress
from local.stack.target import Stack, add_target, opened

_SEGMENTS = {"boards": 1, "records": 2, "receipts": 2, "scores": 6}
_STATE = "backup.json"
_RESTORES = "~restore"
_VERSION = 1
_NOTE_EVERY = 2_000  # items of a file
_BACKUP = """
Writes all boards with all that they hold to a folder: entries of every period, hidden ones too, archives and
the audit record. If it is ended, the same command goes on; once it is complete, it changes nothing.
"""
_RESTORE = """
Writes a backup into a stack that has none of its boards, and has everything counted. The boards take no
submissions before it is complete. If it is ended, the same command goes on.
"""


@dataclass
class Part:
    """One segment of a table: its file, up to where it is good, and where the scan goes on."""

    table: str
    segment: int
    good: int = 0
    items: int = 0
    start: dict[str, Any] | None = None
    complete: bool = False
    sha256: str = ""

    @property
    def file(self) -> str:
        """The file's name."""
        return f"{self.table}-{self.segment}.jsonl.gz"


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the two commands."""
    for name, func, what, description in (
        ("backup", _backup, "write all boards with all that they hold to a folder", _BACKUP),
        ("restore", _restore, "write a backup into a stack", _RESTORE),
    ):
        parser = subparsers.add_parser(name, help=what, description=description)
        parser.add_argument("folder", metavar="FOLDER", type=Path)
        add_target(parser)
        parser.set_defaults(func=func)


def _backup(args: argparse.Namespace) -> int:
    with opened(args) as stack:
        began = _finished(stack.db, args.folder)
        parts = back_up(stack.db, args.folder)
    print(f"{sum(part.items for part in parts):,} items in {args.folder}")  # noqa: T201
    if began is not None:
        sys.stderr.write(f"leaderboard: it is the backup of {began}; for a new one choose another folder\n")
    return 0


def _restore(args: argparse.Namespace) -> int:
    with opened(args, creates=True) as stack:
        boards, entries = restore(stack, args.folder)
    print(f"{boards:,} boards with {entries:,} ranked entries, all counted")  # noqa: T201
    return 0


def back_up(db: Database, folder: Path) -> Sequence[Part]:
    """Read the tables into a folder, from where an earlier run has come to; gives the parts.

    Raises:
        StackError: the folder cannot be written, or holds another stack's backup.

    Costs half a read unit for each 4 KB of the tables.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        parts = _parts(db, folder)
        lock = threading.Lock()
        with progress(f"backing up to {folder}", _estimate(db)) as tell:

            def save_progress() -> None:
                with lock:
                    _note(db, folder, parts)
                    tell(sum(part.items for part in parts))

            with ThreadPoolExecutor(max_workers=len(parts)) as threads:
                for _ in threads.map(partial(_read_part, db, folder, save_progress), parts):
                    pass
    except OSError as error:
        raise StackError(f"cannot write {folder}: {error.strerror}") from None
    return parts


def restore(stack: Stack, folder: Path) -> tuple[int, int]:
    """Write a backup into a stack, from where an earlier run has come to; gives its boards and entries.

    Raises:
        StackError: the backup is not complete or not as it was written, or the stack has one of its boards.

    Costs what submitting every entry once does, and a unit a KB of all else; for boards whose writers count
    for themselves, what a rebuild does besides.
    """
    backup_id, parts = _complete(folder)
    boards = [
        board_from_json(item["definition"]["S"])
        for part in parts
        if part.table == "boards"
        for item in read_items(folder / part.file)
    ]
    if _progress(stack.db, backup_id, "complete") is not None:
        raise StackError(f"{folder} has been restored into this stack already")
    _check_free(stack.db, boards, backup_id)
    for board in boards:
        _put_board(stack.db, replace(board, closed=True), listed=False)
    total = sum(part.items for part in parts)
    done = 0
    with progress(f"restoring {folder}", total) as tell:
        for part in parts:
            if part.table != "boards":
                _write_part(stack.db, folder, part, backup_id, partial(_tell_behind, tell, done))
                stack.drain()
            done += part.items
    with followed(stack):
        entries = sum(_count(stack, board) for board in boards)
    for board in boards:
        _put_board(stack.db, board)
    for part in parts:
        if part.table == "records":
            jobs = (item for item in read_items(folder / part.file) if _is_chore(item))
            batch_write(stack.db, stack.db.tables.records, [{"PutRequest": {"Item": one}} for one in jobs])
    _note_progress(stack.db, backup_id, "complete", total)
    return len(boards), entries


def _tell_behind(tell: Callable[[int], object], before: int, count: int) -> None:
    tell(before + count)


def _finished(db: Database, folder: Path) -> str | None:
    """Say when the backup began that is complete in a folder already, if one is."""
    if not (folder / _STATE).exists() or not all(part.complete for part in _parts(db, folder)):
        return None
    return str(json.loads((folder / _STATE).read_text(encoding="utf-8"))["began"])


def _parts(db: Database, folder: Path) -> list[Part]:
    """Say what an earlier run has left to do, or all of it."""
    state = folder / _STATE
    if not state.exists():
        return [Part(table, segment) for table, count in _SEGMENTS.items() for segment in range(count)]
    known = json.loads(state.read_text(encoding="utf-8"))
    if known["stack"] != db.tables.boards:
        raise StackError(f"{folder} holds a backup of another stack; choose another folder")
    return [Part(**part) for part in known["parts"]]


def _note(db: Database, folder: Path, parts: Sequence[Part]) -> None:
    state = folder / _STATE
    began = (
        json.loads(state.read_text(encoding="utf-8"))["began"]
        if state.exists()
        else datetime.now(UTC).isoformat()
    )
    known = {"version": _VERSION, "stack": db.tables.boards, "began": began}
    write_json(state, known | {"parts": [asdict(part) for part in parts]})


def _read_part(db: Database, folder: Path, save_progress: Callable[[], object], part: Part) -> None:
    path = folder / part.file
    while not part.complete:
        goes_on: dict[str, Any] = {"ExclusiveStartKey": part.start} if part.start else {}
        answer = db.client.scan(
            TableName=getattr(db.tables, part.table),
            Segment=part.segment,
            TotalSegments=_SEGMENTS[part.table],
            **goes_on,
        )
        good = append_page(path, part.good, answer["Items"])
        part.start = answer.get("LastEvaluatedKey")
        part.items += len(answer["Items"])
        part.good = good
        part.complete = part.start is None
        if part.complete:
            part.sha256 = digest(path)
        save_progress()


def _estimate(db: Database) -> int:
    """Say about how many items there are; DynamoDB counts them every six hours."""
    return sum(
        db.client.describe_table(TableName=getattr(db.tables, table))["Table"].get("ItemCount", 0)
        for table in _SEGMENTS
    )


def _complete(folder: Path) -> tuple[str, list[Part]]:
    """Give a backup's name and parts, if it is whole and as it was written."""
    try:
        known = json.loads((folder / _STATE).read_text(encoding="utf-8"))
        parts = [Part(**part) for part in known["parts"]]
        if not all(part.complete for part in parts):
            raise StackError(f"the backup in {folder} is not complete: run leaderboard backup {folder} again")
        for part in parts:
            if digest(folder / part.file) != part.sha256:
                raise StackError(f"{folder / part.file} is not as it was written")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StackError(f"{folder} holds no backup that can be read: {error}") from None
    return "".join(part.sha256[:8] for part in parts), parts


def _check_free(db: Database, boards: Sequence[Board], backup_id: str) -> None:
    """Refuse a stack that has a board of the backup already, but for an earlier run of this very restore."""
    for board in boards:
        key = {"board": {"S": board.id}}
        found = db.client.get_item(TableName=db.tables.boards, Key=key, ConsistentRead=True).get("Item")
        if found is None:
            continue
        there = board_from_json(found["definition"]["S"])
        if there.generation != board.generation or _progress(db, backup_id, "begun") is None:
            raise StackError(f"the stack has a board {board.id!r} already; restore into one that has not")
    _note_progress(db, backup_id, "begun", 0)


def _put_board(db: Database, board: Board, *, listed: bool = True) -> None:
    in_list: dict[str, Any] = {"listed": {"S": "boards"}} if listed else {}
    db.client.put_item(
        TableName=db.tables.boards,
        Item={
            "board": {"S": board.id},
            **in_list,
            "generation": {"S": board.generation},
            "version": {"N": str(board.version)},
            "definition": {"S": board_to_json(board)},
        },
    )


def _write_part(
    db: Database, folder: Path, part: Part, backup_id: str, tell: Callable[[int], object]
) -> None:
    """Write a file's items, from where an earlier run has noted that it was."""
    written = _progress(db, backup_id, part.file) or 0
    table = getattr(db.tables, part.table)
    count = 0
    for some in batched(read_items(folder / part.file), _NOTE_EVERY):
        count += len(some)
        if count > written:
            for item in some:
                if item.get("record_set") == {"S": SECRETS}:
                    adopt_secret(db, bytes(item["secret"]["B"]))
            kept = [_as_of_now(item) if part.table == "scores" else item for item in some if _lasts(item)]
            puts: Any = [{"PutRequest": {"Item": item}} for item in kept]
            batch_write(db, table, puts)
            _note_progress(db, backup_id, part.file, count)
        tell(count)


def _as_of_now(item: dict[str, Any]) -> dict[str, Any]:
    """Have an entry counted as one that is written now, which it is: counters may be younger than it was."""
    return item | {"written_at": {"N": str(now_ms())}} if "rank_key" in item else item


def _lasts(item: dict[str, Any]) -> bool:
    """Leave out how far imports had come, and earlier restores: that may be ahead of the entries.

    The stack's own secret stays too: its own records are found by that. And what was under way comes last.
    """
    kept_out = item.get("record_set", {}).get("S", "").startswith((PREFIX, _RESTORES, SECRETS))
    return not (kept_out or _is_chore(item))


def _is_chore(item: dict[str, Any]) -> bool:
    return bool(item.get("record_set") == {"S": JOBS})


def _progress(db: Database, backup_id: str, what: str) -> int | None:
    key = record_key(f"{_RESTORES}#{backup_id}", what)
    item = db.client.get_item(TableName=db.tables.records, Key=key, ConsistentRead=True).get("Item")
    return int(item["items"]["N"]) if item else None


def _note_progress(db: Database, backup_id: str, what: str, count: int) -> None:
    db.client.put_item(
        TableName=db.tables.records,
        Item={
            **record_key(f"{_RESTORES}#{backup_id}", what),
            "items": {"N": str(count)},
            "expires_at": {"N": str(int(time.time()) + 30 * 86_400)},
        },
    )


def _count(stack: Stack, board: Board) -> int:
    """See a board's entries counted; gives how many take a rank, in all its periods."""
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
