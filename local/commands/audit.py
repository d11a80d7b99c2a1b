"""`leaderboard audit`: print the audit records of a board, or of forgotten participants."""

import argparse
from itertools import islice

from core.records.audit import all_records
from local.console import add_json, print_table
from local.stack.target import add_target, opened

_DESCRIPTION = """
Prints the audit records of a board, newest first: entries hidden, restored and removed, the board closed,
reopened or deleted. Without a board: participants forgotten, by a hash of their id.
"""
_COLUMNS = {
    "at": "when",
    "action": "what",
    "actor": "who did it",
    "participant": "participant",
    "reason": "why",
}


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `audit` command."""
    parser = subparsers.add_parser(
        "audit", help="print what was done to a board or a participant, by whom", description=_DESCRIPTION
    )
    parser.add_argument("board", metavar="BOARD", nargs="?", help="the board's id")
    parser.add_argument("--limit", type=int, default=100, metavar="N", help="records; default: 100")
    add_json(parser)
    add_target(parser)
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    rows = []
    with opened(args) as stack:
        for record in islice(all_records(stack.db, args.board), args.limit):
            participant = record.participant_id
            if participant is None and record.participant_hash:
                participant = f"forgotten {record.participant_hash}"
            when = record.at.isoformat(timespec="seconds")
            rows.append((when, record.action.value, record.actor, participant, record.reason))
    print_table(args, _COLUMNS, rows)
    return 0
