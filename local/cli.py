"""The `leaderboard` command: its subcommands and exit codes."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Sequence

from botocore.exceptions import BotoCoreError, ClientError

from core.domain.errors import LeaderboardError
from local.commands import (
    audit,
    backup,
    counters,
    delete,
    demo,
    export,
    import_file,
    run,
    token,
    watch,
)
from local.errors import Refused, StackError

_FOUND_PROBLEMS = 1
_COULD_NOT_RUN = 2
_INTERRUPTED = 130
_OUTPUT_CLOSED = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code: 0 success, 1 a problem or refusal, 2 could not run."""
    logging.basicConfig(format="%(levelname)s: %(message)s")
    args = parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = args.func
    try:
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
        return _fail("interrupted", _INTERRUPTED)
    return code


def parser() -> argparse.ArgumentParser:
    """Return the parser of all subcommands; each sets `func`, which returns an exit code."""
    leaderboard = argparse.ArgumentParser(
        prog="leaderboard",
        description="Run leaderboards on this machine, and manage those on AWS.",
        epilog="Exit codes: 0 success; 1 the command found a problem or was refused; 2 it could not run.",
    )
    subparsers = leaderboard.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in (
        run,
        demo,
        import_file,
        export,
        counters,
        backup,
        delete,
        audit,
        watch,
        token,
    ):
        command.add_parser(subparsers)
    return leaderboard


def _fail(message: str, code: int) -> int:
    line = " ".join(message.split())
    sys.stderr.write(f"leaderboard: {line}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
