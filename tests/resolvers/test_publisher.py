"""The publisher, against an endpoint that keeps what it is sent."""

import json
import logging
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from core.domain.board import define_board
from core.domain.limits import MAX_EVENT_BYTES
from core.domain.model import Entry
from core.notifications.events import RankChange, RankChangeCause, TopChange
from resolvers import publisher
from resolvers.publisher import Publisher, signed, with_key
from resolvers.schema import schema
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


def top_change(entries: int = 2, metadata: str | None = None) -> TopChange:
    standing = [
        Entry(BOARD, "all-time", f"p{at}", "Ann", (9 - at,), NOW, 1, metadata, False, 1, b"")
        for at in range(entries)
    ]
    return TopChange(BOARD, "all-time", tuple(enumerate(standing, 1)), entries, 7, NOW)


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
    [selection] = re.findall(r"\{ publish\w+\(input: \$input\) \{ ([^{}]+) \} \}", mutation)
    definition: Any = schema.get_type_by_name(event_type)
    fields = {schema.config.name_converter.get_graphql_name(one) for one in definition.fields}
    assert set(selection.split()) == fields >= arguments
    assert ":" not in selection


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
    huge = top_change(100, '"' + "m" * 3_000 + '"')
    assert sender.publish([huge]).done == [huge]
    assert sink.received == []
    assert sender.take_counts() == {"refused": 1}


def test_the_largest_top_that_there_can_be_is_sent(sink: Sink) -> None:
    """25 entries with the longest texts, of characters that JSON escapes three times."""
    sender = Publisher(sink.url, with_key("k"))
    largest = top_change(25, '"' + "\\\\" * 511 + '"')
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


def test_a_top_is_published_as_a_query_would_return_it(sink: Sink) -> None:
    Publisher(sink.url, with_key("k")).publish([top_change(1)])
    content = sink.received[0].input
    assert (content["leaderboardId"], content["period"], content["version"]) == ("race", "all-time", "7")
    assert json.loads(content["entries"]) == [
        {
            "participant": {"id": "p0", "displayName": "Ann"},
            "score": {"value": ["9"], "number": 9.0, "display": "9"},
            "achievedAt": "2026-11-30T12:00:00Z",
            "submissions": 1,
            "metadata": None,
            "rank": {"rank": 1, "total": 1},
        }
    ]
