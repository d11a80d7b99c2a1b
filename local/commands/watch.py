"""`leaderboard watch`: print a participant's rank changes, or a board's top, as they happen."""

import argparse

from core.domain.errors import InvalidInput
from core.domain.periods import ALL_TIME
from local.stack.target import add_target


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `watch` command."""
    parser = subparsers.add_parser(
        "watch",
        help="print a participant's rank bucket changes, or a board's top, as they happen",
        description="Prints the current state, then each change of rank bucket or top, until Ctrl-C. A move "
        "within a bucket is no event. Reconnects after a lost connection.",
    )
    parser.add_argument("board", metavar="BOARD", help="the board's id")
    parser.add_argument("participant", metavar="PARTICIPANT", nargs="?", help="the participant's id")
    parser.add_argument("--top", action="store_true", help="watch the board's top instead")
    parser.add_argument(
        "--period",
        default=ALL_TIME,
        metavar="KEY",
        help="such as daily-2026-11-30, or daily, which moves to the next day by itself; default: all-time",
    )
    add_target(parser)
    parser.add_argument("--url", metavar="URL", help="GraphQL URL of another API, on AppSync or elsewhere")
    parser.add_argument("--api-key", metavar="KEY", help="API key for it; default: the AWS credentials")
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    from local.client import api, watch  # noqa: PLC0415 - importing gql would slow every other command

    if (args.participant is None) != args.top:
        raise InvalidInput("PARTICIPANT: name one or use --top, not both")
    watch.watch(api.find(args), args.board, args.period, args.participant)
    return 0
