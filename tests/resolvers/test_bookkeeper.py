"""Hot boards are counted by bookkeepers behind a queue: the handlers, with an SQS FIFO queue."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from core import stream
from core.boards import Boards
from core.ranking.queries import size, top
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from core.tree.bundle import Bundle, unpack
from resolvers.bookkeeper_queue import BookkeeperQueue
from resolvers.settings import Settings
from tests.core.tree.test_bundle import board_of, changes_of
from tests.support.graphql_api import Api
from tests.support.lambdas import Load, Queue, lambda_event, metrics

CONTEXT = SimpleNamespace(aws_request_id="request-1")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "_PASS_SECONDS", 0.0)


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    return Api(db, boards)


def fill(db: Database, boards: Boards, board: str, entries: int) -> None:
    for place in range(entries):
        submission = Submission(f"p{place}", [str(place)])
        submit_score(db, boards.get(board), submission, now=datetime.now(UTC))


def test_hot_boards_are_handed_on_and_quiet_ones_counted_at_once(
    load: Load, db: Database, boards: Boards, api: Api, bundles: Queue, capsys: pytest.CaptureFixture[str]
) -> None:
    api.board("hot")
    api.board("quiet", peakWritesPerSecond=10)
    fill(db, boards, "hot", 30)
    fill(db, boards, "quiet", 5)
    load("stream_handler").handler(lambda_event(db), CONTEXT)
    assert (size(db, boards.get("hot"), "all-time"), size(db, boards.get("quiet"), "all-time")) == (0, 5)
    found = metrics(capsys.readouterr().out)
    assert (found["CountedRecords"], found["HandedOnRecords"], found["MalformedRecords"]) == (5, 30, 0)
    [message] = bundles.receive()
    assert len(unpack(message["body"]).changes) == 30
    handler = load("bookkeeper_handler").handler
    capsys.readouterr()
    assert handler({"Records": [message]}, CONTEXT) == {"batchItemFailures": []}
    found = metrics(capsys.readouterr().out)
    assert (found["CountedRecords"], found["HandedOnRecords"], found["MalformedRecords"]) == (30, 0, 0)
    assert found["RecordsPerWriteUnit"] > 2
    assert 0 <= found["CountingLag"] < 60
    assert size(db, boards.get("hot"), "all-time") == 30
    assert [entry.participant_id for entry in top(db, boards.get("hot"), "all-time", 2)] == ["p29", "p28"]


def test_bundles_that_come_again_count_once(
    load: Load, db: Database, boards: Boards, api: Api, bundles: Queue, queue: Queue
) -> None:
    """The stream's batch comes again in two halves, and each message is delivered twice."""
    api.board("hot")
    fill(db, boards, "hot", 20)
    event = lambda_event(db)
    module = load("stream_handler")
    for records in (event["Records"], event["Records"][:7], event["Records"][7:]):
        module.handler({**event, "Records": records}, CONTEXT)
    handler = load("bookkeeper_handler").handler
    delivered = 0
    while messages := bundles.receive():
        delivered += len(messages)
        for _ in range(2):
            assert handler({"Records": messages}, CONTEXT) == {"batchItemFailures": []}
        bundles.delete(messages)
    assert delivered == 3
    assert size(db, boards.get("hot"), "all-time") == 20
    [asked] = queue.take()
    assert json.loads(asked["body"])["standings"].startswith("hot#")


