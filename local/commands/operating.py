"""`leaderboard delete` and `audit`: a board taken away for good, and the record of what was done."""

import argparse
import getpass
import sys
from datetime import UTC, datetime
from itertools import islice

from rich.table import Table

from core.boards import deletion_name
from core.domain.errors import LeaderboardNotFound
from core.domain.keys import SEPARATOR
from core.domain.periods import ALL_TIME
from core.ranking.queries import size
from core.records.audit import AuditContext, all_records
from core.records.jobs import Item, Job, pending_jobs
from core.upkeep.deletion import delete_rest
from local.errors import StackError
from local.importing.report import plain_console, progress
from local.stack.target import Stack, add_target, opened

_STEP_SECONDS = 1.0
_DELETE = """
Deletes a board with every entry, counter and archive. It is gone at once and its id is free; what it held
goes meanwhile. If this is ended, maintenance goes on, or the same command does. The audit record stays.
"""
_AUDIT = """
Prints what was done on a board, newest first: entries hidden, restored and removed, the board closed,
reopened or deleted. Without a board: who was forgotten, by a hash of their id.
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the two commands."""
    delete = subparsers.add_parser("delete", help="delete a board and all that it holds", description=_DELETE)
    delete.add_argument("board", metavar="BOARD")
    delete.add_argument("--reason", help="why, for the record")
    delete.add_argument("--yes", action="store_true", help="do not ask")
    add_target(delete)
    delete.set_defaults(func=_delete)

    audit = subparsers.add_parser(
        "audit", help="print who did what to a board's participants", description=_AUDIT
    )
    audit.add_argument("board", metavar="BOARD", nargs="?")
    audit.add_argument("--limit", type=int, default=100, metavar="N", help="default 100")
    add_target(audit)
    audit.set_defaults(func=_audit)


def audit(reason: str | None = None) -> AuditContext:
    """Say for the record who runs a command now, and why."""
    return AuditContext(actor=getpass.getuser(), at=datetime.now(UTC), reason=reason)


def _delete(args: argparse.Namespace) -> int:
    with opened(args) as stack:
        try:
            board = stack.boards.get(args.board)
        except LeaderboardNotFound:
            names = _unfinished(stack, args.board)
            if not names:
                raise
        else:
            entries = size(stack.db, board, ALL_TIME)
            _confirm(args, entries)
            stack.boards.delete(board.id, audit(args.reason), size=entries)
            names = [deletion_name(board)]
        for name in names:
            _finish(stack, name, args.board)
    return 0


def _confirm(args: argparse.Namespace, entries: int) -> None:
    if args.yes:
        return
    if not sys.stdin.isatty():
        raise StackError(f"{args.board} has {entries:,} entries; to delete it without being asked: --yes")
    if input(f"Delete {args.board} with {entries:,} entries? Type its id: ") != args.board:
        raise StackError("nothing was deleted")


def _finish(stack: Stack, name: str, board_id: str) -> None:
    """Delete what a board held, until nothing is left but to look once more for what late writers left."""
    job = _chore(stack, name)
    total = int(job["of"]["N"]) if job else 0
    with progress(f"deleting {board_id}", total) as tell:
        while job is not None:
            finished = delete_rest(stack.db, name, job, _STEP_SECONDS, lambda gone: tell(min(gone, total)))
            job = _chore(stack, name)
            if finished or (job and "looked_through" in job):
                break
    gone = int(job["gone"]["N"]) if job and "gone" in job else total
    print(f"{board_id} is deleted, {gone:,} entries; what late writers leave, maintenance takes")  # noqa: T201


def _chore(stack: Stack, name: str) -> Item | None:
    return next((item for _, one, item in pending_jobs(stack.db, Job.DELETE) if one == name), None)


def _unfinished(stack: Stack, board_id: str) -> list[str]:
    return [
        name for _, name, _ in pending_jobs(stack.db, Job.DELETE) if name.rpartition(SEPARATOR)[0] == board_id
    ]


def _audit(args: argparse.Namespace) -> int:
    table = Table()
    for name in ("when", "what", "who did it", "participant", "why"):
        table.add_column(name, overflow="fold")  # a hash is worth nothing if its end is missing
    with opened(args) as stack:
        for one in islice(all_records(stack.db, args.board), args.limit):
            who = one.participant_id or (f"forgotten {one.participant_hash}" if one.participant_hash else "")
            when = one.at.isoformat(timespec="seconds")
            table.add_row(when, one.action.value, one.actor, who, one.reason or "")
    plain_console().print(table)
    return 0
