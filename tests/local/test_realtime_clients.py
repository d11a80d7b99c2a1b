"""Public Python clients on the local server: gql's AppSync transport, and graphql-transport-ws."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from gql import Client, GraphQLRequest
from gql.client import AsyncClientSession
from gql.transport.appsync_auth import (
    AppSyncApiKeyAuthentication,
    AppSyncAuthentication,
    AppSyncJWTAuthentication,
)
from gql.transport.appsync_websockets import AppSyncWebsocketsTransport
from gql.transport.common.base import SubscriptionTransportBase
from gql.transport.exceptions import TransportConnectionFailed, TransportQueryError, TransportServerError
from gql.transport.websockets import WebsocketsTransport

from core.boards import Boards
from local.stack.engine import Engine
from tests.support.live import PUBLISH, WATCH, WATCH_TOP, Live, change, live_alone, token, top_change

Transport = Callable[[Live, str], SubscriptionTransportBase]


@pytest.fixture(scope="module")
def server(engine: Engine) -> Iterator[Live]:
    with live_alone(engine) as running:
        running.board("closed", clientAccess="NONE")
        yield running


def appsync(server: Live, who: str) -> SubscriptionTransportBase:
    """gql as on AWS: with a key or, for a participant, with a token."""
    auth: AppSyncAuthentication = (
        AppSyncApiKeyAuthentication(server.host, who)
        if who in ("public", "admin")
        else AppSyncJWTAuthentication(server.host, token(who))
    )
    return AppSyncWebsocketsTransport(f"ws://{server.host}/graphql", auth=auth)


def credentials(who: str) -> dict[str, str]:
    return {"x-api-key": who} if who in ("public", "admin") else {"Authorization": f"Bearer {token(who)}"}


def transport_ws(server: Live, who: str) -> SubscriptionTransportBase:
    """As a browser, which cannot set headers."""
    return WebsocketsTransport(
        f"ws://{server.host}/graphql", init_payload=credentials(who), subprotocols=["graphql-transport-ws"]
    )


def transport_ws_by_header(server: Live, who: str) -> SubscriptionTransportBase:
    return WebsocketsTransport(
        f"ws://{server.host}/graphql/realtime",
        headers=credentials(who),
        subprotocols=["graphql-transport-ws"],
    )


TRANSPORTS = [appsync, transport_ws, transport_ws_by_header]


@asynccontextmanager
async def connected(transport: SubscriptionTransportBase) -> AsyncIterator[AsyncClientSession]:
    async with Client(transport=transport) as session:
        yield session


def watch(
    session: AsyncClientSession, who: str, board: str = "board"
) -> AsyncGenerator[dict[str, Any], None]:
    return session.subscribe(GraphQLRequest(WATCH, variable_values={"board": board, "who": who}))


async def wait_for_subscriptions(server: Live, subscriptions: int) -> None:
    async with asyncio.timeout(10):
        while server.hub.count() < subscriptions:
            await asyncio.sleep(0.01)


async def receive(events: AsyncGenerator[dict[str, Any], None], wanted: int = 1) -> list[dict[str, Any]]:
    """Return this many events, and stop."""
    async with aclosing(events):
        return [await anext(events) for _ in range(wanted)]


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("who", ["public", "admin", "ann"])
def test_events_reach_their_subscribers_in_order(server: Live, transport: Transport, who: str) -> None:
    async def run() -> None:
        async with connected(transport(server, who)) as session, asyncio.timeout(20):
            ann = asyncio.create_task(receive(watch(session, "ann"), 30))
            bob = asyncio.create_task(receive(watch(session, "bob")))
            top = asyncio.create_task(receive(session.subscribe(GraphQLRequest(WATCH_TOP))))
            await wait_for_subscriptions(server, 3)
            for version in range(30):
                await asyncio.to_thread(server.publish, change("ann", version))
            await asyncio.to_thread(server.publish, change("bob"))
            await asyncio.to_thread(server.publish_top, top_change())
            assert await ann == [{"onRankBucketChange": change("ann", version)} for version in range(30)]
            assert await bob == [{"onRankBucketChange": change("bob")}]
            assert await top == [{"onTopChange": top_change()}]

    asyncio.run(run())
    server.wait_for_no_subscriptions()


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("board", ["none", "closed"])
def test_only_admin_can_subscribe_to_a_board_closed_to_clients(
    server: Live, transport: Transport, board: str
) -> None:
    """aws-appsync-community#86; another subscription on the same connection goes on."""

    async def run() -> None:
        for who in ("public", "ann"):
            async with connected(transport(server, who)) as session, asyncio.timeout(20):
                other = asyncio.create_task(receive(watch(session, "ann")))
                await wait_for_subscriptions(server, 1)
                with pytest.raises(TransportQueryError, match=f"there is no leaderboard '{board}'"):
                    await receive(watch(session, "ann", board))
                await asyncio.to_thread(server.publish, change("ann"))
                assert await other == [{"onRankBucketChange": change("ann")}]
            await asyncio.to_thread(server.wait_for_no_subscriptions)

    asyncio.run(run())


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_admin_can_subscribe_to_a_board_closed_to_clients(server: Live, transport: Transport) -> None:
    async def run() -> None:
        async with connected(transport(server, "admin")) as session, asyncio.timeout(20):
            event = asyncio.create_task(receive(watch(session, "ann", "closed")))
            await wait_for_subscriptions(server, 1)
            await asyncio.to_thread(server.publish, change("ann", leaderboardId="closed"))
            assert (await event)[0]["onRankBucketChange"]["leaderboardId"] == "closed"

    asyncio.run(run())
    server.wait_for_no_subscriptions()


