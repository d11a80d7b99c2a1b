"""`leaderboard token`: print a participant's token for the local stack."""

import argparse
import sys
from pathlib import Path

from core.domain.text import check_id
from local.stack.target import DEFAULT_FOLDER


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `token` command."""
    parser = subparsers.add_parser(
        "token",
        help="print a participant's token for the local stack",
        description="Prints a JWT for the header Authorization. Its bearer is the participant: may read, "
        "subscribe, and submit own scores to boards whose clientAccess is SUBMIT.",
    )
    parser.add_argument("participant", metavar="PARTICIPANT", help="the participant's id")
    parser.add_argument("--hours", type=_hours, default=24.0, metavar="N", help="lifetime; default: 24")
    parser.add_argument(
        "--data", type=Path, default=DEFAULT_FOLDER, metavar="FOLDER", help="data folder of a local stack"
    )
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    from local.server import tokens  # noqa: PLC0415 - importing cryptography would slow every other command

    check_id("PARTICIPANT", args.participant)
    sys.stdout.write(tokens.mint(tokens.read_secret(args.data), args.participant, args.hours * 3600) + "\n")
    return 0


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not 0 < hours < 1e6:
        raise argparse.ArgumentTypeError("must be a number of hours above 0")
    return hours
