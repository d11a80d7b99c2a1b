"""The local stack: DynamoDB engine, tables, GraphQL server, and threads for what Lambdas do on AWS."""

import argparse
import contextlib
import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NoReturn

from core.boards import Boards
from core.notifications.events import Event, Published
from core.storage.database import Database
from core.storage.tables import create_tables
from local import ADMIN_KEY, PUBLIC_KEY
from local.errors import StackError
from local.server import console, graphiql, home, maintenance, sockets, tokens, web
from local.server.gate import Gate
from local.server.notifier import Notifier
from local.server.signed import LocalCredentials
from local.stack.engine import Engine, running_engine, temporary_folder
from local.stack.roles import ActingAs
from local.stack.running import RunningStack, recorded
from local.stack.stream_reader import StreamReader, connect_streams
from local.stack.target import DEFAULT_FOLDER, connect_local
from resolvers.http import Backend, serve
from resolvers.publisher import Publisher, with_key
from resolvers.request.auth import Role
from resolvers.request.hub import Hub
from resolvers.request.workers import SubmissionWorkers

_STREAM_RECORDS_KEPT = 10_000  # before the checkpoint; AWS keeps those of a day
_TRIMMED_AT_ONCE = 2_000  # more than a batch, so that trimming keeps up


def run(args: argparse.Namespace) -> int:
    """Run the stack until Ctrl-C or SIGTERM; return the exit code.

    Raises:
        StackError: a port or the data folder is in use, the certificate cannot be read, or the engine ended.
    """
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    with contextlib.suppress(KeyboardInterrupt), contextlib.ExitStack() as stack:
        listener = stack.enter_context(web.listener(args.port, "--port"))
        tls = None
        folder = stack.enter_context(temporary_folder()) if args.ephemeral else args.data
        certificate, key = args.tls_cert, args.tls_key
        if args.tls:
            certificate, key = _local_certificate(folder)
        if certificate is not None:
            context = web.tls_context(certificate, key)
            tls = stack.enter_context(web.listener(args.tls_port, "--tls-port")), context
        engine = stack.enter_context(running_engine(folder))
        db = connect_local(engine.endpoint)
        create_tables(db)
        boards = Boards(db)
        running = RunningStack(engine.endpoint, f"http://localhost:{args.port}/graphql", os.getpid())
        stack.enter_context(recorded(folder, running))
        lost = args.ephemeral or engine.database is None
        data = f"{folder.resolve()}, {'deleted at the end' if lost else 'kept'}"
        if folder != DEFAULT_FOLDER:
            data += f"; other commands need --data {folder}"
        keys = {ADMIN_KEY: Role.ADMIN, PUBLIC_KEY: Role.PUBLIC}
        credentials = LocalCredentials(keys, partial(tokens.read, tokens.read_secret(folder)))
        workers = SubmissionWorkers(wait_seconds=args.submission_wait)
        backend = Backend(db, boards, credentials, submissions=workers)
        publisher = Publisher(running.url, with_key(ADMIN_KEY))
        notifier = Notifier(db, boards, partial(_publish, backend.hub, publisher))
        stack.enter_context(_background(db, boards, engine, notifier))
        app = serve(backend)
        app.add_middleware(ActingAs, role="http")
        app.add_middleware(Gate, origins=args.allow_origin)
        app.router.routes[:0] = [
            *home.routes(db, running.url),
            *console.routes(backend),
            *graphiql.routes(),
            *sockets.routes(backend),
        ]
        welcome = _welcome(running, data, args.tls_port if tls else None, certificate)
        _run(web.Server(app, welcome, tls), listener, engine.process)
    return 0


def _run(server: web.Server, listener: socket.socket, engine: subprocess.Popen[bytes]) -> None:
    def stop_with_engine() -> None:
        engine.wait()
        server.should_exit = True

    threading.Thread(target=stop_with_engine, name="engine-watch", daemon=True).start()
    server.run(sockets=[listener])
    if engine.poll() is not None:
        raise StackError(f"the DynamoDB engine ended with exit code {engine.returncode}; run it again")


def _publish(hub: Hub, publisher: Publisher, events: Sequence[Event]) -> Published:
    """Publish as on AWS, but only of followed boards: an import's events would keep a laptop busy."""
    followed: list[Event] = []
    others: list[Event] = []
    for event in events:
        (followed if hub.is_given("leaderboard_id", event.board.id) else others).append(event)
    published = publisher.publish(followed) if followed else Published()
    return Published(done=[*published.done, *others], uncertain=published.uncertain)


@contextlib.contextmanager
def _background(db: Database, boards: Boards, engine: Engine, notifier: Notifier) -> Iterator[None]:
    """Read the stream, notify and run maintenance in threads for the length of the block."""

    def trim(counted: str) -> None:
        engine.trim_stream(db.tables.scores, int(counted) - _STREAM_RECORDS_KEPT, _TRIMMED_AT_ONCE)

    stop = threading.Event()
    reader = StreamReader(db, boards, connect_streams(db), on_checkpoint=trim, on_due=notifier.schedule)
    threads = [
        threading.Thread(target=reader.run, args=(stop,), name="stream", daemon=True),
        threading.Thread(target=notifier.run, args=(stop,), name="notifier", daemon=True),
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


def _local_certificate(folder: Path) -> tuple[Path, Path]:
    try:
        from local.server.certificate import local_certificate  # noqa: PLC0415 - only --tls needs cryptography

        return local_certificate(folder)
    except ImportError:
        raise StackError("--tls needs the package cryptography: `make setup` installs it") from None
    except OSError as error:
        raise StackError(f"cannot write a certificate to {folder}: {error.strerror}") from None


def _welcome(running: RunningStack, data: str, tls_port: int | None, certificate: Path | None) -> str:
    tls = (
        f"           https://localhost:{tls_port}/graphql  (certificate: {certificate})\n" if tls_port else ""
    )
    return (
        f"Console    {running.url.removesuffix('/graphql')}/  (in a browser)\n"
        f"GraphQL    {running.url}  (POST; subscriptions by WebSocket; in a browser: GraphiQL)\n{tls}"
        f"Keys       x-api-key: {ADMIN_KEY}   everything\n"
        f"           x-api-key: {PUBLIC_KEY}  what public clients may do\n"
        "           Authorization: JWT        a participant; `leaderboard token PARTICIPANT` prints one\n"
        "           Authorization: AWS4-HMAC-SHA256 ...  a server; any AWS credentials sign it\n"
        f"DynamoDB   {running.endpoint}  (any region and credentials)\n"
        f"Data       {data}\n"
        "Ready. Stop with Ctrl-C.\n"
    )


def _interrupt(*_: object) -> NoReturn:
    raise KeyboardInterrupt
