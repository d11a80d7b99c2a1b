"""`leaderboard doctor`: check that this machine has what the stack needs, and say what to do next."""

import argparse
import os
import platform
import shutil
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

from local import NODE_MODULES
from local.console import add_json, print_table
from local.stack.engine import find_engine
from local.stack.running import find_running
from local.stack.target import DEFAULT_FOLDER

_COLUMNS = {"what": "what", "state": "state", "found": "found", "next": "what to do"}
_OK, _OPTIONAL, _PROBLEM = "ok", "optional", "PROBLEM"
_PYTHON = (3, 11)

Check = tuple[str, str, str, str | None]  # what, state, found, what to do


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `doctor` command."""
    parser = subparsers.add_parser(
        "doctor",
        help="check this machine and say what to do next",
        description="Checks Python, the DynamoDB engine, GraphiQL, the console, Terraform, the ports and the "
        "data folder. Exit code 1 if `leaderboard run` would fail.",
    )
    parser.add_argument("--port", type=int, action="append", metavar="N", help="default: 8080 and 8443")
    parser.add_argument(
        "--data", type=Path, default=DEFAULT_FOLDER, metavar="FOLDER", help="data folder of a local stack"
    )
    add_json(parser)
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    checks = [_python(), _engine(), *_pages(), *_tools(), *_folder_and_ports(args)]
    print_table(args, _COLUMNS, checks)
    return 1 if any(state == _PROBLEM for _, state, _, _ in checks) else 0


def _python() -> Check:
    if sys.version_info >= _PYTHON:
        return "Python", _OK, platform.python_version(), None
    return "Python", _PROBLEM, platform.python_version(), "install Python 3.11 or newer, then: make setup"


def _engine() -> Check:
    engine = find_engine()
    if engine is not None:
        return "DynamoDB engine", _OK, str(engine), None
    advice = "make setup; without it the stack runs on moto, which is slow and keeps nothing"
    return "DynamoDB engine", _OPTIONAL, "missing", advice


def _pages() -> Iterator[Check]:
    for name, package in (("GraphiQL", "graphiql"), ("console", "preact")):
        folder = NODE_MODULES / package
        if folder.exists():
            yield name, _OK, str(folder), None
        else:
            yield name, _OPTIONAL, "missing", "make setup; the API works without it"


def _tools() -> Iterator[Check]:
    for tool, advice in (
        (
            "node",
            "install Node.js with npm: `make setup` fetches the engine, GraphiQL and the console with it",
        ),
        ("terraform", "install Terraform to deploy on AWS: docs/operations.md"),
    ):
        found = shutil.which(tool)
        yield tool, _OK if found else _OPTIONAL, found or "missing", None if found else advice


def _folder_and_ports(args: argparse.Namespace) -> Iterator[Check]:
    running = find_running(args.data)
    folder = args.data.resolve()
    nearest = next(place for place in (folder, *folder.parents) if place.exists())
    if running is not None:
        yield "data folder", _OK, f"{folder}; a stack runs on it at {running.url}", None
    elif not nearest.is_dir() or not os.access(nearest, os.W_OK):
        yield "data folder", _PROBLEM, f"{folder} cannot be written", "choose another with --data FOLDER"
    else:
        yield "data folder", _OK, f"{folder}{'' if nearest == folder else ', not created yet'}", None
    own = running.url if running else ""
    for port in args.port or (8080, 8443):
        if f":{port}/" in own:
            yield f"port {port}", _OK, "used by the running stack", None
        elif _is_free(port):
            yield f"port {port}", _OK, "free", None
        else:
            # A running stack's TLS port is its own, and TLS is not needed.
            state = _OPTIONAL if running or port == 8443 else _PROBLEM
            option = "--tls-port" if port == 8443 else "--port"
            yield f"port {port}", state, "in use", f"end what uses it, or: leaderboard run {option} N"


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
