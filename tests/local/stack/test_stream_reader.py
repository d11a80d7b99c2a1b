"""The stream reader, and how the engine's stream is trimmed."""

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pytest
from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient

from core import stream
from core.boards import Boards
from core.domain.board import define_board
from core.domain.model import Board
from core.ranking import queries
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from local.stack import stream_reader
from local.stack.engine import Engine
from local.stack.stream_reader import CONSUMER, StreamReader, connect_streams

NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def board(boards: Boards) -> Board:
    return boards.create(define_board(id="b", now=NOW))


@pytest.fixture
def new_reader(db: Database, boards: Boards) -> Callable[..., StreamReader]:
    return partial(StreamReader, db, boards, connect_streams(db))


def submit(db: Database, board: Board, *participants: str) -> None:
    for participant in participants:
        submit_score(db, board, Submission(participant, ["1"]), now=NOW)


def size(db: Database, board: Board) -> int:
    return queries.size(db, board, "all-time")


def until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


class Died(Exception):
    pass


def test_a_crash_between_count_and_checkpoint_counts_once(
    db: Database,
    board: Board,
    new_reader: Callable[..., StreamReader],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def count_then_die(*args: Any) -> None:
        stream.process(*args)
        raise Died

    submit(db, board, "p1", "p2", "p3")
    with monkeypatch.context() as patch:
        patch.setattr(stream_reader, "process", count_then_die)
        with pytest.raises(Died):
            new_reader().read()
    assert size(db, board) == 3
    submit(db, board, "p4")  # the redelivered batch is longer
    assert new_reader().drain() == 4
    assert size(db, board) == 4


def test_a_new_reader_resumes_after_the_checkpoint(
    db: Database, board: Board, new_reader: Callable[..., StreamReader]
) -> None:
    submit(db, board, "p1", "p2")
    assert new_reader().drain() == 2
    assert new_reader().drain() == 0
    submit(db, board, "p3")
    assert new_reader().drain() == 1


def test_a_failed_batch_is_retried_until_it_is_counted(
    db: Database,
    board: Board,
    new_reader: Callable[..., StreamReader],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    given: list[int] = []

    def fail_twice(db: Database, boards: Boards, shard_id: str, records: Any) -> stream.BatchReport:
        given.append(len(records))
        if len(given) <= 2:
            raise TimeoutError("not now")
        return stream.process(db, boards, shard_id, records)

    monkeypatch.setattr(stream_reader, "process", fail_twice)
    submit(db, board, "p1", "p2")
    stop = threading.Event()
    thread = threading.Thread(target=new_reader().run, args=(stop,))
    thread.start()
    try:
        assert until(lambda: size(db, board) == 2)
    finally:
        stop.set()
        thread.join(timeout=10)
    assert not thread.is_alive()
    assert given == [2, 2, 2]
    assert caplog.text.count("not now") == 2


class ImpatientEvent(threading.Event):
    """Does not wait, and is set after 1,100 waits."""

    waits = 0

    def wait(self, timeout: float | None = None) -> bool:
        self.waits += 1
        if self.waits == 1100:
            self.set()
        return self.is_set()


def test_it_retries_after_a_thousand_failures(
    new_reader: Callable[..., StreamReader], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> int:
        raise TimeoutError

    reader, stop = new_reader(), ImpatientEvent()
    monkeypatch.setattr(reader, "read", fail)
    reader.run(stop)
    assert stop.waits == 1100


def test_waiting_returns_once_another_reader_has_counted(
    db: Database, board: Board, new_reader: Callable[..., StreamReader]
) -> None:
    submit(db, board, "p1", "p2")
    waiting = threading.Thread(target=new_reader().wait_until_counted)
    waiting.start()
    waiting.join(timeout=0.5)
    assert waiting.is_alive()
    new_reader().drain()
    waiting.join(timeout=10)
    assert not waiting.is_alive()


def test_trimming_keeps_the_numbering_and_uncounted_records(
    engine: Engine, db: Database, board: Board, new_reader: Callable[..., StreamReader]
) -> None:
    counted: list[str] = []
    reader = new_reader(on_checkpoint=counted.append)
    submit(db, board, *(f"p{n}" for n in range(20)))
    assert reader.drain() == 20
    newest = int(counted[-1])
    submit(db, board, "late")
    assert engine.trim_stream(db.tables.scores, before=newest, limit=7) == 7
    assert engine.trim_stream(db.tables.scores, before=newest, limit=100) == 12
    assert reader.drain() == 1
    assert int(counted[-1]) == newest + 1
    assert size(db, board) == 21


def test_a_trimmed_checkpoint_continues_at_the_oldest_record(
    engine: Engine, db: Database, board: Board, new_reader: Callable[..., StreamReader]
) -> None:
    submit(db, board, "p1")
    new_reader().drain()
    submit(db, board, "p2", "p3", "p4")
    checkpoint = db.client.query(
        TableName=db.tables.counters,
        KeyConditionExpression="standings = :consumer",
        ExpressionAttributeValues={":consumer": {"S": CONSUMER}},
    )["Items"][0]
    before = int(checkpoint["sequence"]["S"]) + 3
    assert engine.trim_stream(db.tables.scores, before=before, limit=100) == 3
    assert new_reader().drain() == 1


class ReshardedStreams:
    """A stream as DynamoDB splits it, and the engine does not: a closed shard and its two children."""

    def __init__(self, streams: DynamoDBStreamsClient) -> None:
        self.exceptions = streams.exceptions
        self.read: list[str] = []
        self.records = {"parent": ["1", "2"], "left": ["3"], "right": ["4"]}
        self.expire = 0

    def describe_stream(self, StreamArn: str, ExclusiveStartShardId: str | None = None) -> Any:  # noqa: N803
        if ExclusiveStartShardId is None:
            shards = [
                {"ShardId": "left", "ParentShardId": "parent"},
                {"ShardId": "right", "ParentShardId": "parent"},
            ]
            return {"StreamDescription": {"Shards": shards, "LastEvaluatedShardId": "right"}}
        return {"StreamDescription": {"Shards": [{"ShardId": "parent", "ParentShardId": "long gone"}]}}

    def get_shard_iterator(self, ShardId: str, SequenceNumber: str = "0", **_: Any) -> Any:  # noqa: N803
        return {"ShardIterator": f"{ShardId} {SequenceNumber}"}

    def get_records(self, ShardIterator: str, Limit: int) -> Any:  # noqa: N803
        shard_id, after = ShardIterator.split()
        if self.expire:
            self.expire -= 1
            raise self.exceptions.ExpiredIteratorException(
                {"Error": {"Code": "ExpiredIteratorException"}}, "GetRecords"
            )
        number = next((n for n in self.records[shard_id] if n > after), None)
        if number is None:
            closed = shard_id == "parent"
            return {"Records": [], **({} if closed else {"NextShardIterator": ShardIterator})}
        self.read.append(f"{shard_id} {number}")
        record = {"dynamodb": {"SequenceNumber": number}}
        return {"Records": [record], "NextShardIterator": f"{shard_id} {number}"}


@pytest.mark.parametrize("expire", [0, 1])
def test_children_are_read_after_their_parent(
    db: Database,
    boards: Boards,
    monkeypatch: pytest.MonkeyPatch,
    expire: int,
) -> None:
    monkeypatch.setattr(stream_reader, "process", lambda *_: stream.BatchReport(0, 0, None))
    resharded = ReshardedStreams(connect_streams(db))
    reader = StreamReader(db, boards, resharded)  # type: ignore[arg-type]
    assert reader.read() == 1
    resharded.expire = expire
    assert reader.drain() == 3
    assert resharded.read == ["parent 1", "parent 2", "left 3", "right 4"]
