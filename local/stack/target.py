"""Open the stack that a command works on: a local one, running or not, or one on AWS."""

import argparse
import contextlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import boto3

from core.boards import Boards
from core.storage.database import Database, Tables, connect
from core.storage.tables import create_tables
from local.errors import StackError
from local.stack.engine import running_engine
from local.stack.roles import enforce
from local.stack.running import find_running
from local.stack.stream_reader import StreamReader, connect_streams

DEFAULT_FOLDER = Path(".leaderboard")
_PREFIX = "leaderboard"


class Stack(NamedTuple):
    """An open stack.

    `drain` returns once every change so far is counted. `follow` has changes counted until its event is set.
    """

    db: Database
    boards: Boards
    drain: Callable[[], object]
    follow: Callable[[threading.Event], object]


def add_target(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name the stack, as `opened` reads them."""
    target = parser.add_argument_group(
        "which stack", "Default: the local stack with its data in ./.leaderboard."
    )
    target.add_argument(
        "--data", type=Path, default=DEFAULT_FOLDER, metavar="FOLDER", help="data folder of a local stack"
    )
    target.add_argument("--stack", metavar="NAME", help="a stack on AWS; uses the configured credentials")
    target.add_argument("--region", metavar="R", help="region of --stack; default: the configured one")


@contextlib.contextmanager
def opened(args: argparse.Namespace, *, creates: bool = False) -> Iterator[Stack]:
    """Open the stack that `add_target`'s arguments name, for the length of the block.

    Starts the engine of a local stack that does not run. Creates a missing data folder if `creates`.

    Raises:
        StackError: the data folder is missing or in use, or no region is configured.
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
        raise StackError(f"there is no data folder {args.data}; name one with --data FOLDER")
    with running_engine(args.data) as engine:
        db = connect_local(engine.endpoint)
        create_tables(db)
        boards = Boards(db)
        reader = StreamReader(db, boards, connect_streams(db))
        yield Stack(db, boards, reader.drain, reader.run)


@contextlib.contextmanager
def following(stack: Stack) -> Iterator[None]:
    """Have changes counted in the background for the length of the block."""
    stop = threading.Event()
    thread = threading.Thread(target=stack.follow, args=[stop], name="stream", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def connect_local(endpoint: str) -> Database:
    """Return the local stack's tables in the engine at an endpoint."""
    db = connect(
        Tables.with_prefix(_PREFIX),
        region="us-east-1",  # the engine takes any
        endpoint_url=endpoint,
        access_key="local",
        secret_key="local",  # noqa: S106 - the engine takes any
    )
    enforce(db)
    return db


def _on_aws(name: str, region: str | None) -> Stack:
    region = region or boto3.Session().region_name
    if region is None:
        raise StackError(f"no region is configured for stack {name}; name it with --region")
    db = connect(Tables.with_prefix(name), region=region)
    return Stack(db, Boards(db), lambda: None, threading.Event.wait)  # the stream's Lambda counts
