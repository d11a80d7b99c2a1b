"""The `leaderboard` command: its subcommands, and what it says when one cannot go on."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from core.domain.errors import LeaderboardError
from core.domain.periods import ALL_TIME
from core.domain.text import check_id
from local import backup, counters, demo, exporting, importing, operating
from local.errors import Refused, StackError
from local.stack import DEFAULT_FOLDER, add_target

_FOUND_WRONG = 1
_COULD_NOT_RUN = 2
_INTERRUPTED = 130
_NOBODY_READS = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code: 0 all is well, 1 it found something wrong, 2 it could not run."""
    logging.basicConfig(format="%(levelname)s: %(message)s")
    args = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = args.func
    try:
        code = command(args)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head` has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NOBODY_READS
    except (LeaderboardError, Refused) as error:
        return _say(f"{error.code}: {error}", _FOUND_WRONG)
    except StackError as error:
        return _say(str(error), _COULD_NOT_RUN)
    except (BotoCoreError, ClientError) as error:
        on_aws = getattr(args, "stack", None) is not None
        check = "check --stack, --region and the AWS credentials" if on_aws else "run it again"
        return _say(f"{error}; {check}", _COULD_NOT_RUN)
    except KeyboardInterrupt:
        return _say("interrupted", _INTERRUPTED)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="leaderboard",
        description="Leaderboards on this machine and on AWS.",
        epilog="Exit codes: 0 all is well, 1 the command found something wrong, 2 it could not run.",
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_run(subparsers)
    importing.add_parser(subparsers)
    demo.add_parser(subparsers)
    counters.add_parser(subparsers)
    exporting.add_parser(subparsers)
    backup.add_parser(subparsers)
    operating.add_parser(subparsers)
    _add_token(subparsers)
    _add_watch(subparsers)
    return parser


def _add_run(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "run",
        help="run the whole stack on this machine",
        description="Runs DynamoDB's engine, the GraphQL server with GraphiQL and the stream consumer until "
        "Ctrl-C, and says where each is. What was submitted is still there when it runs again.",
    )
    parser.add_argument("--port", type=_port, default=8080, metavar="N", help="of GraphQL (default 8080)")
    parser.add_argument("--tls-cert", type=Path, metavar="FILE", help="a certificate, to listen over TLS too")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="its key; both in PEM")
    parser.add_argument("--tls-port", type=_port, default=8443, metavar="N", help="for TLS (default 8443)")
    parser.add_argument(
        "--submission-wait",
        type=_seconds,
        default=2.0,
        metavar="SECONDS",
        help="how long a submission may wait for others before it is refused as Throttled (default 2)",
    )
    data = parser.add_mutually_exclusive_group()
    data.add_argument(
        "--data",
        type=Path,
        default=DEFAULT_FOLDER,
        metavar="FOLDER",
        help=f"where the data is kept (default ./{DEFAULT_FOLDER})",
    )
    data.add_argument("--ephemeral", action="store_true", help="keep nothing")
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    if (args.tls_cert is None) != (args.tls_key is None):
        raise StackError("--tls-cert and --tls-key: give both, or neither")
    from local.server import run  # noqa: PLC0415 - GraphQL and the server would slow every other command

    return run(args)


def _add_token(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "token",
        help="make a participant's token for the local stack",
        description="Prints a JWT. Who sends it as the header Authorization is that participant: may read, "
        "subscribe, and submit scores of their own to boards whose clientAccess is SUBMIT.",
    )
    parser.add_argument("participant", metavar="PARTICIPANT", help="the participant's id")
    parser.add_argument("--hours", type=_hours, default=24.0, metavar="N", help="until it ends (default 24)")
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER, metavar="FOLDER", help="a local stack")
    parser.set_defaults(func=_token)


def _token(args: argparse.Namespace) -> int:
    from local import tokens  # noqa: PLC0415 - cryptography would slow every other command

    check_id("PARTICIPANT", args.participant)
    sys.stdout.write(tokens.mint(tokens.read_secret(args.data), args.participant, args.hours * 3600) + "\n")
    return 0


def _add_watch(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "watch",
        help="print a participant's rank changes, or a board's top, as they come",
        description="Prints how things stand, and then each change, until Ctrl-C. Connects again if the "
        "connection is lost.",
    )
    parser.add_argument("board", metavar="BOARD", help="the board's id")
    parser.add_argument("participant", metavar="PARTICIPANT", nargs="?", help="whose rank to watch")
    parser.add_argument("--top", action="store_true", help="watch the board's top instead")
    parser.add_argument(
        "--period",
        default=ALL_TIME,
        metavar="KEY",
        help="such as daily, which moves to the next day by itself, or daily-2026-11-30 (default: all-time)",
    )
    add_target(parser)
    parser.add_argument("--url", metavar="URL", help="another API's GraphQL URL, on AppSync or elsewhere")
    parser.add_argument("--api-key", metavar="KEY", help="its API key; else the usual AWS credentials")
    parser.set_defaults(func=_watch)


def _watch(args: argparse.Namespace) -> int:
    from local import api_client, watch  # noqa: PLC0415 - gql would slow every other command

    return watch.watch(api_client.find(args), args)


def _hours(text: str) -> float:
    try:
        hours = float(text)
    except ValueError:
        hours = 0.0
    if not 0 < hours < 1e6:
        raise argparse.ArgumentTypeError("a token lasts a number of hours above 0")
    return hours


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 1e6:
        raise argparse.ArgumentTypeError("must be a number of seconds above 0")
    return seconds


def _port(text: str) -> int:
    if not (text.isdecimal() and 0 < int(text) < 2**16):
        raise argparse.ArgumentTypeError("a port is a number from 1 to 65535")
    return int(text)


def _say(message: str, code: int) -> int:
    line = " ".join(message.split())
    sys.stderr.write(f"leaderboard: {line}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
