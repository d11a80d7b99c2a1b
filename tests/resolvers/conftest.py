"""A stack of queues and the Lambdas' environment."""

import hashlib
import importlib
import logging
import sys
from collections.abc import Iterator
from types import ModuleType

import pytest
from moto.server import ThreadedMotoServer

from core.storage.database import Database
from local.stack.engine import Engine
from tests.support.graphql_sink import Sink, running_sink
from tests.support.lambdas import SECRET, Load, Queue


@pytest.fixture(scope="module")
def sqs() -> Iterator[str]:
    """The endpoint of a local SQS."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def queue(sqs: str, db: Database) -> Queue:
    return Queue(sqs, db.tables.scores)


@pytest.fixture
def bundles(sqs: str, db: Database) -> Queue:
    """The queue to the bookkeepers of hot boards."""
    return Queue(sqs, f"{db.tables.scores}.fifo")


@pytest.fixture
def sink() -> Iterator[Sink]:
    """Stands in for AppSync."""
    with running_sink() as running:
        yield running


@pytest.fixture
def load(
    engine: Engine,
    db: Database,
    sqs: str,
    queue: Queue,
    bundles: Queue,
    sink: Sink,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Load]:
    """Imports a handler anew, in the environment of a cold start."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_SQS", sqs)
    monkeypatch.setenv("LEADERBOARD_NOTIFY_QUEUE_URL", queue.url)
    monkeypatch.setenv("LEADERBOARD_BOOKKEEPER_QUEUE_URL", bundles.url)
    monkeypatch.setenv("LEADERBOARD_API_URL", sink.url)
    monkeypatch.setenv("AWS_ENDPOINT_URL", engine.endpoint)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("LEADERBOARD_EVENT_SECRET_SHA256", hashlib.sha256(SECRET.encode()).hexdigest())
    monkeypatch.setenv("LEADERBOARD_NAME_PREFIX", db.tables.scores.removesuffix("-scores"))
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def load(name: str) -> ModuleType:
        sys.modules.pop(f"resolvers.{name}", None)
        return importlib.import_module(f"resolvers.{name}")

    yield load
    root.handlers[:], root.level = handlers, level