def test_a_client_without_valid_credentials_cannot_connect(server: Live) -> None:
    async def run(transport: SubscriptionTransportBase) -> None:
        async with connected(transport):
            pass

    wrong = AppSyncWebsocketsTransport(
        f"ws://{server.host}/graphql", auth=AppSyncApiKeyAuthentication(server.host, "guess")
    )
    with pytest.raises(TransportServerError, match="UnauthorizedException"):
        asyncio.run(run(wrong))
    for payload in ({"x-api-key": "guess"}, {"Authorization": token("ann", -1)}, {}):
        wrong_too = WebsocketsTransport(
            f"ws://{server.host}/graphql", init_payload=payload, subprotocols=["graphql-transport-ws"]
        )
        with pytest.raises(TransportConnectionFailed):
            asyncio.run(run(wrong_too))


def test_queries_and_refusals_over_graphql_transport_ws(server: Live) -> None:
    """Every operation runs there; an error has its type as an extension, and no internals."""

    async def run() -> None:
        async with connected(transport_ws(server, "public")) as session, asyncio.timeout(20):
            board = await session.execute(GraphQLRequest('{ leaderboard(id: "board") { size } }'))
            assert board == {"leaderboard": {"size": 0}}
            publish = PUBLISH.replace("FIELDS", "at")
            with pytest.raises(TransportQueryError) as refused:
                await session.execute(GraphQLRequest(publish, variable_values={"input": change()}))
            assert refused.value.errors
            assert refused.value.errors[0]["extensions"] == {"errorType": "Unauthorized"}
            for wrong in ("subscription { nothing { at } }", "{ nothing }"):
                with pytest.raises(TransportQueryError, match="Cannot query field 'nothing'"):
                    await session.execute(GraphQLRequest(wrong))

    asyncio.run(run())


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_an_internal_error_shows_no_internals(
    server: Live, transport: Transport, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret")

    async def run() -> None:
        async with connected(transport(server, "public")) as session, asyncio.timeout(20):
            other = asyncio.create_task(receive(watch(session, "ann")))
            await wait_for_subscriptions(server, 1)
            monkeypatch.setattr(Boards, "get_many", fail)
            with pytest.raises(TransportQueryError) as failed:
                await receive(watch(session, "bob"))
            assert "Something went wrong on our side" in str(failed.value)
            assert "secret" not in str(failed.value.errors)
            await asyncio.to_thread(server.publish, change("ann"))
            assert await other == [{"onRankBucketChange": change("ann")}]

    asyncio.run(run())
    assert "secret" in caplog.text
    server.wait_for_no_subscriptions()
