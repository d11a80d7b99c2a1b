"""The `leaderboard` command: its subcommands, and what it says when one cannot go on."""

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from core.errors import LeaderboardError
from local import backup, counters, demo, exporting, importing, operating
from local.errors import StackError
from local.stack import DEFAULT_FOLDER

_FOUND_WRONG = 1
_COULD_NOT_RUN = 2
_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and give its exit code: 0 all is well, 1 it found something wrong, 2 it could not run."""
    logging.basicConfig(format="%(levelname)s: %(message)s")
    args = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = args.func
    try:
        return command(args)
    except LeaderboardError as error:
        return _say(f"{error.code}: {error}", _FOUND_WRONG)
    except StackError as error:
        return _say(str(error), _COULD_NOT_RUN)
    except (BotoCoreError, ClientError) as error:
        on_aws = getattr(args, "stack", None) is not None
        check = "check --stack, --region and the AWS credentials" if on_aws else "run it again"
        return _say(f"{error}; {check}", _COULD_NOT_RUN)
    except KeyboardInterrupt:
        return _say("interrupted", _INTERRUPTED)


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
    return parser


def _add_run(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    parser = subparsers.add_parser(
        "run",
        help="run the whole stack on this machine",
        description="Runs DynamoDB's engine, the GraphQL server with GraphiQL and the stream consumer until "
        "Ctrl-C, and says where each is. What was submitted is still there when it runs again.",
    )
    parser.add_argument("--port", type=_port, default=8080, metavar="N", help="of GraphQL (default 8080)")
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
    from local.server import run  # noqa: PLC0415 - GraphQL and the server would slow every other command

    return run(args)


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
