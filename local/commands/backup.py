"""`leaderboard backup` and `restore`: copy all boards with their data into a folder, and into a stack."""

import argparse
from pathlib import Path

from local.backups.restore import restore
from local.backups.state import complete_since
from local.backups.write import back_up
from local.errors import StackError
from local.stack.target import add_target, opened

_BACKUP = """
Writes all boards to a folder: entries of every period, hidden ones too, archives and audit records. If it is
interrupted, run it again: it resumes. A complete backup is never changed.
"""
_RESTORE = """
Writes a backup into a stack that has none of its boards, and counts the entries. The boards accept no
submissions until the restore is complete. If it is interrupted, run it again: it resumes.
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the two commands."""
    for name, func, summary, description in (
        ("backup", _backup, "write all boards with all their data to a folder", _BACKUP),
        ("restore", _restore, "write a backup into a stack", _RESTORE),
    ):
        parser = subparsers.add_parser(name, help=summary, description=description)
        parser.add_argument("folder", metavar="FOLDER", type=Path, help="the backup's folder")
        add_target(parser)
        parser.set_defaults(func=func, when_interrupted="to resume")


def _backup(args: argparse.Namespace) -> int:
    with opened(args) as stack:
        began = complete_since(args.folder, stack.db.tables.boards)
        if began is not None:
            raise StackError(
                f"nothing was saved: {args.folder} holds the finished backup of {began}; name another folder"
            )
        parts = back_up(stack.db, args.folder)
    print(f"{sum(part.items for part in parts):,} items in {args.folder}")  # noqa: T201
    return 0


def _restore(args: argparse.Namespace) -> int:
    with opened(args, creates=True) as stack:
        boards, entries = restore(stack, args.folder)
    print(f"restored {boards:,} boards; {entries:,} entries are counted and ranked")  # noqa: T201
    return 0
