"""The Lambda entries, imported as Lambda imports them, on the real engine."""

import base64
import importlib
import json
import logging
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from core.boards import Boards
from core.database import Database
from core.growth import GROW_AT, growing
from core.standings import size, top
from core.submit import Submission, submit_score
from local.engine import Engine
from local.stream_reader import connect_streams
from tests.graphql_api import Api

CONTEXT = SimpleNamespace(aws_request_id="request-1")
Load = Callable[[str], ModuleType]


@pytest.fixture
def load(engine: Engine, db: Database, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Imports a handler afresh, in the environment of a cold start."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", engine.endpoint)
    monkeypatch.setenv("AWS_REGION", "us-east-1")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "local")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "local")
    monkeypatch.setenv("LEADERBOARD_NAME_PREFIX", db.tables.scores.removesuffix("-scores"))
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level

    def load(name: str) -> ModuleType:
        sys.modules.pop(f"resolvers.{name}", None)
        return importlib.import_module(f"resolvers.{name}")

    yield load
    root.handlers[:], root.level = handlers, level


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    return Api(db, boards)


def lambda_event(db: Database) -> dict[str, Any]:
    """The whole stream as one event of a mapping with a window, in the JSON that Lambda makes of it."""
    streams = connect_streams(db)
    arn = db.client.describe_table(TableName=db.tables.scores)["Table"]["LatestStreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterator = streams.get_shard_iterator(
        StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]

    def plain(value: object) -> object:
        if isinstance(value, bytes):
            return base64.b64encode(value).decode()
        assert isinstance(value, datetime)
        return value.timestamp()

    records = streams.get_records(ShardIterator=iterator)["Records"]
    event: dict[str, Any] = json.loads(json.dumps({"Records": records}, default=plain))
    return event | {"shardId": shard["ShardId"], "window": {}, "state": {}, "isFinalInvokeForWindow": False}


def metrics(out: str) -> dict[str, Any]:
    """All metrics of the lines printed, each found where its metadata says."""
    found = {}
    for line in map(json.loads, out.splitlines()):
        for group in line.get("_aws", {}).get("CloudWatchMetrics", ()):
            assert group["Namespace"] == "Leaderboard"
            assert all(name in line for names in group["Dimensions"] for name in names)
            found |= {metric["Name"]: line[metric["Name"]] for metric in group["Metrics"]}
    return found