def test_a_bookkeeper_that_fails_stops_no_other(
    load: Load,
    db: Database,
    boards: Boards,
    api: Api,
    bundles: Queue,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for board in ("broken", "sound"):
        api.board(board)
        fill(db, boards, board, 3)
    load("stream_handler").handler(lambda_event(db), CONTEXT)
    messages: list[dict[str, Any]] = []
    while len(messages) < 2:
        messages += bundles.receive()
    module = load("bookkeeper_handler")
    count = module.count_bundles

    def fail(db: Database, boards: Boards, numbered: list[tuple[int, Bundle]], **named: Any) -> Any:
        if numbered[0][1].standings.startswith("broken"):
            raise OSError("no database")
        return count(db, boards, numbered, **named)

    monkeypatch.setattr(module, "count_bundles", fail)
    answer = module.handler({"Records": messages}, CONTEXT)
    [failed] = [message for message in messages if unpack(message["body"]).standings.startswith("broken")]
    assert answer == {"batchItemFailures": [{"itemIdentifier": failed["messageId"]}]}
    assert [size(db, boards.get(board), "all-time") for board in ("broken", "sound")] == [0, 3]
    assert "could not be counted, trying again" in capsys.readouterr().out
    monkeypatch.undo()
    assert module.handler({"Records": [failed]}, CONTEXT) == {"batchItemFailures": []}


def test_a_batch_is_raised_if_the_queue_is_down_and_handed_on_when_it_comes_again(
    load: Load, db: Database, boards: Boards, api: Api, bundles: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.board("hot")
    fill(db, boards, "hot", 3)
    event = lambda_event(db)
    with monkeypatch.context() as patch:
        patch.setenv("LEADERBOARD_BOOKKEEPER_QUEUE_URL", f"{bundles.url}-gone")
        with pytest.raises(ClientError):
            load("stream_handler").handler(event, CONTEXT)
    load("stream_handler").handler(event, CONTEXT)
    assert len(bundles.receive()) == 1


def test_bundles_of_a_deleted_board_are_dropped(
    load: Load, db: Database, boards: Boards, api: Api, bundles: Queue
) -> None:
    api.board("hot")
    fill(db, boards, "hot", 3)
    load("stream_handler").handler(lambda_event(db), CONTEXT)
    db.client.delete_item(TableName=db.tables.boards, Key={"board": {"S": "hot"}})
    answer = load("bookkeeper_handler").handler({"Records": bundles.receive()}, CONTEXT)
    assert answer == {"batchItemFailures": []}
    items = db.client.scan(TableName=db.tables.counters)["Items"]
    assert not [item for item in items if item["standings"]["S"].startswith("hot#")]


class Recorder:
    """An SQS that takes note of requests, and refuses a message if asked to."""

    def __init__(self) -> None:
        self.requests: list[list[dict[str, Any]]] = []
        self.refuses = ""

    def send_message_batch(self, *, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self.requests.append(Entries)
        failed = [entry for entry in Entries if self.refuses and self.refuses in entry["MessageBody"]]
        return {"Failed": [{"Id": entry["Id"]} for entry in failed]}


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> tuple[BookkeeperQueue, Recorder]:
    environment = {"LEADERBOARD_NAME_PREFIX": "x", "AWS_REGION": "us-east-1"}
    queue, recorder = BookkeeperQueue(Settings.from_environment(environment)), Recorder()
    monkeypatch.setattr(queue, "_client", recorder)
    return queue, recorder


def test_no_bundle_overtakes_an_earlier_one_of_its_bookkeeper(
    recorder: tuple[BookkeeperQueue, Recorder],
) -> None:
    """No request holds two of one bookkeeper, since SQS may refuse the first alone."""
    queue, sqs = recorder
    changes = tuple(changes_of(board_of(1_000), 3))
    sent = [Bundle(f"s{at % 25}", 0, "shard", changes[at // 25 :]) for at in range(60)]
    queue.send(sent)
    assert [len(request) for request in sqs.requests] == [10, 10, 5, 10, 10, 5, 10]
    for request in sqs.requests:
        assert len({entry["MessageGroupId"] for entry in request}) == len(request)
        assert all(len(entry["MessageGroupId"]) <= 128 for entry in request)
    first, second = (
        [entry for request in sqs.requests for entry in request][start::25][0] for start in (0, 25)
    )
    assert first["MessageGroupId"] == second["MessageGroupId"]
    assert first["MessageDeduplicationId"] != second["MessageDeduplicationId"]


def test_a_request_is_as_large_as_sqs_takes(
    recorder: tuple[BookkeeperQueue, Recorder], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, sqs = recorder
    monkeypatch.setattr("resolvers.bookkeeper_queue._REQUEST_BYTES", 3_000)
    changes = tuple(changes_of(board_of(1_000), 5))
    queue.send([Bundle(f"s{at}", 0, "shard", changes) for at in range(12)])
    sizes = [sum(len(entry["MessageBody"]) for entry in request) for request in sqs.requests]
    assert len(sizes) > 2
    assert max(sizes) <= 3_000


def test_what_the_queue_refuses_is_sent_again_before_what_follows(
    recorder: tuple[BookkeeperQueue, Recorder],
) -> None:
    queue, sqs = recorder
    sqs.refuses = '"standings": "s3"'
    changes = tuple(changes_of(board_of(1_000), 2))
    with pytest.raises(RuntimeError, match="refused"):
        queue.send(
            [Bundle(name, 0, "shard", part) for part in (changes[:1], changes[1:]) for name in ("s2", "s3")]
        )
    assert len(sqs.requests) == 1


def test_each_bookkeeper_waits_for_more_unless_ten_bundles_have_come(
    load: Load,
    db: Database,
    boards: Boards,
    api: Api,
    bundles: Queue,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for board in ("one", "two"):
        api.board(board)
        fill(db, boards, board, 2)
    load("stream_handler").handler(lambda_event(db), CONTEXT)
    messages: list[dict[str, Any]] = []
    while len(messages) < 2:
        messages += bundles.receive()
    module = load("bookkeeper_handler")
    waits: list[bool] = []
    count = module.count_bundles

    def spy(*args: Any, wait: bool) -> Any:
        waits.append(wait)
        return count(*args, wait=wait)

    monkeypatch.setattr(module, "count_bundles", spy)
    module.handler({"Records": messages * 5}, CONTEXT)  # ten in all, five of each
    assert waits == [True, True]
    module.handler({"Records": messages[:1] * 10}, CONTEXT)
    assert waits == [True, True, False]


def test_bundles_of_a_board_that_cannot_be_read_are_set_aside(
    load: Load, db: Database, boards: Boards, api: Api, bundles: Queue, capsys: pytest.CaptureFixture[str]
) -> None:
    api.board("hot")
    fill(db, boards, "hot", 3)
    load("stream_handler").handler(lambda_event(db), CONTEXT)
    db.client.put_item(TableName=db.tables.boards, Item={"board": {"S": "hot"}, "listed": {"S": "x"}})
    answer = load("bookkeeper_handler").handler({"Records": bundles.receive()}, CONTEXT)
    assert answer == {"batchItemFailures": []}
    out = capsys.readouterr().out
    assert metrics(out)["MalformedRecords"] == 3
    assert "rebuild its counters" in out
