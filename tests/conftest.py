"""Fixtures over a real DynamoDB engine: one process a session (and an xdist worker), fresh tables a test."""

import os
import uuid
from collections.abc import Callable, Iterator

import pytest
from botocore.session import Session
from hypothesis import settings

from core.boards import Boards
from core.domain.model import Retention
from core.storage.database import Database, Tables, connect
from core.storage.tables import create_tables, definitions
from local.stack.engine import Engine, find_engine, running_engine, temporary_folder
from local.stack.roles import enforce
from local.stack.stream_reader import StreamReader, connect_streams
from tests.support.bare import BareClient

settings.register_profile("any machine", deadline=None)  # a busy one is no failure
settings.load_profile("any machine")


@pytest.fixture(scope="session", autouse=True)
def _one_session() -> Iterator[None]:
    """Have AWS's service descriptions read once, and not for each test: twenty times cheaper a client."""
    session = Session()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("core.storage.database.Session", lambda: session)
        yield


@pytest.fixture(scope="session")
def engine() -> Iterator[Engine]:
    """A dynoxide engine, on a RAM disk where there is one."""
    if find_engine() is None:
        message = "no dynoxide engine: `make setup` fetches it on the platforms that it is built for"
        if os.environ.get("CI") == "true":
            pytest.fail(message)
        pytest.skip(message)
    with temporary_folder() as folder, running_engine(folder) as running:
        yield running


@pytest.fixture
def db(engine: Engine) -> Iterator[Database]:
    """The tables, empty, under names of their own."""
    tables = Tables.with_prefix(f"test-{uuid.uuid4().hex[:12]}")
    database = connect(
        tables, region="us-east-1", endpoint_url=engine.endpoint, access_key="local", secret_key="local"
    )
    create_tables(database)
    enforce(database)
    yield database
    bare = BareClient(database.client)
    for definition in definitions(database):
        bare.delete_table(TableName=definition["TableName"])


@pytest.fixture
def boards(db: Database) -> Boards:
    """The boards of `db`, uncached. Their periods are kept for years: tests have dates of their own."""
    kept = Retention(daily_days=36_500, weekly_days=36_500, monthly_days=36_500)
    return Boards(db, cache_seconds=0, retention=kept)


@pytest.fixture
def drain(db: Database, boards: Boards) -> Callable[[], int]:
    """Counts all that the scores table's stream holds since the last call; returns the number of records."""
    return StreamReader(db, boards, connect_streams(db)).drain


@pytest.fixture
def lean(db: Database) -> Database:
    """The same tables through a client that makes little work of a request."""
    return Database(BareClient(db.client), db.tables)  # type: ignore[arg-type]
