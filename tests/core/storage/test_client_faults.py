"""Throttles, lost connections, credentials: by boto3's client and by the lean one, on a scripted server."""

import json
import os
import time
from binascii import crc32
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from botocore.credentials import RefreshableCredentials
from botocore.exceptions import (
    ClientError,
    ConnectionClosedError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
    SSLError,
)
from botocore.session import Session

from core.domain.errors import Throttled
from core.storage import database
from core.storage.database import Tables, connect
from core.storage.lean_client import LeanClient
from local.server.certificate import local_certificate
from local.stack.engine import free_port
from tests.support.scripted_server import DROPPED, SECRET, Reply, ScriptedServer, error, scripted_server

KEY: dict[str, Any] = {"node": {"B": b"\xff"}}


@pytest.fixture(params=["boto3", "lean"], autouse=True)
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each client in turn is what `connect` returns."""
    monkeypatch.setenv("LEADERBOARD_DYNAMODB_CLIENT", request.param)
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "AWS_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    return str(request.param)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with scripted_server() as scripted:
        yield scripted


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long a client waited each time, without waiting."""
    seconds: list[float] = []
    monkeypatch.setattr(time, "sleep", seconds.append)
    return seconds


def connected(url: str) -> Any:
    return connect(
        Tables.with_prefix("t"), region="eu-west-1", endpoint_url=url, access_key="key", secret_key=SECRET
    ).client


def get(client: Any) -> Any:
    return client.get_item(TableName="t", Key=KEY)


def test_the_setting_chooses_the_client(kind: str, server: ScriptedServer) -> None:
    assert isinstance(connected(server.url), LeanClient) == (kind == "lean")


