"""No document, whether it fits the schema or not, fails for an internal reason or costs more than it may."""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from graphql import (
    ArgumentNode,
    DocumentNode,
    ListValueNode,
    ObjectFieldNode,
    StringValueNode,
    Visitor,
    print_ast,
    visit,
)
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis_graphql import Mode, from_schema, nodes

from core.boards import Boards
from core.storage.database import Database
from resolvers.appsync import answer
from tests.support.appsync_service import SDL, AppSync
from tests.support.graphql_api import Api

FEW = 150
MANY = 2_000
MOST_UNITS = 1_000  # or requests; for what is on these small boards
KNOWN = {
    "id": ["board", "days", "ann"],
    "leaderboardId": ["board", "days"],
    "participantId": ["ann", "bob", "new"],
    "participantIds": ["ann", "bob"],
    "score": ["1", "-7", "9223372036854775807", "1.5"],
    "period": ["all-time", "daily", "previous", "daily-2026-01-01", "previous-99999"],
    "displayName": ["Ann", "\u202eAnn"],
}


def strings(*texts: str) -> st.SearchStrategy[Any]:
    return (st.sampled_from(texts) | st.text(max_size=40)).map(nodes.String)


SCALARS = {
    "AWSDateTime": strings("2026-12-01T00:00:00Z", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59.999Z"),
    "AWSJSON": strings("{}", '{"a": [1, null]}', "[", '"\\ud800"', "1" * 2000),
    "AWSURL": strings("https://example.com/a.png", "javascript:alert(1)"),
    "AWSDate": strings("2026-12-01"),
    "AWSTime": strings("12:00:00Z"),
    "AWSTimestamp": st.integers().map(nodes.Int),
    "AWSEmail": strings("a@example.com"),
    "AWSPhone": strings("+491"),
    "AWSIPAddress": strings("::1"),
}


class _Known(Visitor):
    """Replaces most ids, scores and periods by some that mean something, so that requests get far."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        super().__init__()
        self._draw = draw

    def enter_argument(self, node: ArgumentNode, *_: Any) -> Any:
        return self._replace(node)

    def enter_object_field(self, node: ObjectFieldNode, *_: Any) -> Any:
        return self._replace(node)

    def _replace(self, node: Any) -> Any:
        texts = KNOWN.get(node.name.value)
        if texts is None or not self._draw(st.integers(0, 4)):
            return None
        if isinstance(node.value, StringValueNode):
            value: Any = nodes.String(self._draw(st.sampled_from(texts)))
        elif isinstance(node.value, ListValueNode):
            value = ListValueNode(values=tuple(nodes.String(text) for text in texts[:1]))
        else:
            return None
        return type(node)(name=node.name, value=value)


@st.composite
def requests(draw: Callable[..., Any], mode: Mode) -> str:
    """Draw a document with most ids known."""
    document: DocumentNode = draw(
        from_schema(SDL, custom_scalars=SCALARS, mode=mode, codec=None, print_ast=lambda document: document)
    )
    return print_ast(visit(document, _Known(draw)))


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    api = Api(db, boards)
    api.board(clientAccess="SUBMIT")
    api.board("days", periods=["ALL_TIME", "DAILY"], policy="SUM")
    for board in ("board", "days"):
        api.submit("ann", "5", board=board)
        api.submit("bob", "3", board=board)
    return api


def play(api: Api, query: str, caplog: pytest.LogCaptureFixture) -> None:
    """Send a request with both keys, and check its response and what it logged."""
    for key in ("public", "admin"):
        headers = {"x-api-key": key, "content-type": "application/json"}
        answer = api.request("POST", content=json.dumps({"query": query}), headers=headers)
        response = answer.json()
        if answer.status_code == 400:  # too long for the parser
            assert [error["errorType"] for error in response["errors"]] == ["MalformedHttpRequestException"]
            continue
        assert answer.status_code == 200, answer.text
        for error in response.get("errors", []):
            assert error.get("errorType") != "InternalFailure", (query, error)
            assert "Traceback" not in error["message"]
            assert "core." not in error["message"]
        if key == "admin":
            consumed = response["extensions"]["consumed"]
            assert consumed["readUnits"] + consumed["writeUnits"] <= MOST_UNITS
            assert consumed["requests"] <= MOST_UNITS
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR], caplog.text


@pytest.mark.parametrize("mode", [Mode.POSITIVE, Mode.NEGATIVE], ids=["fits the schema", "does not"])
@pytest.mark.parametrize("examples", [FEW, pytest.param(MANY, marks=pytest.mark.thorough)])
def test_documents(api: Api, caplog: pytest.LogCaptureFixture, mode: Mode, examples: int) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(query=requests(mode))
    def run(query: str) -> None:
        caplog.clear()
        play(api, query, caplog)

    run()


@pytest.mark.parametrize("examples", [FEW, pytest.param(MANY, marks=pytest.mark.thorough)])
def test_documents_by_appsync(
    api: Api, db: Database, boards: Boards, caplog: pytest.LogCaptureFixture, examples: int
) -> None:
    def invoke(event: Any) -> Any:
        calls = event if isinstance(event, list) else [event]
        envelopes = asyncio.run(answer(db, boards, calls))
        return envelopes if isinstance(event, list) else envelopes[0]

    service = AppSync(invoke)

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(query=requests(Mode.POSITIVE))
    def run(query: str) -> None:
        caplog.clear()
        for error in service.ask(query).get("errors", []):
            assert error["errorType"] != "InternalFailure", (query, error)
        assert not [record for record in caplog.records if record.levelno >= logging.ERROR], caplog.text

    run()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.text(max_size=8), inside, max_size=3),
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(
    body=st.binary(max_size=60)
    | JSON.map(json.dumps).map(str.encode)
    | st.fixed_dictionaries(
        {},
        optional={
            "query": JSON | st.just("query ($n: Int) { leaderboards(limit: $n) { nextToken } }"),
            "variables": JSON | st.dictionaries(st.just("n"), JSON),
            "operationName": JSON,
            "extensions": JSON,
        },
    )
    .map(json.dumps)
    .map(str.encode),
    content_type=st.sampled_from(
        ["application/json", "text/plain", "multipart/form-data", "application/graphql"]
    ),
    method=st.sampled_from(["POST", "GET", "PUT", "OPTIONS"]),
)
def test_bodies(
    api: Api, caplog: pytest.LogCaptureFixture, body: bytes, content_type: str, method: str
) -> None:
    caplog.clear()
    headers = {"x-api-key": "admin", "content-type": content_type}
    answer = api.request(method, content=body, headers=headers)
    assert answer.status_code < 500, answer.text
    assert "InternalFailure" not in answer.text
    assert "Traceback" not in answer.text
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR], caplog.text
