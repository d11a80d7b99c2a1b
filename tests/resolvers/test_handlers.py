"""The Lambda handlers, imported as Lambda imports them, on the real engine."""

import contextlib
import hashlib
import json
import random
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from core.boards import Boards
from core.counters.growing_list import growing
from core.notifications import notifier
from core.ranking import queries
from core.ranking.queries import size, top
from core.records.audit import all_records
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from core.tree.shape import GROW_AT
from tests.support.graphql_api import Api
from tests.support.graphql_sink import Sink
from tests.support.lambdas import SECRET, Load, Queue, lambda_event, metrics

CONTEXT = SimpleNamespace(aws_request_id="request-1")


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    return Api(db, boards)


def test_a_batch_is_counted_once_however_often_it_is_delivered(
    load: Load, db: Database, boards: Boards, api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    api.board(peakWritesPerSecond=10)
    for place in range(20):
        api.submit(f"p{place}", str(place))
    handler = load("stream_handler").handler
    event = lambda_event(db)
    event["Records"].insert(3, {"eventID": "malformed", "dynamodb": {}})
    for _ in range(2):
        assert handler(event, CONTEXT) == {"state": {}}
    assert size(db, boards.get("board"), "all-time") == 20
    assert [entry.participant_id for entry in top(db, boards.get("board"), "all-time", 2)] == ["p19", "p18"]
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["requestId"] for line in lines if "message" in line} == {"request-1"}