def test_behind_a_proxy_it_is_boto3s(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://localhost:1")
    monkeypatch.setenv("NO_PROXY", "")
    assert not isinstance(connected("https://example.com"), LeanClient)


def test_a_request_is_signed_and_complete(server: ScriptedServer) -> None:
    get(connected(server.url))
    (request,) = server.requests
    assert request.is_signed_with(SECRET)
    assert not request.is_signed_with("another")
    assert request.operation == "GetItem"
    assert request.headers["Content-Type"] == "application/x-amz-json-1.0"
    assert "X-Amz-Security-Token" not in request.headers
    assert "Botocore/" in request.headers["User-Agent"]
    assert json.loads(request.body) == {
        "TableName": "t",
        "Key": {"node": {"B": "/w=="}},
        "ReturnConsumedCapacity": "TOTAL",
    }


def test_connections_are_kept(server: ScriptedServer) -> None:
    client = connected(server.url)
    for _ in range(3):
        get(client)
    assert len({request.connection for request in server.requests}) == 1


THROTTLES = [
    "ProvisionedThroughputExceededException",
    "RequestLimitExceeded",
    "ThrottlingException",
    "TransactionInProgressException",
]


@pytest.mark.parametrize("code", THROTTLES)
def test_a_throttle_is_waited_for(server: ScriptedServer, waits: list[float], code: str) -> None:
    server.reply(error(code), error(code), Reply(b'{"Item": {"b": {"B": "AA=="}}}'))
    answer = get(connected(server.url))
    assert answer["Item"] == {"b": {"B": b"\0"}}
    assert answer["ResponseMetadata"]["RetryAttempts"] == 2
    assert len(waits) == 2
    assert all(0 <= seconds <= 2**attempt for attempt, seconds in enumerate(waits))


def test_a_table_that_stays_throttled_is_given_up(server: ScriptedServer, waits: list[float]) -> None:
    server.reply(*[error("ThrottlingException")] * 9)
    with pytest.raises(Throttled):
        get(connected(server.url))
    assert len(server.requests) == 5
    assert len(set(waits)) == 4  # jittered


def test_a_conflict_with_a_transaction_is_waited_for(server: ScriptedServer, waits: list[float]) -> None:
    server.reply(*[error("TransactionConflictException")] * 14)
    get(connected(server.url))
    assert len(server.requests) == 15
    assert max(waits) <= 0.2


@pytest.mark.parametrize("fault", [Reply(b"<html>", 503), error("InternalServerError", 500), DROPPED])
def test_an_outage_is_bridged(server: ScriptedServer, waits: list[float], fault: Reply) -> None:
    server.reply(fault, fault)
    assert get(connected(server.url))["ResponseMetadata"]["RetryAttempts"] == 2
    assert all(0 <= seconds <= 0.025 * 2**attempt for attempt, seconds in enumerate(waits))


def test_an_outage_that_lasts_is_an_error(server: ScriptedServer, waits: list[float]) -> None:
    client = connected(server.url)
    server.reply(*[error("InternalServerError", 500)] * 5)
    with pytest.raises(client.exceptions.InternalServerError) as failed:
        get(client)
    assert failed.value.response["ResponseMetadata"]["RetryAttempts"] == 4
    assert failed.value.response["ResponseMetadata"]["MaxAttemptsReached"]
    server.reply(*[DROPPED] * 5)
    with pytest.raises(ConnectionClosedError):
        get(client)
    assert len(server.requests) == 10
    assert len(waits) == 8


def test_retries_end_when_their_quota_is_used_up(server: ScriptedServer, waits: list[float]) -> None:
    """The quota is botocore's: it keeps many clients from retrying against an outage."""
    client = connected(server.url)
    server.reply(*[Reply(status=500)] * 200)
    for _ in range(40):
        with pytest.raises(ClientError):
            get(client)
    assert len(server.requests) < 180
    assert len(waits) == len(server.requests) - 40


def test_a_transaction_is_retried_under_one_token(server: ScriptedServer, waits: list[float]) -> None:
    server.reply(DROPPED)
    client = connected(server.url)
    for _ in range(2):
        client.transact_write_items(TransactItems=[{"Put": {"TableName": "t", "Item": KEY}}])
    first, retry, next_one = [json.loads(request.body)["ClientRequestToken"] for request in server.requests]
    assert first == retry != next_one
    assert len(waits) == 1


def test_a_connection_that_was_closed_when_idle_costs_no_retry(server: ScriptedServer) -> None:
    client = connected(server.url)
    server.reply(Reply(closes=True))
    get(client)
    time.sleep(0.05)  # until its end has arrived
    assert get(client)["ResponseMetadata"]["RetryAttempts"] == 0
    assert len(server.requests) == 2


def test_a_damaged_answer_is_asked_for_again(server: ScriptedServer, waits: list[float]) -> None:
    body = b'{"Item": {}}'
    sound = Reply(body, headers={"x-amz-crc32": str(crc32(body))})
    server.reply(sound, Reply(body[:-2], headers=sound.headers), sound)
    client = connected(server.url)
    assert get(client)["ResponseMetadata"]["RetryAttempts"] == 0
    assert get(client)["ResponseMetadata"]["RetryAttempts"] == 1
    assert len(waits) == 1


def test_a_chunked_answer_is_read_whole(server: ScriptedServer) -> None:
    server.reply(Reply(b'{"Item": {"text": {"S": "as long as it is"}}}', chunked=True))
    client = connected(server.url)
    assert get(client)["Item"]["text"]["S"] == "as long as it is"
    assert "Item" not in get(client)


@pytest.mark.usefixtures("waits")
def test_a_server_that_is_not_there(kind: str) -> None:
    assert kind
    with pytest.raises(EndpointConnectionError):
        get(connected(f"http://127.0.0.1:{free_port()}"))


def test_an_answer_that_does_not_come(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    hurried = database._CONFIG.merge(Config(read_timeout=0.1, retries={"total_max_attempts": 1}))
    monkeypatch.setattr(database, "_CONFIG", hurried)
    client = connected(server.url)
    get(client)
    server.reply(Reply(seconds=0.5))
    with pytest.raises(ReadTimeoutError):
        get(client)


def test_credentials_are_renewed(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    renewed: list[str] = []

    def renew() -> dict[str, str]:
        renewed.append(f"key{len(renewed)}")
        ends = datetime.now(UTC) + timedelta(seconds=-1 if len(renewed) == 1 else 3600)
        return {
            "access_key": renewed[-1],
            "secret_key": SECRET,
            "token": f"token of {renewed[-1]}",
            "expiry_time": ends.isoformat(),
        }

    session = Session()
    start = {**renew(), "expiry_time": (datetime.now(UTC) + timedelta(seconds=3600)).isoformat()}
    credentials = RefreshableCredentials.create_from_metadata(start, refresh_using=renew, method="test")
    monkeypatch.setattr(session, "get_credentials", lambda: credentials)
    monkeypatch.setattr(database, "Session", lambda: session)
    client = connect(Tables.with_prefix("t"), region="eu-west-1", endpoint_url=server.url).client
    get(client)
    credentials._expiry_time = datetime.now(UTC)  # type: ignore[attr-defined]
    get(client)
    get(client)
    assert [request.credential for request in server.requests] == ["key0", "key1", "key1"]
    tokens = [request.headers["X-Amz-Security-Token"] for request in server.requests]
    assert tokens == ["token of key0", "token of key1", "token of key1"]
    assert all(request.is_signed_with(SECRET) for request in server.requests)
    assert "x-amz-security-token" in server.requests[0].headers["Authorization"]


def test_without_credentials_nothing_is_sent(server: ScriptedServer, monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session()
    monkeypatch.setattr(session, "get_credentials", lambda: None)
    monkeypatch.setattr(database, "Session", lambda: session)
    client = connect(Tables.with_prefix("t"), region="eu-west-1", endpoint_url=server.url).client
    with pytest.raises(NoCredentialsError):
        get(client)
    assert not server.requests


@pytest.mark.usefixtures("waits")
def test_only_trusted_certificates_are_talked_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = local_certificate(tmp_path)
    with scripted_server(files) as server:
        with pytest.raises(SSLError):
            get(connected(server.url))
        monkeypatch.setenv("AWS_CA_BUNDLE", os.fspath(files[0]))
        monkeypatch.setattr(database, "Session", Session)
        client = connected(server.url)
        for _ in range(2):
            get(client)
        assert len({request.connection for request in server.requests}) == 1
        assert server.requests[0].is_signed_with(SECRET)
        with pytest.raises(SSLError):
            get(connected(server.url.replace("127.0.0.1", "127.1")))


def test_the_context_of_a_lambda_is_passed_on(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By this header, AWS finds functions that call one another without end."""
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "f")
    monkeypatch.setenv("_X_AMZN_TRACE_ID", "Root=1-2-3")
    get(connected(server.url))
    assert server.requests[0].headers["X-Amzn-Trace-Id"] == "Root=1-2-3"
