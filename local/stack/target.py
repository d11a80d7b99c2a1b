"""The stack that a command works on: the local one, running or not, or one on AWS."""

import argparse
import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import boto3

from core.boards import Boards
from core.storage.database import Database, Tables, connect
from core.storage.tables import create_tables
from local.errors import StackError
from local.stack.engine import running_engine
from local.stack.stream_reader import StreamReader, connect_streams

DEFAULT_FOLDER = Path(".leaderboard")
_PREFIX = "leaderboard"
_RECORD = "stack.json"


class Stack(NamedTuple):
    """Where a command works.

    `drain` returns once all that was submitted so far is counted; `follow` has what comes counted until its
    event is set.
    """

    db: Database
    boards: Boards
    drain: Callable[[], object]
    follow: Callable[[threading.Event], object]


@dataclass(frozen=True, slots=True)
class RunningStack:
    """What a running local stack writes into its data folder, so that other commands find it."""

    endpoint: str  # of DynamoDB
    url: str  # of GraphQL
    pid: int

    def is_running(self) -> bool:
        """Say whether its process is there and its engine takes connections."""
        address = urlsplit(self.endpoint)
        try:
            os.kill(self.pid, 0)
            socket.create_connection((address.hostname or "", address.port or 0), timeout=2).close()
        except OSError:
            return False
        return True


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that `opened` reads: which stack a command works on."""
    target = parser.add_argument_group("which stack", "By default the one whose data is in ./.leaderboard.")
    target.add_argument("--data", type=Path, default=DEFAULT_FOLDER, metavar="FOLDER", help="a local stack")
    target.add_argument("--stack", metavar="NAME", help="a stack on AWS, with the usual AWS credentials")
    target.add_argument("--region", metavar="R", help="its region, by default that of the AWS configuration")


@contextlib.contextmanager
def opened(args: argparse.Namespace, *, creates: bool = False) -> Iterator[Stack]:
    """Open the stack that `add_target`'s arguments name, for the length of the block.

    A local stack that does not run gets its engine for as long, and with `creates` its data folder.

    Raises:
        StackError: there is no such data folder, it is held by something else, or no region is known.
    """
    if args.stack is not None:
        yield _on_aws(args.stack, args.region)
        return
    running = find_running(args.data)
    if running is not None:
        db = connect_local(running.endpoint)
        boards = Boards(db)
        reader = StreamReader(db, boards, connect_streams(db))
        yield Stack(db, boards, reader.wait_until_counted, threading.Event.wait)  # the running stack counts
        return
    if not args.data.exists() and not creates:
        raise StackError(f"no stack keeps its data in {args.data}; name its folder with --data")
    with running_engine(args.data) as engine:
        db = connect_local(engine.endpoint)
        create_tables(db)
        boards = Boards(db)
        reader = StreamReader(db, boards, connect_streams(db))
        yield Stack(db, boards, reader.drain, reader.run)


def connect_local(endpoint: str) -> Database:
    """Open the local stack's tables in the engine at an endpoint."""
    return connect(
        Tables.with_prefix(_PREFIX),
        region="us-east-1",  # any that exists
        endpoint_url=endpoint,
        access_key="local",
        secret_key="local",  # noqa: S106 - the engine takes any
    )


def find_running(folder: Path) -> RunningStack | None:
    """Return the stack that runs on a data folder; what a killed one left behind does not count."""
    try:
        running = RunningStack(**json.loads((folder / _RECORD).read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None
    return running if running.is_running() else None


@contextlib.contextmanager
def recorded(folder: Path, running: RunningStack) -> Iterator[None]:
    """Let other commands find the running stack for the length of the block."""
    record = folder / _RECORD
    fresh = folder / f"{_RECORD}.new"
    fresh.write_text(json.dumps(asdict(running)))
    fresh.replace(record)
    try:
        yield
    finally:
        record.unlink(missing_ok=True)


def _on_aws(name: str, region: str | None) -> Stack:
    region = region or boto3.Session().region_name
    if region is None:
        raise StackError(f"the region of stack {name} is not known; name it with --region")
    db = connect(Tables.with_prefix(name), region=region)
    return Stack(db, Boards(db), lambda: None, threading.Event.wait)  # there the stream's Lambda counts