def test_a_batch_is_counted_once_however_often_it_comes(
    load: Load, db: Database, boards: Boards, api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    api.board()
    for place in range(20):
        api.submit(f"p{place}", str(place))
    handler = load("stream_handler").handler
    event = lambda_event(db)
    event["Records"].insert(3, {"eventID": "poison", "dynamodb": {}})
    for _ in range(2):
        assert handler(event, CONTEXT) == {"state": {}}
    assert size(db, boards.get("board"), "all-time") == 20
    assert [one.participant_id for one in top(db, boards.get("board"), "all-time", 2)] == ["p19", "p18"]
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {line["requestId"] for line in lines if "message" in line} == {"request-1"}


def test_the_stream_says_how_it_keeps_up(
    load: Load, db: Database, api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    api.board()
    for place in range(50):
        api.submit(f"p{place}", str(place))
    handler = load("stream_handler").handler
    capsys.readouterr()
    handler(lambda_event(db), CONTEXT)
    told = metrics(capsys.readouterr().out)
    assert (told["CountedRecords"], told["PoisonRecords"]) == (50, 0)
    assert told["CountingLag"] >= 0
    assert (
        told["RecordsPerWriteUnit"] > 2
    )  # fifty changes of one order are one write of its node and one of its top


def test_a_failed_batch_is_raised_and_loses_nothing_when_it_comes_again(
    load: Load, db: Database, boards: Boards, api: Api
) -> None:
    api.board()
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


def test_without_its_shard_a_batch_is_refused(load: Load, db: Database, api: Api) -> None:
    """A guard under a made-up name would count records of two shards wrongly."""
    api.board()
    api.submit("ann", "1")
    event = lambda_event(db)
    del event["shardId"]
    with pytest.raises(KeyError, match="shardId"):
        load("stream_handler").handler(event, CONTEXT)


def test_the_end_of_a_window_may_hold_no_records(load: Load) -> None:
    event = {"Records": [], "shardId": "shard", "state": {}, "isFinalInvokeForWindow": True}
    assert load("stream_handler").handler(event, CONTEXT) == {"state": {}}


def test_maintenance_takes_growing_trees_a_step(
    load: Load, db: Database, boards: Boards, api: Api, capsys: pytest.CaptureFixture[str]
) -> None:
    api.board()
    board = boards.get("board")
    for place in range(GROW_AT + 2):
        submit_score(db, board, Submission(f"p{place}", [str(10**6 + place)]), now=datetime.now(UTC))
    load("stream_handler").handler(lambda_event(db), CONTEXT)
    assert growing(db)
    capsys.readouterr()
    load("maintenance_handler").handler({}, CONTEXT)
    assert metrics(capsys.readouterr().out) == {"GrowingTrees": 1, "Chores": 0}


def test_refused_submissions_are_counted(load: Load, api: Api, capsys: pytest.CaptureFixture[str]) -> None:
    api.board()
    handler = load("api_handler").handler
    iam = {"userArn": "arn:aws:iam::123456789012:user/ann"}

    def call(score: str) -> dict[str, Any]:
        return {
            "arguments": {"input": {"leaderboardId": "board", "participantId": "p", "score": [score]}},
            "identity": iam,
            "info": {"parentTypeName": "Mutation", "fieldName": "submitScore"},
        }

    capsys.readouterr()
    assert handler(call("1"), CONTEXT)["data"]["accepted"] is True
    assert metrics(capsys.readouterr().out) == {}
    answers = handler([call("2"), call("much")], CONTEXT)
    assert [one.get("errorType") for one in answers] == [None, "InvalidScore"]
    assert metrics(capsys.readouterr().out) == {"RefusedSubmissions": 1}
    many = call("3")
    many["info"] = {"parentTypeName": "Mutation", "fieldName": "submitScores"}
    offer = many["arguments"]["input"]
    many["arguments"] = {"inputs": [offer, offer | {"score": ["x"]}, offer | {"leaderboardId": "none"}]}
    assert len(handler(many, CONTEXT)["data"]) == 3
    assert metrics(capsys.readouterr().out) == {"RefusedSubmissions": 2}


def test_the_function_url_says_who_calls_whatever_the_client_sends(load: Load, api: Api) -> None:
    api.board()
    handler = load("http_handler").handler

    def ask(query: str, **request_context: Any) -> Any:
        event = {
            "version": "2.0",
            "routeKey": "$default",
            "rawPath": "/graphql",
            "rawQueryString": "",
            "headers": {"content-type": "application/json", "x-api-key": "ADMIN", "host": "x.lambda-url"},
            "requestContext": {
                "http": {"method": "POST", "path": "/graphql", "sourceIp": "203.0.113.7"},
                **request_context,
            },
            "body": json.dumps({"query": query}),
            "isBase64Encoded": False,
        }
        answer = handler(event, CONTEXT)
        assert answer["statusCode"] == 200, answer
        return json.loads(answer["body"])

    create = 'mutation { createLeaderboard(input: {id: "new"}) { id } }'
    assert ask(create)["errors"][0]["errorType"] == "Unauthorized"
    signed = {"authorizer": {"iam": {"userArn": "arn:aws:iam::123456789012:user/ann"}}}
    assert ask(create, **signed)["data"] == {"createLeaderboard": {"id": "new"}}
    assert ask('{ leaderboard(id: "new") { id } }')["data"] == {"leaderboard": {"id": "new"}}


@pytest.mark.parametrize(
    ("handler", "unwanted"),
    [
        ("api_handler", ["starlette", "mangum", "aws_xray_sdk", "local", "rich", "moto", "uvicorn"]),
        ("http_handler", ["aws_xray_sdk", "local", "rich", "moto", "uvicorn"]),
        ("stream_handler", ["strawberry", "graphql", "starlette", "aws_xray_sdk", "local"]),
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


def test_tracing_puts_a_subsegment_around_an_invocation(
    load: Load, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    from aws_xray_sdk.core import xray_recorder

    names = []
    monkeypatch.setenv("LEADERBOARD_TRACING", "true")
    api.board()
    module = load("api_handler")
    xray_recorder.configure(context_missing="RAISE", sampling=False)
    with xray_recorder.in_segment("lambda") as segment:
        module.handler(
            {
                "arguments": {"id": "board"},
                "identity": None,
                "info": {"parentTypeName": "Query", "fieldName": "leaderboard"},
            },
            CONTEXT,
        )
        names = [one.name for one in segment.subsegments]
    assert names == ["Query.leaderboard"]
