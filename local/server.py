"""`leaderboard run`: engine, tables, stream consumer and GraphQL server in one terminal."""

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NoReturn

from core.boards import Boards
from core.notifications.events import Event, Published
from core.storage.database import Database
from core.storage.tables import create_tables
from local import ADMIN_KEY, PUBLIC_KEY, graphiql, maintenance, sockets, tokens, web
from local.engine import Engine, running_engine, temporary_folder
from local.errors import StackError
from local.notifier import Notifier
from local.roles import ActingAs
from local.stack import RunningStack, connect_local, recorded
from local.stream_reader import StreamReader, connect_streams
from resolvers.http import Backend, serve
from resolvers.publisher import Publisher, with_key
from resolvers.request.auth import Credentials, Role
from resolvers.request.hub import Hub
from resolvers.request.workers import SubmissionWorkers

_STREAM_RECORDS_KEPT = 10_000  # behind the checkpoint; AWS keeps a day's
_TRIMMED_AT_ONCE = 2_000  # more than a batch, so that the stream shrinks to what is kept


def run(args: argparse.Namespace) -> int:
    """Run the stack until Ctrl-C or SIGTERM; give the exit code.

    Raises:
        StackError: a port is taken, the certificate is none, the data folder is in use, or the engine ended
            by itself.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:
        listener = stack.enter_context(web.listener(args.port, "--port"))
        tls = None
        if args.tls_cert is not None:
            context = web.tls_context(args.tls_cert, args.tls_key)
            tls = stack.enter_context(web.listener(args.tls_port, "--tls-port")), context
        folder = stack.enter_context(temporary_folder()) if args.ephemeral else args.data
        engine = stack.enter_context(running_engine(folder))
        db = connect_local(engine.endpoint)
        create_tables(db)
        boards = Boards(db)
        running = RunningStack(engine.endpoint, f"http://localhost:{args.port}/graphql", os.getpid())
        stack.enter_context(recorded(folder, running))
        gone = args.ephemeral or engine.database is None
        data = f"{folder.resolve()}, {'gone with the stack' if gone else 'kept'}"
        keys = {ADMIN_KEY: Role.ADMIN, PUBLIC_KEY: Role.PUBLIC}
        credentials = Credentials(keys, partial(tokens.read, tokens.read_secret(folder)))
        workers = SubmissionWorkers(wait_seconds=args.submission_wait)
        backend = Backend(db, boards, credentials, submissions=workers)
        ticker = Notifier(
            db, boards, partial(_publish, backend.hub, Publisher(running.url, with_key(ADMIN_KEY)))
        )
        stack.enter_context(_consumer(db, boards, engine, ticker))
        app = serve(backend)
        app.add_middleware(ActingAs, role="http")
        app.router.routes[:0] = [*graphiql.routes(), *sockets.routes(backend)]
        welcome = _welcome(running, data, args.tls_port if tls else None)
        _run(web.Server(app, welcome, tls), listener, engine.process)
    return 0


def _run(server: web.Server, listener: socket.socket, engine: subprocess.Popen[bytes]) -> None:
    def end_with_engine() -> None:
        engine.wait()
        server.should_exit = True

    threading.Thread(target=end_with_engine, name="engine-watch", daemon=True).start()
    server.run(sockets=[listener])
    if engine.poll() is not None:
        raise StackError(f"the DynamoDB engine ended by itself, with code {engine.returncode}; run it again")


def _publish(hub: Hub, publisher: Publisher, events: Sequence[Event]) -> Published:
    """Publish as on AWS, but not what nobody listens to: an import's new entries would keep a laptop busy."""
    return publisher.publish(events) if hub.count() else Published(done=events)


@contextlib.contextmanager
def _consumer(db: Database, boards: Boards, engine: Engine, ticker: Notifier) -> Iterator[None]:
    """Count the stream and tell of it, keep the engine's copy short, grow the counters, for the block."""

    def trim(counted: str) -> None:
        engine.trim_stream(db.tables.scores, int(counted) - _STREAM_RECORDS_KEPT, _TRIMMED_AT_ONCE)

    stop = threading.Event()
    reader = StreamReader(db, boards, connect_streams(db), on_checkpoint=trim, on_due=ticker.want)
    threads = [
        threading.Thread(target=reader.run, args=(stop,), name="stream", daemon=True),
        threading.Thread(target=ticker.run, args=(stop,), name="ticker", daemon=True),
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


def _welcome(running: RunningStack, data: str, tls_port: int | None) -> str:
    tls = f"           https://localhost:{tls_port}/graphql  (as Amplify wants it)\n" if tls_port else ""
    return (
        f"GraphQL    {running.url}  (POST; subscriptions by WebSocket; in a browser: GraphiQL)\n{tls}"
        f"Keys       x-api-key: {ADMIN_KEY}   everything\n"
        f"           x-api-key: {PUBLIC_KEY}  what a client with the public key may do\n"
        "           Authorization: JWT        a participant; `leaderboard token PARTICIPANT` makes one\n"
        f"DynamoDB   {running.endpoint}  (any region and credentials)\n"
        f"Data       {data}\n"
        "Ready. Ctrl-C ends it.\n"
    )


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt
