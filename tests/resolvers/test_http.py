"""The HTTP endpoint: keys, malformed requests, GET, CORS, and a real client over a socket."""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import uvicorn
from gql import Client, GraphQLRequest
from gql.transport.aiohttp import AIOHTTPTransport
from gql.transport.exceptions import TransportQueryError

from core.boards import Boards
from core.storage.database import Database
from resolvers.http import MAX_BODY_BYTES, Backend, serve
from resolvers.request.auth import Credentials
from tests.support.graphql_api import KEYS, Api

KEY = {"x-api-key": "public"}
JSON = {**KEY, "content-type": "application/json"}


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    return Api(db, boards)


def test_health_needs_no_key(api: Api) -> None:
    answer = api.request("GET", "/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


@pytest.mark.parametrize(
    ("headers", "message"),
    [
        ({}, "Valid authorization header not provided."),
        ({"x-api-key": ""}, "You are not authorized to make this call."),
        ({"x-api-key": "guess"}, "You are not authorized to make this call."),
    ],
)
@pytest.mark.parametrize("query", ["{ __typename }", "{ broken"])
def test_a_request_without_a_known_key_is_refused(
    api: Api, headers: dict[str, str], message: str, query: str
) -> None:
    answer = api.request("POST", json={"query": query}, headers=headers)
    assert answer.status_code == 401
    assert answer.headers["x-amzn-errortype"] == "UnauthorizedException"
    assert answer.json() == {"errors": [{"errorType": "UnauthorizedException", "message": message}]}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"meow",
        b"{}}",
        b"[]",
        b'[{"query": "{ __typename }"}]',
        b"1",
        b"null",
        b"\xff",
        b"[" * 100_000,
        b"{}",
        b'{"query": null}',
        b'{"query": ""}',
        b'{"query": 5}',
        b'{"query": "{ leaderboard("}',
        b'{"query": "{ __typename }", "variables": [1]}',
        b'{"query": "{ __typename }", "variables": "x"}',
        b'{"query": "{ __typename }", "operationName": "Missing"}',
        b'{"query": "{ __typename }", "operationName": ["Missing"]}',
        b'{"query": "{ __typename }", "operationName": "\\ud800"}',
        b'{"query": "{ \\ud800 }"}',
        b'{"query": "fragment F on Query { __typename }"}',
        b'{"query": "' + b"{a" * 400 + b'"}',
    ],
)
def test_a_malformed_body_is_refused(api: Api, body: bytes) -> None:
    answer = api.request("POST", content=body, headers=JSON)
    assert answer.status_code == 400
    (error,) = answer.json()["errors"]
    assert error.keys() == {"errorType", "message"}
    assert error["errorType"] == answer.headers["x-amzn-errortype"] == "MalformedHttpRequestException"


def test_a_syntax_error_says_what_was_expected(api: Api) -> None:
    answer = api.request("POST", json={"query": "{ leaderboard("}, headers=KEY)
    message = answer.json()["errors"][0]["message"]
    assert message == "Unable to parse GraphQL query. Syntax Error: Expected Name, found <EOF>."


def test_a_body_that_is_too_large_is_refused(api: Api) -> None:
    padded = json.dumps({"query": "{ __typename }", "padding": "x" * MAX_BODY_BYTES})
    answer = api.request("POST", content=padded.encode(), headers=JSON)
    assert answer.status_code == 413
    assert answer.json()["errors"][0]["errorType"] == "MalformedHttpRequestException"


def test_another_content_type_is_refused(api: Api) -> None:
    answer = api.request("POST", content=b"{ __typename }", headers={**KEY, "content-type": "text/plain"})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["errorType"] == "MalformedHttpRequestException"


def test_queries_are_answered_over_get(api: Api) -> None:
    api.board()
    parameters = {
        "query": "query ($id: ID!) { leaderboard(id: $id) { id } }",
        "variables": '{"id": "board"}',
    }
    answer = api.request("GET", params=parameters, headers=KEY)
    assert answer.json()["data"] == {"leaderboard": {"id": "board"}}


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"query": ""},
        {"query": 'mutation { deleteLeaderboard(id: "x") { id } }'},
        {"query": "{ __typename }", "variables": "{"},
        {"query": "{ __typename }", "variables": "[1]"},
    ],
)
def test_anything_but_a_query_is_refused_over_get(api: Api, parameters: dict[str, str]) -> None:
    answer = api.request("GET", params=parameters, headers={"x-api-key": "admin", "accept": "text/html"})
    assert answer.status_code == 400
    assert answer.json()["errors"][0]["errorType"] == "MalformedHttpRequestException"


def test_pages_of_any_origin_may_send_requests(api: Api) -> None:
    asked = {
        "origin": "https://game.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,x-api-key,x-amz-user-agent",
    }
    preflight = api.request("OPTIONS", headers=asked)
    assert preflight.status_code == 200
    assert preflight.headers["access-control-allow-origin"] == "*"
    assert "x-api-key" in preflight.headers["access-control-allow-headers"]
    for headers in (JSON, {}):
        answer = api.request(
            "POST", json={"query": "{ __typename }"}, headers={**headers, "origin": "https://game.example"}
        )
        assert answer.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in answer.headers


def test_a_subscription_over_http_is_refused(api: Api) -> None:
    api.board()
    query = 'subscription { onTopChange(leaderboardId: "board", period: "all-time") { at } }'
    kind, message = api.refusal(query, key="public")
    assert kind == "InvalidInput"
    assert "WebSocket" in message


@pytest.fixture
def url(db: Database, boards: Boards) -> Iterator[str]:
    """The application behind a real socket."""
    server = uvicorn.Server(
        uvicorn.Config(serve(Backend(db, boards, Credentials(KEYS))), port=0, log_level="warning")
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        host, port = server.servers[0].sockets[0].getsockname()
        yield f"http://{host}:{port}/graphql"
    finally:
        server.should_exit = True
        thread.join()


def test_gql_validates_against_introspection_and_sends_requests(url: str) -> None:
    def client(key: str) -> Client:
        return Client(
            transport=AIOHTTPTransport(url, headers={"x-api-key": key}), fetch_schema_from_transport=True
        )

    def ask(key: str, query: str, variables: dict[str, Any] | None = None) -> dict[str, Any]:
        return client(key).execute(GraphQLRequest(query, variable_values=variables))

    ask("admin", 'mutation { createLeaderboard(input: {id: "board"}) { id } }')
    submitted = ask(
        "admin",
        "mutation ($input: SubmitScoreInput!) { submitScore(input: $input) { accepted } }",
        {"input": {"leaderboardId": "board", "participantId": "🏁", "score": ["7"], "metadata": "[1]"}},
    )
    assert submitted == {"submitScore": {"accepted": True}}
    board = ask("public", '{ leaderboard(id: "board") { top { participant { id } rank { rank } } } }')
    assert board["leaderboard"]["top"] == [{"participant": {"id": "🏁"}, "rank": {"rank": 1}}]
    with pytest.raises(TransportQueryError) as refused:
        ask("public", 'mutation { createLeaderboard(input: {id: "other"}) { id } }')
    assert refused.value.errors
    assert refused.value.errors[0]["errorType"] == "Unauthorized"
    assert "consumed" not in (refused.value.extensions or {})  # only operators see it
