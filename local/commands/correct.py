"""`leaderboard correct`: set a participant's score, whatever the board's policy."""

import argparse
import getpass
import sys
from datetime import UTC, datetime

from core.domain.scores import display
from core.moderation.correct import correct_entry
from core.records.audit import AuditContext
from local.stack.target import add_target, opened

_DESCRIPTION = """
Sets a participant's score, up or down, whatever the board's policy, and records it (`leaderboard audit`).
With --period in that period; else with --achieved-at in every period that holds it; else in all current
ones. Hidden entries stay hidden. Doing it again changes nothing.
"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `correct` command."""
    parser = subparsers.add_parser("correct", help="set a participant's score", description=_DESCRIPTION)
    parser.add_argument("board", metavar="BOARD", help="the board's id")
    parser.add_argument("participant", metavar="PARTICIPANT", help="the participant's id")
    parser.add_argument(
        "score", metavar="SCORE", nargs="+", help="the right score, one value for each component"
    )
    parser.add_argument("--reason", required=True, help="why, for the audit record")
    parser.add_argument(
        "--achieved-at",
        type=_instant,
        metavar="T",
        help="when it was achieved, such as 2026-11-30T12:00:00Z: its place among ties; default: as it is",
    )
    parser.add_argument("--period", metavar="P", help="the only period to correct, such as daily-2026-11-30")
    add_target(parser)
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    with opened(args) as stack:
        board = stack.boards.get(args.board)
        audit = AuditContext(actor=getpass.getuser(), at=datetime.now(UTC), reason=args.reason)
        entries = correct_entry(
            stack.db,
            board,
            args.participant,
            args.score,
            audit,
            achieved_at=args.achieved_at,
            period=args.period,
        )
    for entry in entries:
        hidden = ", hidden" if entry.hidden else ""
        score, moment = display(board.components, entry.score), entry.achieved_at.isoformat()
        sys.stdout.write(f"{entry.period}: {score}, achieved at {moment}{hidden}\n")
    return 0


def _instant(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError("must be a time such as 2026-11-30T12:00:00Z") from None
