"""Requests signed for AWS on the local server: by botocore's signer, and by gql's authentication."""

import asyncio
import json
from collections.abc import Iterator

import httpx
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as AwsCredentials
from gql import Client, GraphQLRequest
from gql.transport.appsync_auth import AppSyncIAMAuthentication
from gql.transport.appsync_websockets import AppSyncWebsocketsTransport

from local.server.signed import LocalCredentials
from local.stack.engine import Engine
from resolvers.request.auth import Credentials, NotAuthenticated, Role
from tests.support.live import WATCH, Live, change, live_alone

KEY_ID = "AKIAIOSFODNN7EXAMPLE"
SERVER = AwsCredentials(KEY_ID, "any secret")
CREATE = 'mutation { createLeaderboard(input: {id: "signed"}) { id } }'


@pytest.fixture(scope="module")
def server(engine: Engine) -> Iterator[Live]:
    with live_alone(engine) as running:
        yield running


def signed(url: str, query: str, **session: str) -> dict[str, str]:
    """Return the headers of a request as a server's code sends it to AppSync."""
    request = AWSRequest(
        "POST", url, data=json.dumps({"query": query}), headers={"content-type": "application/json"}
    )
    SigV4Auth(AwsCredentials(KEY_ID, "any secret", **session), "appsync", "eu-west-1").add_auth(request)
    return dict(request.headers.items())


def post(server: Live, query: str, headers: dict[str, str]) -> httpx.Response:
    return httpx.post(server.url, content=json.dumps({"query": query}), headers=headers)


@pytest.mark.parametrize("session", [{}, {"token": "of a role"}])
def test_a_signed_request_may_do_everything(server: Live, session: dict[str, str]) -> None:
    answer = post(server, CREATE, signed(server.url, CREATE, **session)).json()
    errors = [error["errorType"] for error in answer.get("errors", [])]
    assert answer["data"] == {"createLeaderboard": {"id": "signed"}} or errors == ["LeaderboardExists"]


def test_the_name_of_the_caller_is_the_key_id() -> None:
    authorization = signed("http://localhost/graphql", CREATE)["Authorization"]
    caller = LocalCredentials({}).caller({"authorization": authorization})
    assert (caller.role, caller.name) == (Role.ADMIN, KEY_ID)


@pytest.mark.parametrize(
    "authorization", ["AWS4-HMAC-SHA256", "AWS4-HMAC-SHA256 Credential=x", "Bearer x", ""]
)
def test_what_is_not_signed_is_refused(server: Live, authorization: str) -> None:
    headers = {"content-type": "application/json", "authorization": authorization}
    assert post(server, CREATE, headers).status_code == 401


def test_a_wrong_api_key_is_refused_though_the_request_is_signed(server: Live) -> None:
    assert post(server, CREATE, {**signed(server.url, CREATE), "x-api-key": "guess"}).status_code == 401


def test_the_code_that_runs_on_aws_takes_no_signature_on_trust() -> None:
    authorization = signed("http://localhost/graphql", CREATE)["Authorization"]
    with pytest.raises(NotAuthenticated):
        Credentials({}).caller({"authorization": authorization})


def test_subscriptions_are_signed_too(server: Live) -> None:
    asyncio.run(asyncio.wait_for(subscribe_and_publish(server), 30))


async def subscribe_and_publish(server: Live) -> None:
    auth = AppSyncIAMAuthentication(server.host, credentials=SERVER, region_name="eu-west-1")
    transport = AppSyncWebsocketsTransport(f"ws://{server.host}/graphql", auth=auth)
    request = GraphQLRequest(WATCH, variable_values={"board": "board", "who": "ann"})
    async with Client(transport=transport) as session:
        events = session.subscribe(request)
        first = asyncio.ensure_future(anext(events))
        while not server.hub.count():
            assert not first.done(), first.result()
            await asyncio.sleep(0.01)
        await asyncio.to_thread(server.publish, change("ann"))
        event = await asyncio.wait_for(first, 10)
        await events.aclose()
    assert event["onRankBucketChange"]["participantId"] == "ann"
