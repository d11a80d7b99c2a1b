"""`leaderboard submit`: submit one score."""

import argparse
import sys
from datetime import UTC, datetime

from core.domain.scores import display
from core.submissions.submit import Submission, submit_score
from local.stack.target import add_target, opened


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `submit` command."""
    parser = subparsers.add_parser(
        "submit",
        help="submit one score",
        description="Submits a score, achieved now, and prints the participant's entries afterwards.",
    )
    parser.add_argument("board", metavar="BOARD", help="the board's id")
    parser.add_argument("participant", metavar="PARTICIPANT", help="the participant's id")
    parser.add_argument("score", metavar="SCORE", nargs="+", help="one for each component")
    parser.add_argument("--display-name", metavar="NAME")
    parser.add_argument("--metadata", metavar="JSON")
    parser.add_argument("--submission-id", metavar="ID", help="makes it safe to submit again")
    add_target(parser)
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    submission = Submission(
        args.participant,
        args.score,
        display_name=args.display_name,
        metadata=args.metadata,
        submission_id=args.submission_id,
    )
    with opened(args) as stack:
        board = stack.boards.get(args.board)
        result = submit_score(stack.db, board, submission, now=datetime.now(UTC))
        stack.drain()
    outcome = "accepted" if result.accepted else "not accepted: an earlier score stands"
    sys.stdout.write(("submitted before" if result.duplicate else outcome) + "\n")
    for entry in result.entries:
        sys.stdout.write(f"{entry.period}: {display(board.components, entry.score)}\n")
    return 0
