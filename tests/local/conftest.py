"""Local stacks for commands and backups."""

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from core.boards import Boards
from core.domain.board import define_board
from core.domain.model import Board
from core.storage.database import Database, Tables, connect
from core.storage.tables import create_tables
from core.submissions.submit import Submission, submit_score
from local.stack.engine import Engine
from local.stack.running import RunningStack, recorded
from local.stack.stream_reader import StreamReader, connect_streams
from local.stack.target import Stack, connect_local
from tests.support.importing import World
from tests.support.stacks import stack_of
from tests.support.twin import NOW


@pytest.fixture
def local_db(engine: Engine, tmp_path: Path) -> Iterator[Database]:
    """The tables of a running local stack whose data folder is `tmp_path`."""
    db = connect_local(engine.endpoint)
    create_tables(db)
    with recorded(tmp_path, RunningStack(engine.endpoint, "http://localhost/graphql", os.getpid())):
        yield db


@pytest.fixture
def world(local_db: Database, tmp_path: Path) -> World:
    """The same stack, with a board and the `import` command."""
    return World(tmp_path, local_db)


@pytest.fixture
def ranked_board(local_db: Database) -> Board:
    """A board of the same stack with p0, p1 and p2, whose scores are 0, 1 and 2."""
    boards = Boards(local_db, cache_seconds=0)
    board = boards.create(define_board(id=f"board-{uuid.uuid4().hex}", now=NOW))
    for number in range(3):
        submit_score(local_db, board, Submission(f"p{number}", [str(number)], NOW), now=NOW)
    StreamReader(local_db, boards, connect_streams(local_db)).drain()
    return board


@pytest.fixture
def stack(db: Database, boards: Boards) -> Stack:
    return stack_of(db, boards)


@pytest.fixture
def other(engine: Engine) -> Iterator[Stack]:
    """A second, empty stack."""
    tables = Tables.with_prefix(f"other-{uuid.uuid4().hex[:12]}")
    db = connect(
        tables, region="us-east-1", endpoint_url=engine.endpoint, access_key="local", secret_key="local"
    )
    create_tables(db)
    yield stack_of(db, Boards(db, cache_seconds=0))
    for name in (tables.scores, tables.counters, tables.boards, tables.records, tables.receipts):
        db.client.delete_table(TableName=name)
