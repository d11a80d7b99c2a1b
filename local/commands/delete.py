"""`leaderboard delete`: delete a board with all its data."""

import argparse
import getpass
import sys
from datetime import UTC, datetime

from core.boards import deletion_name
from core.domain.errors import LeaderboardNotFound
from core.domain.keys import SEPARATOR
from core.domain.periods import ALL_TIME
from core.ranking.queries import size
from core.records.audit import AuditContext
from core.records.jobs import Item, Job, pending_jobs
from core.upkeep.deletion import delete_rest
from local.console import progress
from local.errors import StackError
from local.stack.target import Stack, add_target, opened

_SLICE_SECONDS = 1.0
_DESCRIPTION = """
Deletes a board with every entry, counter and archive. The board disappears and its id is free at once; then
its data is deleted. If this is interrupted, maintenance finishes it, or the same command does. Audit records
stay.
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `delete` command."""
    parser = subparsers.add_parser(
        "delete", help="delete a board with all its data", description=_DESCRIPTION
    )
    parser.add_argument("board", metavar="BOARD", help="the board's id")
    parser.add_argument("--reason", help="why, for the audit record")
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")
    add_target(parser)
    parser.set_defaults(func=_run, when_interrupted="to resume")


def _run(args: argparse.Namespace) -> int:
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
            context = AuditContext(actor=getpass.getuser(), at=datetime.now(UTC), reason=args.reason)
            stack.boards.delete(board.id, context, size=entries)
            names = [deletion_name(board)]
        for name in names:
            _finish(stack, name, args.board)
    return 0


def _confirm(args: argparse.Namespace, entries: int) -> None:
    if args.yes:
        return
    if not sys.stdin.isatty():
        raise StackError(
            f"{args.board} has {entries:,} entries; to delete it without confirmation, use --yes"
        )
    if input(f"Delete {args.board} with {entries:,} entries? Type its id: ") != args.board:
        raise StackError("nothing was deleted")


def _finish(stack: Stack, name: str, board_id: str) -> None:
    """Delete a board's data, until only the last look for late writes is left, which maintenance takes."""
    job = _job(stack, name)
    total = int(job["of"]["N"]) if job else 0
    with progress(f"deleting {board_id}", total) as show:
        while job is not None:
            finished = delete_rest(stack.db, name, job, _SLICE_SECONDS, lambda gone: show(min(gone, total)))
            job = _job(stack, name)
            if finished or (job and "looked_through" in job):
                break
    gone = int(job["gone"]["N"]) if job and "gone" in job else total
    print(f"deleted {board_id} with {gone:,} entries; maintenance deletes what is still written to it")  # noqa: T201


def _job(stack: Stack, name: str) -> Item | None:
    return next((item for _, found, item in pending_jobs(stack.db, Job.DELETE) if found == name), None)


def _unfinished(stack: Stack, board_id: str) -> list[str]:
    """Return the names of deletions that were interrupted, of boards with this id."""
    return [
        name for _, name, _ in pending_jobs(stack.db, Job.DELETE) if name.rpartition(SEPARATOR)[0] == board_id
    ]
