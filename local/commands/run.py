"""`leaderboard run`: the whole stack in one terminal."""

import argparse
from pathlib import Path

from local.errors import StackError
from local.stack.target import DEFAULT_FOLDER


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `run` command."""
    parser = subparsers.add_parser(
        "run",
        help="run the whole stack on this machine",
        description="Runs the DynamoDB engine, the GraphQL server with the console and GraphiQL, and the "
        "stream reader until Ctrl-C, and prints their addresses. The data is kept for the next run.",
    )
    parser.add_argument("--port", type=_port, default=8080, metavar="N", help="GraphQL's port; default: 8080")
    parser.add_argument(
        "--tls",
        action="store_true",
        help="serve TLS too, with a certificate for localhost made in the data folder",
    )
    parser.add_argument("--tls-cert", type=Path, metavar="FILE", help="a certificate of your own instead")
    parser.add_argument("--tls-key", type=Path, metavar="FILE", help="its key; both in PEM")
    parser.add_argument("--tls-port", type=_port, default=8443, metavar="N", help="TLS port; default: 8443")
    parser.add_argument(
        "--submission-wait",
        type=_seconds,
        default=2.0,
        metavar="SECONDS",
        help="longest wait of a submission for a worker before it is refused as Throttled; default: 2",
    )
    parser.add_argument(
        "--allow-origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="let in web pages of this origin too, such as https://game.example, null for files "
        "or * for all; may be repeated. Else only pages of this machine may use the stack, whose keys "
        "everyone knows",
    )
    data = parser.add_mutually_exclusive_group()
    data.add_argument(
        "--data",
        type=Path,
        default=DEFAULT_FOLDER,
        metavar="FOLDER",
        help=f"data folder; default: ./{DEFAULT_FOLDER}",
    )
    data.add_argument("--ephemeral", action="store_true", help="delete the data at the end")
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    if (args.tls_cert is None) != (args.tls_key is None):
        raise StackError("--tls-cert and --tls-key: give both, or neither")
    if args.tls and args.tls_cert is not None:
        raise StackError("--tls makes a certificate; give it or --tls-cert, not both")
    from local.server.main import run  # noqa: PLC0415 - importing GraphQL would slow every other command

    return run(args)


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
        raise argparse.ArgumentTypeError("must be a port number from 1 to 65535")
    return int(text)
