"""The publisher, against an endpoint that keeps what it is sent."""

import logging
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from graphql import (
    FieldNode,
    GraphQLObjectType,
    GraphQLSchema,
    OperationDefinitionNode,
    SelectionSetNode,
    build_schema,
    get_named_type,
    is_leaf_type,
    parse,
)

from core.domain.board import ComponentInput, define_board
from core.domain.limits import MAX_EVENT_BYTES
from core.domain.model import Board, Entry, PeriodKind, ScoreKind
from core.domain.periods import period_key
from core.notifications.events import RankChange, RankChangeCause, TopChange
from resolvers import publisher
from resolvers.publisher import Publisher, signed, with_key
from tests.support.appsync_service import SDL
from tests.support.graphql_sink import Answer, Received, Sink, accept, running_sink

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
BOARD = define_board(id="race", now=NOW)


@pytest.fixture
def sink() -> Iterator[Sink]:
    with running_sink() as running:
        yield running


@pytest.fixture(autouse=True)
def _short_delays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "_MAX_DELAY", 0.02)


def change(participant: str = "ann", version: int = 1) -> RankChange:
    return RankChange(
        BOARD, "all-time", participant, "Top 10", "Top 100", 10, 11, RankChangeCause.OTHERS, version, NOW
    )


def top_change(entries: int = 2, name: str = "Ann", board: Board = BOARD) -> TopChange:
    score = tuple(component.low for component in board.components)
    standing = [
        Entry(board, "all-time", f"p{at}", name, score, NOW, 1, None, False, 1, b"") for at in range(entries)
    ]
    return TopChange(board, "all-time", tuple(enumerate(standing, 1)), 7, NOW)


def throttled(_: Received) -> Answer:
    return 429, {"errors": [{"errorType": "TooManyRequestsException", "message": "Rate exceeded"}]}


def refused(_: Received) -> Answer:
    message = "Validation error of type FieldUndefined: Field 'x' in type 'Mutation' is undefined @ 'x'"
    return 200, {"data": None, "errors": [{"path": None, "locations": None, "message": message}]}


def test_what_is_sent_is_the_event(sink: Sink) -> None:
    sender = Publisher(sink.url, with_key("local-admin"))
    assert sender.publish([change()]).done == [change()]
    [request] = sink.received
    assert request.headers["x-api-key"] == "local-admin"
    assert request.input == {
        "leaderboardId": "race",
        "participantId": "ann",
        "period": "all-time",
        "periodAlias": None,
        "previousBucket": "Top 10",
        "bucket": "Top 100",
        "previousRank": 10,
        "rank": 11,
        "cause": "OTHERS",
        "version": "1",
        "at": "2026-11-30T12:00:00Z",
    }
    assert sender.take_counts() == {"published": 1}
    assert sender.take_counts() == {}


