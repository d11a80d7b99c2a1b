"""The `leaderboard` command: its subcommands and exit codes."""

import argparse
import contextlib
import logging
import os
import shlex
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from typing import NoReturn

from botocore.exceptions import BotoCoreError, ClientError

from core.domain.errors import LeaderboardError
from local.commands import (
    audit,
    backup,
    correct,
    counters,
    delete,
    demo,
    doctor,
    export,
    find,
    import_file,
    list_boards,
    run,
    status,
    submit,
    token,
    top,
    watch,
)
from local.errors import Refused, StackError

_FOUND_PROBLEMS = 1
_COULD_NOT_RUN = 2
_INTERRUPTED = 130
_OUTPUT_CLOSED = 141
_CLEANUP_SECONDS = 0.6


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code, as the help lists them."""
    logging.basicConfig(format="%(levelname)s: %(message)s")
    argv = sys.argv[1:] if argv is None else argv
    args = parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = args.func
    try:
        with _ended_by_interrupt(_how_to_go_on(args, argv)):
            code = command(args)
            sys.stdout.flush()
    except BrokenPipeError:  # as with `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _OUTPUT_CLOSED
    except (LeaderboardError, Refused) as error:
        return _fail(f"{error.code}: {error}", _FOUND_PROBLEMS)
    except StackError as error:
        return _fail(str(error), _COULD_NOT_RUN)
    except (BotoCoreError, ClientError) as error:
        on_aws = getattr(args, "stack", None) is not None
        advice = "check --stack, --region and the AWS credentials" if on_aws else "run the command again"
        return _fail(f"{error}; {advice}", _COULD_NOT_RUN)
    except KeyboardInterrupt:
        return _INTERRUPTED
    return code


def parser() -> argparse.ArgumentParser:
    """Return the parser of all subcommands; each sets `func`, which returns an exit code."""
    leaderboard = argparse.ArgumentParser(
        prog="leaderboard",
        description="Run leaderboards on this machine, and manage those on AWS.",
        epilog="Exit codes: 0 success; 1 the command found a problem or was refused; 2 it could not run; "
        "130 it was interrupted (Ctrl-C); 141 its output was closed.",
    )
    leaderboard.add_argument("--version", action="version", version=f"%(prog)s {_version()}")
    subparsers = leaderboard.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (
        run,
        demo,
        doctor,
        status,
        list_boards,
        top,
        find,
        submit,
        import_file,
        export,
        counters,
        backup,
        correct,
        delete,
        audit,
        watch,
        token,
    ):
        command.add_parser(subparsers)
    return leaderboard


@contextlib.contextmanager
def _ended_by_interrupt(message: str) -> Iterator[None]:
    """Have Ctrl-C print a message and end the block: by its own cleanup if that is quick, else at once.

    Calls that wait for DynamoDB cannot be cancelled. Leaving them is safe: what a command stores can be
    resumed from any moment, also after `kill -9`.
    """

    def interrupt(*_: object) -> NoReturn:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # for good: the process ends
        os.write(2, f"\nleaderboard: {message}\n".encode())  # sys.stderr may be in use
        end = threading.Timer(_CLEANUP_SECONDS, os._exit, [_INTERRUPTED])
        end.daemon = True
        end.start()
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread gets signals
        return
    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    except BaseException:
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # then whatever was raised is a consequence
            raise KeyboardInterrupt from None
        raise
    finally:
        if signal.getsignal(signal.SIGINT) is interrupt:
            signal.signal(signal.SIGINT, before)


def _how_to_go_on(args: argparse.Namespace, argv: Sequence[str]) -> str:
    advice = getattr(args, "when_interrupted", None)
    return f"interrupted; {advice}: {shlex.join(['leaderboard', *argv])}" if advice else "interrupted"


def _version() -> str:
    try:
        return metadata.version("leaderboard-appsync")
    except metadata.PackageNotFoundError:
        return "(not installed)"


def _fail(message: str, code: int) -> int:
    line = " ".join(message.split())
    sys.stderr.write(f"leaderboard: {line}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