def test_the_stream_reports_its_lag_and_how_well_changes_coalesce(
    load: Load, db: Database, api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    api.board(peakWritesPerSecond=10)
    for place in range(50):
        api.submit(f"p{place}", str(place))
    handler = load("stream_handler").handler
    capsys.readouterr()
    handler(lambda_event(db), CONTEXT)
    found = metrics(capsys.readouterr().out)
    assert (found["CountedRecords"], found["MalformedRecords"]) == (50, 0)
    assert found["CountingLag"] >= 0
    # Fifty changes of the same standings are one write of their node and one of their top.
    assert found["RecordsPerWriteUnit"] > 2


def test_a_failed_batch_is_raised_and_counted_when_delivered_again(
    load: Load, db: Database, boards: Boards, api: Api
) -> None:
    api.board(peakWritesPerSecond=10)
    api.submit("ann", "1")
    module = load("stream_handler")
    event = lambda_event(db)
    counters = db.tables.counters
    db.client.delete_table(TableName=counters)
    with pytest.raises(ClientError, match="ResourceNotFoundException"):
        module.handler(event, CONTEXT)
    db.client.create_table(
        TableName=counters,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[
            {"AttributeName": "standings", "AttributeType": "S"},
            {"AttributeName": "node", "AttributeType": "S"},
        ],
        KeySchema=[
            {"AttributeName": "standings", "KeyType": "HASH"},
            {"AttributeName": "node", "KeyType": "RANGE"},
        ],
    )
    module.handler(event, CONTEXT)
    assert size(db, boards.get("board"), "all-time") == 1


def test_a_batch_without_its_shard_is_refused(load: Load, db: Database, api: Api) -> None:
    """A guard under a made-up shard would count the records of two shards wrongly."""
    api.board(peakWritesPerSecond=10)
    api.submit("ann", "1")
    event = lambda_event(db)
    del event["shardId"]
    with pytest.raises(KeyError, match="shardId"):
        load("stream_handler").handler(event, CONTEXT)


def test_the_end_of_a_window_may_hold_no_records(load: Load) -> None:
    event = {"Records": [], "shardId": "shard", "state": {}, "isFinalInvokeForWindow": True}
    assert load("stream_handler").handler(event, CONTEXT) == {"state": {}}


def test_a_batch_asks_for_a_pass_at_most_once_a_second(
    load: Load, db: Database, api: Api, queue: Queue
) -> None:
    """For each standings one at once, and one a second later for all that comes until then."""
    for board in ("board", "other"):
        api.board(board, peakWritesPerSecond=10)
        submit_score(db, Boards(db).get(board), Submission("ann", ["1"]), now=datetime.now(UTC))
    handler = load("stream_handler").handler
    event = lambda_event(db)
    for _ in range(4):
        handler(event, CONTEXT)
    bodies = [json.loads(message["body"]) for message in queue.take()]
    assert sorted(body["standings"].partition("#")[0] for body in bodies) == ["board", "other"]
    assert queue.delayed() == 2


def test_a_batch_fails_if_the_queue_is_down_and_is_delivered_again(
    load: Load, db: Database, api: Api, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.board(peakWritesPerSecond=10)
    api.submit("ann", "1")
    event = lambda_event(db)
    with monkeypatch.context() as patch:
        patch.setenv("LEADERBOARD_NOTIFY_QUEUE_URL", f"{queue.url}-gone")
        with pytest.raises(ClientError):
            load("stream_handler").handler(event, CONTEXT)
    load("stream_handler").handler(event, CONTEXT)
    assert len(queue.take()) == 1


def test_a_pass_publishes_and_emits_metrics(
    load: Load, db: Database, api: Api, queue: Queue, sink: Sink, capsys: pytest.CaptureFixture[str]
) -> None:
    api.board(peakWritesPerSecond=10)
    for place in range(12):
        api.submit(f"p{place}", str(place))
    load("stream_handler").handler(lambda_event(db), CONTEXT)
    capsys.readouterr()
    load("notify_handler").handler({"Records": queue.take()}, CONTEXT)
    inputs = [request.input for request in sink.received]
    changes = {event["participantId"]: event["bucket"] for event in inputs if "participantId" in event}
    assert len(changes) == 12
    assert (changes["p11"], changes["p0"]) == ("Top 1", "Top 100")
    assert all("/us-east-1/appsync/aws4_request" in sent.headers["authorization"] for sent in sink.received)
    found = metrics(capsys.readouterr().out)
    assert found == {"RankChangesPublished": 13, "RankChangesRefused": 0, "RankChangesFailed": 0}


@pytest.mark.parametrize("broken", ["AppSync", "the board"])
def test_a_pass_that_fails_is_asked_for_again(
    load: Load, db: Database, api: Api, queue: Queue, sink: Sink, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """And does not stop the others of its batch."""
    for board in ("board", "other"):
        api.board(board, peakWritesPerSecond=10)
        submit_score(db, Boards(db).get(board), Submission("ann", ["1"]), now=datetime.now(UTC))
    load("stream_handler").handler(lambda_event(db), CONTEXT)
    module = load("notify_handler")
    notify = notifier.notify
    monkeypatch.setattr("resolvers.publisher._MAX_DELAY", 0.01)

    def fail(db: Database, board: Any, *arguments: Any, **named: Any) -> Any:
        if board.id == "board":
            raise LookupError("broken")
        return notify(db, board, *arguments, **named)

    if broken == "AppSync":
        sink.answer = lambda request: (503 if request.input["leaderboardId"] == "board" else 200, {})
    else:
        monkeypatch.setattr(notifier, "notify", fail)
    module.handler({"Records": queue.take()}, CONTEXT)
    delivered = {one.input["leaderboardId"] for one in sink.received if one.input["leaderboardId"] == "other"}
    assert delivered == {"other"}
    assert queue.delayed() == 1


def test_a_pass_over_a_deleted_board_publishes_nothing(
    load: Load, db: Database, api: Api, queue: Queue, sink: Sink
) -> None:
    api.board(peakWritesPerSecond=10)
    api.submit("ann", "1")
    load("stream_handler").handler(lambda_event(db), CONTEXT)
    db.client.delete_item(TableName=db.tables.boards, Key={"board": {"S": "board"}})
    load("notify_handler").handler({"Records": queue.take()}, CONTEXT)
    assert sink.received == []
    assert queue.delayed() == 0


def test_maintenance_continues_growing_trees(
    load: Load, db: Database, boards: Boards, api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    api.board(peakWritesPerSecond=10)
    board = boards.get("board")
    for place in range(GROW_AT + 2):
        submit_score(db, board, Submission(f"p{place}", [str(10**6 + place)]), now=datetime.now(UTC))
    load("stream_handler").handler(lambda_event(db), CONTEXT)
    assert growing(db)
    capsys.readouterr()
    load("maintenance_handler").handler({}, CONTEXT)
    assert metrics(capsys.readouterr().out) == {"GrowingTrees": 1, "Jobs": 0}


def test_refused_submissions_are_counted(load: Load, api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.board(peakWritesPerSecond=10)
    handler = load("api_handler").handler
    iam = {"userArn": "arn:aws:iam::123456789012:user/ann"}

    def call(score: str) -> dict[str, Any]:
        return {
            "arguments": {"input": {"leaderboardId": "board", "participantId": "p", "score": [score]}},
            "identity": iam,
            "secret": SECRET,
            "info": {"parentTypeName": "Mutation", "fieldName": "submitScore"},
        }

    capsys.readouterr()
    assert handler(call("1"), CONTEXT)["data"]["accepted"] is True
    assert metrics(capsys.readouterr().out) == {}
    envelopes = handler([call("2"), call("much")], CONTEXT)
    assert [envelope.get("errorType") for envelope in envelopes] == [None, "InvalidScore"]
    assert metrics(capsys.readouterr().out) == {"RefusedSubmissions": 1}
    many = call("3")
    many["info"] = {"parentTypeName": "Mutation", "fieldName": "submitScores"}
    attempt = many["arguments"]["input"]
    many["arguments"] = {"inputs": [attempt, attempt | {"score": ["x"]}, attempt | {"leaderboardId": "none"}]}
    assert len(handler(many, CONTEXT)["data"]) == 3
    assert metrics(capsys.readouterr().out) == {"RefusedSubmissions": 2}


SIGNED = {"iam": {"userArn": "arn:aws:iam::123456789012:user/ann", "cognitoIdentity": None}}
CREATE = 'mutation { createLeaderboard(input: {id: "new"}) { id } }'


def http_event(query: str, authorizer: dict[str, Any] | None = None, secret: object = SECRET) -> Any:
    """An HTTP API's event, whose client claims to be an admin."""
    return {
        "version": "2.0",
        "routeKey": "POST /graphql",
        "rawPath": "/graphql",
        "rawQueryString": "",
        "headers": {"content-type": "application/json", "x-api-key": "ADMIN", "host": "x.execute-api"}
        | {"X-API-KEY": "ADMIN", "x-leaderboard-caller": "root"},
        "requestContext": {
            "http": {"method": "POST", "path": "/graphql", "sourceIp": "203.0.113.7"},
            "authorizer": authorizer or {},
        },
        "stageVariables": {"secret": secret},
        "body": json.dumps({"query": query}),
        "isBase64Encoded": False,
    }


@pytest.fixture
def ask_http(load: Load) -> Callable[..., Any]:
    def ask(query: str, authorizer: dict[str, Any] | None = None) -> Any:
        answer = load("http_handler").handler(http_event(query, authorizer), CONTEXT)
        assert answer["statusCode"] == 200, answer
        return json.loads(answer["body"])

    return ask


def test_only_the_gateway_says_who_calls(ask_http: Callable[..., Any], db: Database, api: Api) -> None:
    api.board(peakWritesPerSecond=10)
    assert ask_http(CREATE)["errors"][0]["errorType"] == "Unauthorized"
    assert ask_http(CREATE, SIGNED)["data"] == {"createLeaderboard": {"id": "new"}}
    assert ask_http('{ leaderboard(id: "new") { id } }')["data"] == {"leaderboard": {"id": "new"}}
    ask_http('mutation { closeLeaderboard(id: "new") { closed } }', SIGNED)
    assert [record.actor for record in all_records(db, "new")] == [SIGNED["iam"]["userArn"]]


@pytest.mark.parametrize("amr", [["unauthenticated"], ["authenticated", "graph.facebook.com"]])
def test_a_cognito_identity_only_reads(ask_http: Callable[..., Any], api: Api, amr: list[str]) -> None:
    api.board(peakWritesPerSecond=10)
    identity = {"amr": amr, "identityId": "eu-west-1:1", "identityPoolId": "eu-west-1:2"}
    guest = {"iam": SIGNED["iam"] | {"cognitoIdentity": identity}}
    assert ask_http(CREATE, guest)["errors"][0]["errorType"] == "Unauthorized"
    assert ask_http('{ leaderboard(id: "board") { id } }', guest)["data"] == {"leaderboard": {"id": "board"}}


def test_a_token_submits_for_its_subject_alone(ask_http: Callable[..., Any], api: Api) -> None:
    api.board(clientAccess="SUBMIT")
    token = {"jwt": {"claims": {"sub": "ann", "client_id": "game"}, "scopes": None}}
    submit = """mutation { submitScore(input: {leaderboardId: "board", participantId: "%s", score: "1"})
      { accepted } }"""
    assert ask_http(submit % "ann", token)["data"] == {"submitScore": {"accepted": True}}
    assert ask_http(submit % "bob", token)["errors"][0]["errorType"] == "Unauthorized"
    assert ask_http(CREATE, token)["errors"][0]["errorType"] == "Unauthorized"


@pytest.mark.parametrize("secret", [None, "", "guess", ["x"]])
@pytest.mark.parametrize("expected", ["", hashlib.sha256(SECRET.encode()).hexdigest()])
def test_a_forged_event_is_refused(
    load: Load, api: Api, monkeypatch: pytest.MonkeyPatch, secret: object, expected: str
) -> None:
    """Whoever may invoke a function directly can write any event, but does not know the secret."""
    monkeypatch.setenv("LEADERBOARD_EVENT_SECRET_SHA256", expected)
    forged = http_event(CREATE, SIGNED, secret)
    call = {
        "arguments": {"input": {"id": "new"}},
        "identity": SIGNED["iam"],
        "info": {"parentTypeName": "Mutation", "fieldName": "createLeaderboard"},
    }
    for name, event in (
        ("http_handler", forged),
        ("http_handler", forged | {"stageVariables": None}),
        ("api_handler", call),
        ("api_handler", [call | {"secret": secret}, call | {"secret": secret}]),
    ):
        with pytest.raises(PermissionError, match="API"):
            load(name).handler(event, CONTEXT)
    assert api.ask('{ leaderboard(id: "new") { id } }')["data"] == {"leaderboard": None}


@pytest.mark.parametrize("name", ["api_handler", "http_handler"])
def test_instances_of_one_snapshot_draw_different_numbers(
    load: Load, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    hooks: list[Callable[[], None]] = []
    runtime = SimpleNamespace(register_after_restore=hooks.append)
    monkeypatch.setitem(sys.modules, "snapshot_restore_py", runtime)
    load(name)
    drawn = []
    for _ in range(2):
        random.seed(7)
        for hook in hooks:
            hook()
        drawn.append(random.random())
    assert drawn[0] != drawn[1]


@pytest.mark.parametrize(
    ("handler", "unwanted"),
    [
        ("api_handler", ["starlette", "mangum", "aws_xray_sdk", "local", "rich", "moto", "uvicorn"]),
        ("http_handler", ["aws_xray_sdk", "local", "rich", "moto", "uvicorn"]),
        ("stream_handler", ["strawberry", "graphql", "starlette", "aws_xray_sdk", "local"]),
        ("notify_handler", ["strawberry", "graphql", "starlette", "aws_xray_sdk", "local"]),
        ("maintenance_handler", ["strawberry", "graphql", "starlette", "aws_xray_sdk", "local"]),
    ],
)
def test_a_handler_imports_only_what_it_uses(handler: str, unwanted: list[str]) -> None:
    code = (
        "import os, sys\n"
        "os.environ |= {'LEADERBOARD_NAME_PREFIX': 'x', 'AWS_REGION': 'us-east-1',"
        " 'AWS_ACCESS_KEY_ID': 'x', 'AWS_SECRET_ACCESS_KEY': 'x'}\n"
        f"import resolvers.{handler}\n"
        f"print([name for name in {unwanted!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


class Daemon:
    """Receives what X-Ray's SDK sends to its daemon by UDP, as on Lambda."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection

    def received(self) -> list[dict[str, Any]]:
        """Return the subsegments sent so far, those inside others behind them."""
        found = []
        self._socket.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:
                header, _, body = self._socket.recv(65_536).decode().partition("\n")
                assert json.loads(header) == {"format": "json", "version": 1}
                found.append(json.loads(body))
        for subsegment in found:
            found += subsegment.get("subsegments", [])
        return found


@pytest.fixture
def daemon(monkeypatch: pytest.MonkeyPatch) -> Iterator[Daemon]:
    """X-Ray's own recorder and emitter in Lambda's context, with a sampled trace."""
    from aws_xray_sdk.core import xray_recorder  # type: ignore[import-untyped]
    from aws_xray_sdk.core.lambda_launcher import LambdaContext  # type: ignore[import-untyped]

    before, threshold = xray_recorder.context, xray_recorder.streaming_threshold
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.bind(("127.0.0.1", 0))
        host, port = connection.getsockname()
        monkeypatch.setenv("LEADERBOARD_TRACING", "true")
        monkeypatch.setenv("_X_AMZN_TRACE_ID", f"Root={TRACE};Parent={LAMBDA};Sampled=1")
        xray_recorder.configure(
            context=LambdaContext(), daemon_address=f"{host}:{port}", streaming_threshold=0
        )
        yield Daemon(connection)
        xray_recorder.configure(
            context=before, daemon_address="127.0.0.1:2000", streaming_threshold=threshold
        )


TRACE, LAMBDA = "1-6926d0f0-0123456789abcdef01234567", "0123456789abcdef"


def call(type_name: str, field: str, source: Any = None, **arguments: Any) -> dict[str, Any]:
    return {
        "arguments": arguments,
        "identity": {"userArn": "arn:aws:sts::123456789012:assumed-role/game/server"},
        "source": source,
        "secret": SECRET,
        "info": {"parentTypeName": type_name, "fieldName": field},
    }


def test_each_core_operation_is_a_subsegment_with_its_units_and_requests(
    load: Load, api: Api, daemon: Daemon
) -> None:
    api.board(peakWritesPerSecond=10)
    module = load("api_handler")
    attempt = {"leaderboardId": "board", "participantId": "ann", "score": ["7"]}
    module.handler(call("Mutation", "submitScore", input=attempt), CONTEXT)
    sent = {one["name"]: one for one in daemon.received()}
    assert sent.keys() == {
        "Mutation.submitScore",
        "core.boards.Boards.get",
        "core.submissions.submit.submit_score",
    }
    request = sent["Mutation.submitScore"]
    assert (request["trace_id"], request["parent_id"]) == (TRACE, LAMBDA)
    for name in ("core.boards.Boards.get", "core.submissions.submit.submit_score"):
        assert sent[name].get("parent_id", request["id"]) == request["id"]
    assert sent["core.boards.Boards.get"]["annotations"] == {
        "read_units": 0.5,
        "write_units": 0.0,
        "requests": 1,
    }
    assert sent["core.submissions.submit.submit_score"]["annotations"] == {
        "read_units": 0.0,
        "write_units": 2.0,
        "requests": 1,
    }


def test_a_refusal_is_an_annotation_and_no_fault_but_a_failure_is_one(
    load: Load, api: Api, daemon: Daemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.board(peakWritesPerSecond=10)
    module = load("api_handler")
    module.handler([call("Leaderboard", "top", {"id": "board"}, limit=limit) for limit in (0, 1)], CONTEXT)
    refused, answered = sorted(
        (one for one in daemon.received() if one["name"] == "core.ranking.queries.top"),
        key=lambda one: "refusal" not in one["annotations"],
    )
    assert refused["annotations"]["refusal"] == "InvalidInput"
    assert refused["error"]
    assert not refused.get("fault")
    assert not answered.get("error")

    def fail(*_: object) -> None:
        raise RuntimeError("no disk")

    monkeypatch.setattr(queries, "size", fail)
    module.handler([call("Leaderboard", "size", {"id": "board"})], CONTEXT)
    (failed,) = (one for one in daemon.received() if one["name"].endswith("fail"))
    assert failed["fault"]


def test_background_functions_trace_their_operations_too(
    load: Load, db: Database, api: Api, queue: Queue, daemon: Daemon
) -> None:
    api.board(peakWritesPerSecond=10)
    api.submit("ann", "7")
    load("stream_handler").handler(lambda_event(db), CONTEXT)
    load("notify_handler").handler({"Records": queue.take()}, CONTEXT)
    load("maintenance_handler").handler({}, CONTEXT)
    sent = {one["name"]: one for one in daemon.received()}
    for name in ("stream.process", "notifications.notifier.run_pass", "maintenance.Maintenance.run"):
        assert sent[f"core.{name}"]["annotations"]["requests"] > 0


def test_resolvers_call_core_where_it_is_traced() -> None:
    """`run_operation` and `SubmissionWorkers.run`, and no threads of their own."""
    folder = Path(__file__).parents[2] / "resolvers"
    bare = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.py")
        if "asyncio.to_thread(" in path.read_text()
    }
    assert bare == {"request/workers.py", "appsync_source.py"}  # where `Sources.read` traces what it calls


def test_logs_carry_the_id_of_their_own_invocation(
    load: Load, api: Api, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also those written while a resolver runs, in the loop that all invocations share."""
    api.board(peakWritesPerSecond=10)
    module = load("api_handler")

    def fail(*_: object) -> None:
        raise RuntimeError("no disk")

    monkeypatch.setattr(queries, "size", fail)
    capsys.readouterr()
    for request_id in ("request-1", "request-2"):
        context = SimpleNamespace(aws_request_id=request_id)
        module.handler([call("Leaderboard", "size", {"id": "board"})], context)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["requestId"] for line in lines] == ["request-1", "request-2"]