def test_requests_are_signed_for_appsync(sink: Sink, monkeypatch: pytest.MonkeyPatch) -> None:
    """The signature is what anyone with the secret computes from what arrived."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "token")
    assert Publisher(sink.url, signed("eu-west-1")).publish([change()]).done
    [request] = sink.received
    signature = re.fullmatch(
        r"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/(\d{8})/eu-west-1/appsync/aws4_request,"
        r" SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})",
        request.headers["authorization"],
    )
    assert signature
    assert {"host", "x-amz-date", "x-amz-security-token"} <= set(signature[2].split(";"))
    rest = set(signature[2].split(";")) - {"host", "x-amz-date", "x-amz-security-token"}
    again = AWSRequest("POST", sink.url, {name: request.headers[name] for name in rest}, request.raw)
    monkeypatch.setattr("botocore.auth.get_current_datetime", lambda: _at(request))
    SigV4Auth(Credentials("AKIDEXAMPLE", "secret", "token"), "appsync", "eu-west-1").add_auth(again)
    assert again.headers["Authorization"] == request.headers["authorization"]


def _at(request: Received) -> datetime:
    return datetime.strptime(request.headers["x-amz-date"], "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)


@pytest.mark.parametrize(
    ("mutation", "event_type", "arguments"),
    [
        (publisher.PUBLISH_RANK, "RankBucketChange", {"leaderboardId", "participantId"}),
        (publisher.PUBLISH_TOP, "TopChange", {"leaderboardId", "period"}),
    ],
)
def test_report_2_4_5_every_field_is_selected_by_its_own_name(
    mutation: str, event_type: str, arguments: set[str]
) -> None:
    """Subscribers receive only selected fields, arguments match only those, and aliased fields are lost."""
    selected = selections(mutation)
    assert arguments <= selected
    assert selected == paths(build_schema(SDL), event_type)


def selections(mutation: str) -> set[str]:
    """Return the path of each leaf that a publish mutation selects; no field may be aliased."""

    def leaves(selection: SelectionSetNode) -> Iterator[str]:
        for node in selection.selections:
            assert isinstance(node, FieldNode)
            assert node.alias is None
            inner = leaves(node.selection_set) if node.selection_set else [""]
            yield from (f"{node.name.value}.{path}".rstrip(".") for path in inner)

    [operation] = parse(mutation).definitions
    assert isinstance(operation, OperationDefinitionNode)
    [field] = operation.selection_set.selections
    assert isinstance(field, FieldNode)
    assert field.selection_set
    return set(leaves(field.selection_set))


def paths(schema: GraphQLSchema, type_name: str) -> set[str]:
    """Return the path of each leaf of a type."""
    found = set()
    for name, field in cast("GraphQLObjectType", schema.type_map[type_name]).fields.items():
        inner = get_named_type(field.type)
        found |= {name} if is_leaf_type(inner) else {f"{name}.{path}" for path in paths(schema, inner.name)}
    return found


def test_a_throttled_event_is_retried(sink: Sink) -> None:
    sink.answer = lambda request: throttled(request) if len(sink.received) < 3 else accept(request)
    sender = Publisher(sink.url, with_key("k"))
    assert sender.publish([change()]).done == [change()]
    assert len(sink.received) == 3
    assert sender.take_counts() == {"published": 1}


@pytest.mark.parametrize("status", [401, 403, 404, 429, 500, 503])
def test_an_event_that_fails_for_now_is_left_for_later(
    sink: Sink, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    """Forbidden, too: nothing may be lost until Terraform has repaired the permissions."""
    sink.answer = lambda _: (status, {"errors": [{"errorType": "X", "message": "down"}]})
    sender = Publisher(sink.url, with_key("k"))
    assert sender.publish([change()]).done == []
    assert sender.take_counts() == {"failed": 1}
    assert "trying later" in caplog.text
    assert str(status) in caplog.text


def test_an_event_that_is_refused_stops_no_other(sink: Sink, caplog: pytest.LogCaptureFixture) -> None:
    sink.answer = lambda request: (refused if request.input["participantId"] == "bad" else accept)(request)
    sender = Publisher(sink.url, with_key("k"))
    events = [change("bad"), change("ann")]
    assert sender.publish(events).done == events
    assert sender.take_counts() == {"refused": 1, "published": 1}
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def test_report_9_more_than_240_kb_is_never_sent(sink: Sink) -> None:
    """AppSync would drop it silently."""
    sender = Publisher(sink.url, with_key("k"))
    huge = top_change(100, "m" * 3_000)
    assert sender.publish([huge]).done == [huge]
    assert sink.received == []
    assert sender.take_counts() == {"refused": 1}


def test_the_largest_top_that_there_can_be_is_sent(sink: Sink) -> None:
    """25 entries with names that JSON escapes and scores of as many digits as possible."""
    sender = Publisher(sink.url, with_key("k"))
    components = [ComponentInput(f"c{at}", ScoreKind.DECIMAL, decimals=2) for at in range(32)]
    largest = top_change(25, "\\" * 256, define_board(id="race", now=NOW, components=components))
    sender.publish([largest])
    assert len(sink.received[0].raw) < MAX_EVENT_BYTES


def test_an_outage_costs_little(sink: Sink) -> None:
    """Once one event could not be delivered, the others are not tried."""
    sink.answer = lambda _: (503, {})
    sender = Publisher(sink.url, with_key("k"))
    assert sender.publish([change(f"p{at}") for at in range(500)]).done == []
    assert len(sink.received) <= publisher.CONCURRENCY * 4
    assert sender.take_counts() == {"failed": 500}


def test_an_endpoint_that_refuses_connections_is_an_outage_too(sink: Sink) -> None:
    sender = Publisher("http://127.0.0.1:9/graphql", with_key("k"))
    assert sender.publish([change(), change("bob")]).done == []


def test_connections_are_kept_and_requests_limited(sink: Sink) -> None:
    busy, most, lock = [0], [0], threading.Lock()

    def slow(request: Received) -> Answer:
        with lock:
            busy[0] += 1
            most[0] = max(most[0], busy[0])
        time.sleep(0.005)
        with lock:
            busy[0] -= 1
        return accept(request)

    sink.answer = slow
    sender = Publisher(sink.url, with_key("k"))
    events = [change(f"p{at}") for at in range(150)]
    assert sender.publish(events).done == events
    assert sender.publish([replace(event, version=2) for event in events[:50]]).done
    assert most[0] <= publisher.CONCURRENCY
    assert len(sink.connections) <= publisher.CONCURRENCY


def test_a_top_is_published_as_rows(sink: Sink) -> None:
    Publisher(sink.url, with_key("k")).publish([top_change(1)])
    content = sink.received[0].input
    assert (content["leaderboardId"], content["period"], content["version"]) == ("race", "all-time", "7")
    assert content["entries"] == [
        {
            "rank": 1,
            "participantId": "p0",
            "displayName": "Ann",
            "score": {
                "value": ["-9223372036854775808"],
                "number": -(2.0**63),
                "display": "-9223372036854775808",
            },
            "achievedAt": "2026-11-30T12:00:00Z",
        }
    ]


def test_an_event_of_a_current_period_has_its_alias(sink: Sink) -> None:
    board = define_board(id="race", now=NOW, periods=[PeriodKind.ALL_TIME, PeriodKind.DAILY])
    now = datetime.now(UTC)
    days = [period_key(board, PeriodKind.DAILY, moment) for moment in (now, now - timedelta(days=1))]
    for period in (*days, "all-time"):
        Publisher(sink.url, with_key("k")).publish(
            [
                replace(change(), board=board, period=period),
                replace(top_change(1, board=board), period=period),
            ]
        )
    aliases = [(request.input["period"], request.input["periodAlias"]) for request in sink.received]
    expected = [(days[0], "daily"), (days[1], None), ("all-time", None)]
    assert sorted(aliases, key=str) == sorted(expected * 2, key=str)
