"""`leaderboard run`: engine, tables, stream consumer and GraphQL server in one terminal."""

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import NoReturn

import uvicorn

from core.boards import Boards
from core.database import Database
from core.tables import create_tables
from local import ADMIN_KEY, PUBLIC_KEY, graphiql, maintenance
from local.engine import Engine, running_engine, temporary_folder
from local.errors import StackError
from local.stack import RunningStack, connect_local, recorded
from local.stream_reader import StreamReader, connect_streams
from resolvers.auth import Role
from resolvers.http import build_app

_HOST = "127.0.0.1"
_STREAM_RECORDS_KEPT = 10_000  # behind the checkpoint; AWS keeps a day's
_TRIMMED_AT_ONCE = 2_000  # more than a batch, so that the stream shrinks to what is kept


def run(args: argparse.Namespace) -> int:
    """Run the stack until Ctrl-C or SIGTERM; give the exit code.

    Raises:
        StackError: the port is taken, the data folder is in use, or the engine ended by itself.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:
        listener = stack.enter_context(_listener(args.port))
        folder = stack.enter_context(temporary_folder()) if args.ephemeral else args.data
        engine = stack.enter_context(running_engine(folder))
        db = connect_local(engine.endpoint)
        create_tables(db)
        boards = Boards(db)
        running = RunningStack(engine.endpoint, f"http://localhost:{args.port}/graphql", os.getpid())
        stack.enter_context(recorded(folder, running))
        stack.enter_context(_consumer(db, boards, engine))
        gone = args.ephemeral or engine.database is None
        data = f"{folder.resolve()}, {'gone with the stack' if gone else 'kept'}"
        _serve(db, boards, listener, engine.process, _welcome(running, data))
    return 0


class _Server(uvicorn.Server):
    """Says where everything is once it takes requests."""

    def __init__(self, config: uvicorn.Config, welcome: str) -> None:
        super().__init__(config)
        self._welcome = welcome

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        sys.stdout.write(self._welcome)
        sys.stdout.flush()


def _serve(
    db: Database, boards: Boards, listener: socket.socket, engine: subprocess.Popen[bytes], welcome: str
) -> None:
    app = build_app(db, boards, {ADMIN_KEY: Role.ADMIN, PUBLIC_KEY: Role.PUBLIC})
    app.router.routes[:0] = graphiql.routes()
    config = uvicorn.Config(app, log_level="warning", access_log=False, timeout_graceful_shutdown=3)
    server = _Server(config, welcome)

    def end_with_engine() -> None:
        engine.wait()
        server.should_exit = True

    threading.Thread(target=end_with_engine, name="engine-watch", daemon=True).start()
    server.run(sockets=[listener])
    if engine.poll() is not None:
        raise StackError(f"the DynamoDB engine ended by itself, with code {engine.returncode}; run it again")


@contextlib.contextmanager
def _consumer(db: Database, boards: Boards, engine: Engine) -> Iterator[None]:
    """Count the stream, keep the engine's copy of it short, and grow the counters, for the block's length."""

    def trim(counted: str) -> None:
        engine.trim_stream(db.tables.scores, int(counted) - _STREAM_RECORDS_KEPT, _TRIMMED_AT_ONCE)

    stop = threading.Event()
    reader = StreamReader(db, boards, connect_streams(db), on_checkpoint=trim)
    threads = [
        threading.Thread(target=reader.run, args=(stop,), name="stream", daemon=True),
        threading.Thread(target=maintenance.run, args=(db, boards, stop), name="maintenance", daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join(timeout=5)


@contextlib.contextmanager
def _listener(port: int) -> Iterator[socket.socket]:
    """Take the port first: it is the likeliest thing to be in the way."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((_HOST, port))
            listener.listen()
        except OSError as error:
            raise StackError(
                f"port {port} cannot be had ({error.strerror}); choose another: --port N"
            ) from error
        yield listener


def _welcome(running: RunningStack, data: str) -> str:
    return (
        f"GraphQL    {running.url}  (POST; in a browser: GraphiQL)\n"
        f"Keys       x-api-key: {ADMIN_KEY}   everything\n"
        f"           x-api-key: {PUBLIC_KEY}  what a client with the public key may do\n"
        f"DynamoDB   {running.endpoint}  (any region and credentials)\n"
        f"Data       {data}\n"
        "Ready. Ctrl-C ends it.\n"
    )


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt
