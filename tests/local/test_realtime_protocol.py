"""AppSync's real-time protocol, message by message, after its documentation and its clients' bug reports."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from core.boards import Boards
from core.storage.database import Database
from local.server import appsync_realtime
from local.stack.engine import Engine
from tests.support.live import (
    FIELDS,
    PUBLIC,
    PUBLISH,
    WATCH,
    WATCH_TOP,
    Live,
    Socket,
    change,
    live,
    live_alone,
    token,
    top_change,
    top_row,
)

ACK = {"type": "connection_ack", "payload": {"connectionTimeoutMs": 300_000}}


@pytest.fixture(scope="module")
def server(engine: Engine) -> Iterator[Live]:
    with live_alone(engine) as running:
        yield running


def talk(server: Live, script: Callable[[Socket], Awaitable[None]], **opened: Any) -> None:
    """Open a connection, wait for its ack, and run a script on it. No subscription is left afterwards."""

    async def run() -> None:
        async with Socket.open(server, **opened) as socket:
            assert await socket.init() == ACK
            await script(socket)

    asyncio.run(run())
    server.wait_for_no_subscriptions()


async def publish(server: Live, event: dict[str, Any], selected: str = FIELDS) -> None:
    await asyncio.to_thread(server.publish, event, selected)


async def receives_nothing(socket: Socket) -> None:
    """The answer to this message comes after all events that were published before it."""
    await socket.send({"type": "anything else"})
    assert (await socket.receive())["type"] == "error"


@pytest.mark.parametrize("path", ["/graphql", "/graphql/realtime"])
@pytest.mark.parametrize("form", ["query", "escaped query", "subprotocol", "headers"])
def test_each_way_to_send_credentials(server: Live, path: str, form: str) -> None:
    # "?>" and "~~~" make base64 with "+" and "/" in it.
    headers = PUBLIC | {"x-amz-date": "?>~~~?>>>~~"}

    async def script(socket: Socket) -> None:
        assert socket.connection.subprotocol == "graphql-ws"
        assert await socket.start("1", board="board", who="ann") == {"type": "start_ack", "id": "1"}

    talk(server, script, headers=headers, path=path, form=form)


def test_an_event_from_publish_to_data_to_complete(server: Live) -> None:
    async def script(socket: Socket) -> None:
        assert await socket.start("1", board="board", who="ann") == {"type": "start_ack", "id": "1"}
        await publish(server, change("bob"))
        await publish(server, change("ann", leaderboardId="other"))
        await publish(server, change("ann"))
        payload = {"data": {"onRankBucketChange": change("ann")}}
        assert await socket.receive() == {"type": "data", "id": "1", "payload": payload}
        assert await socket.stop("1") == {"type": "complete", "id": "1"}
        await publish(server, change("ann", 2))
        await receives_nothing(socket)
        assert await socket.start("1", board="board", who="ann") == {"type": "start_ack", "id": "1"}

    talk(server, script)


def test_what_is_published_right_after_start_ack_arrives(server: Live) -> None:
    """aws-appsync-community#405: AWS may lose it; this server does not."""

    async def script(socket: Socket) -> None:
        for at in range(200):
            assert await socket.start(str(at), board="board", who="ann") == {
                "type": "start_ack",
                "id": str(at),
            }
            await publish(server, change(version=at))
            message = await socket.receive()
            assert message["id"] == str(at)
            assert message["payload"]["data"]["onRankBucketChange"]["version"] == str(at)
            assert (await socket.stop(str(at)))["type"] == "complete"

    talk(server, script)


@pytest.mark.parametrize(
    ("written", "given", "periods"),
    [
        ("", {}, {"all-time", "daily-2026-11-30"}),
        (', period: "all-time"', {}, {"all-time"}),
        (", period: null", {}, set()),
        (", period: $period", {}, set()),  # declared and not set: null on AppSync
        (", period: $period", {"period": None}, set()),
        (", period: $period", {"period": "all-time"}, {"all-time"}),
    ],
)
def test_an_omitted_argument_matches_everything_and_null_only_null(
    server: Live, written: str, given: dict[str, Any], periods: set[str]
) -> None:
    """aws-mobile-appsync-sdk-js#241, aws-appsync-community#36."""
    declared = "($period: String)" if "$" in written else ""
    query = (
        f"subscription {declared} {{ onRankBucketChange("
        f'leaderboardId: "board", participantId: "ann"{written}) {{ period }} }}'
    )

    async def script(socket: Socket) -> None:
        assert (await socket.start("1", query, **given))["type"] == "start_ack"
        received = set()
        for period in ("all-time", "daily-2026-11-30"):
            await publish(server, change(period=period))
        for _ in periods:
            received.add((await socket.receive())["payload"]["data"]["onRankBucketChange"]["period"])
        await receives_nothing(socket)
        assert received == periods

    talk(server, script)


def test_an_alias_in_the_publishing_mutation_loses_its_field(server: Live) -> None:
    """aws-appsync-community#160: the field is null, and its alias reaches nobody."""

    async def script(socket: Socket) -> None:
        assert (await socket.start("1", board="board", who="ann"))["type"] == "start_ack"
        await publish(server, change(), FIELDS.replace("previousRank", "before: previousRank"))
        event = (await socket.receive())["payload"]["data"]["onRankBucketChange"]
        assert event == change() | {"previousRank": None}

    talk(server, script)


def test_a_required_field_that_the_publishing_mutation_left_out_fails_the_event(server: Live) -> None:
    """amplify-category-api#1338: the missing field makes the whole event null."""

    async def script(socket: Socket) -> None:
        assert (await socket.start("1", board="board", who="ann"))["type"] == "start_ack"
        query = WATCH.replace(FIELDS, "rank previousRank")
        assert (await socket.start("2", query, board="board", who="ann"))["type"] == "start_ack"
        await publish(server, change(), "leaderboardId participantId rank")
        messages = [await socket.receive() for _ in range(2)]
        payloads = {message["id"]: message["payload"] for message in messages}
        assert payloads["2"] == {"data": {"onRankBucketChange": {"rank": 4, "previousRank": None}}}
        assert payloads["1"]["data"] == {"onRankBucketChange": None}
        assert payloads["1"]["errors"][0]["message"].startswith("Cannot return null for non-nullable field")
        await publish(server, change())  # and the next one arrives
        messages = [await socket.receive() for _ in range(2)]
        assert [message["payload"]["data"]["onRankBucketChange"]["rank"] for message in messages] == [4, 4]

    talk(server, script)


def test_a_subscription_by_alias_moves_to_the_next_period_by_itself(server: Live) -> None:
    server.board("days", periods=["ALL_TIME", "DAILY"])
    today: dict[str, Any] = {"leaderboardId": "days", "period": "daily-2026-11-30", "periodAlias": "daily"}
    over = today | {"periodAlias": None}
    tomorrow = today | {"period": "daily-2026-12-01"}
    by_alias = WATCH_TOP.replace('"board"', '"days"').replace("all-time", "daily")
    rank = WATCH.replace("participantId: $who", 'participantId: $who, period: "daily"')

    async def script(socket: Socket) -> None:
        assert (await socket.start("top", by_alias))["type"] == "start_ack"
        assert (await socket.start("rank", rank, board="days", who="ann"))["type"] == "start_ack"
        for version, period in enumerate((today, over, tomorrow)):
            await asyncio.to_thread(server.publish_top, top_change(version=str(version), **period))
            await publish(server, change(version=version, **period))
        messages = [await socket.receive() for _ in range(4)]
        events = [(each["id"], next(iter(each["payload"]["data"].values()))) for each in messages]
        assert {(id_, event["period"]) for id_, event in events} == {
            (id_, period["period"]) for id_ in ("top", "rank") for period in (today, tomorrow)
        }
        assert {event["version"] for _, event in events} == {"0", "2"}
        await receives_nothing(socket)

    talk(server, script)


def test_an_argument_that_the_publishing_mutation_did_not_select_matches_nothing(server: Live) -> None:
    """aws-appsync-community#109."""

    async def script(socket: Socket) -> None:
        assert (await socket.start("1", board="board", who="ann"))["type"] == "start_ack"
        await publish(server, change(), FIELDS.replace("participantId", ""))
        await receives_nothing(socket)

    talk(server, script)


def test_the_hundred_and_first_subscription_is_refused_until_another_stops(server: Live) -> None:
    """amplify-js#8370, #14270: here `errors` is an object."""

    async def script(socket: Socket) -> None:
        for at in range(100):
            assert (await socket.start(str(at), board="board", who=f"p{at}"))["type"] == "start_ack"
        refused = await socket.start("100", board="board", who="ann")
        assert refused == {
            "type": "error",
            "id": "100",
            "payload": {
                "errors": {
                    "errorType": "MaxSubscriptionsReachedError",
                    "message": "Max number of 100 subscriptions reached",
                }
            },
        }
        assert (await socket.stop("0"))["type"] == "complete"
        assert (await socket.start("100", board="board", who="ann"))["type"] == "start_ack"
        await publish(server, change("p99"))
        assert (await socket.receive())["id"] == "99"

    talk(server, script)


def test_an_id_in_use_is_refused_and_its_first_subscription_goes_on(server: Live) -> None:
    """amplify-js#12818."""

    async def script(socket: Socket) -> None:
        assert (await socket.start("1", board="board", who="ann"))["type"] == "start_ack"
        refused = await socket.start("1", board="board", who="bob")
        assert refused["type"] == "error"
        assert refused["payload"]["errors"] == [
            {"errorType": "DuplicatedOperationError", "message": "Duplicated operation with id 1"}
        ]
        await publish(server, change("bob"))
        await publish(server, change("ann"))
        message = await socket.receive()
        assert message["payload"]["data"]["onRankBucketChange"]["participantId"] == "ann"

    talk(server, script)


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "localhost", "x-api-key": "guess"},
        {"host": "localhost", "Authorization": "no.such.token"},
        {"host": "localhost", "Authorization": token("ann", -1)},
        {"host": "localhost", "Authorization": token("ann")[:-3] + "abc"},
        {"host": "localhost"},
    ],
    ids=["unknown key", "no token", "expired", "forged", "nothing"],
)
@pytest.mark.parametrize("form", ["query", "subprotocol"])
def test_invalid_credentials_get_a_connection_error_and_no_ack(
    server: Live, headers: dict[str, str], form: str
) -> None:
    """amplify-flutter#584."""

    async def run() -> None:
        async with Socket.open(server, headers, form=form) as socket:
            refused = await socket.init()
            assert refused["type"] == "connection_error"
            (error,) = refused["payload"]["errors"]
            assert (error["errorType"], error["errorCode"]) == ("UnauthorizedException", 401)
            await asyncio.wait_for(socket.connection.wait_closed(), 10)

    asyncio.run(run())


def test_a_malformed_header_and_a_client_without_a_protocol(server: Live) -> None:
    from websockets.asyncio.client import connect

    async def first(url: str, protocols: Any = None) -> Any:
        async with connect(url, subprotocols=protocols) as connection:
            if protocols:
                await connection.send('{"type": "connection_init"}')
            return json.loads(await asyncio.wait_for(connection.recv(), 10))["payload"]["errors"][0]

    url = f"ws://{server.host}/graphql"
    for header in ("%21%21", "bnVsbA==", "WzFd", "/w==", "e30"):
        error = asyncio.run(first(f"{url}?header={header}", protocols=["graphql-ws"]))
        assert error["errorCode"] == (401 if header == "e30" else 400)
    error = asyncio.run(first(url))
    assert error == {"message": "SubProtocolNotSupportedError", "errorCode": 400}


def test_messages_before_connection_init_are_ignored(server: Live) -> None:
    async def run() -> None:
        async with Socket.open(server) as socket:
            await socket.send({"id": "1", "type": "start", "payload": {}})
            await socket.connection.send("no JSON")
            assert await socket.init() == ACK

    asyncio.run(run())


def test_a_client_that_never_begins_is_dropped(server: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(appsync_realtime, "INIT_SECONDS", 0.2)

    async def run() -> None:
        async with Socket.open(server) as socket:
            await asyncio.wait_for(socket.connection.wait_closed(), 10)
            assert socket.connection.close_reason == "connection_init: must come first"

    asyncio.run(run())


@pytest.mark.parametrize(
    ("query", "variables", "word"),
    [
        ("subscription { nothing { at } }", {}, "nothing"),
        ("subscription { onRankBucketChange { at } }", {}, "leaderboardId"),
        (WATCH, {"board": "board"}, "who"),
        (WATCH, {"board": "board", "who": ""}, "participantId"),
        (WATCH, {"board": "none", "who": "ann"}, "there is no leaderboard 'none'"),
        ('subscription { onTopChange(leaderboardId: "board", period: "x") { at } }', {}, "period"),
        ('subscription { onTopChange(leaderboardId: "board", period: "daily") { at } }', {}, "DAILY"),
        ('{ leaderboard(id: "board") { id } }', {}, "only subscriptions"),
        ("subscription {", {}, "Syntax Error"),
        ("", {}, "payload.data"),
        ("subscription A { onTopChange } subscription B { onTopChange }", {}, "onTopChange"),
    ],
)
def test_a_refused_subscription_gets_an_error_and_no_ack_and_ends_no_other(
    server: Live, query: str, variables: dict[str, Any], word: str
) -> None:
    """aws-appsync-community#86, amplify-js#14947; on this error Amplify keeps its socket open."""

    async def script(socket: Socket) -> None:
        assert (await socket.start("1", board="board", who="ann"))["type"] == "start_ack"
        refused = await socket.start("2", query, **variables)
        assert (refused["type"], refused["id"]) == ("error", "2")
        for error in refused["payload"]["errors"]:
            assert "nauthorized" not in error.get("errorType", "")
        assert word in refused["payload"]["errors"][0]["message"]
        await publish(server, change("ann"))
        assert (await socket.receive())["id"] == "1"
        assert (await socket.start("2", board="board", who="ann"))["type"] == "start_ack"  # the id is free

    talk(server, script)


@pytest.mark.parametrize(
    "message",
    [
        '{"type": "subscribe", "id": "2"}',
        '{"id": "2"}',
        "[1]",
        "null",
        "no JSON",
        '{"type": "start"}',
        b"\x00",
    ],
)
def test_a_message_of_unknown_type_ends_nothing(server: Live, message: str | bytes) -> None:
    async def script(socket: Socket) -> None:
        assert (await socket.start("1", board="board", who="ann"))["type"] == "start_ack"
        await socket.connection.send(message)
        assert (await socket.receive())["payload"]["errors"] == [
            {
                "errorType": "UnsupportedOperation",
                "message": "unknown not supported through the realtime channel",
            }
        ]
        await publish(server, change("ann"))
        assert (await socket.receive())["id"] == "1"

    talk(server, script)


@pytest.mark.parametrize(
    "payload",
    [
        {"data": "{", "extensions": {"authorization": PUBLIC}},
        {"data": '{"query": 1}', "extensions": {"authorization": PUBLIC}},
        {"data": '{"query": "x", "variables": 1}', "extensions": {"authorization": PUBLIC}},
        {"extensions": {"authorization": PUBLIC}},
        {"data": "{}", "extensions": {"authorization": 1}},
        {"data": json.dumps({"query": WATCH, "variables": {"board": "board", "who": "ann"}})},
        {"data": "{}", "extensions": 1},
        None,
    ],
)
def test_a_start_that_is_malformed_or_has_no_credentials(server: Live, payload: Any) -> None:
    async def script(socket: Socket) -> None:
        await socket.send({"type": "start", "id": "1", "payload": payload})
        refused = await socket.receive()
        assert (refused["type"], refused["id"]) == ("error", "1")
        (error,) = refused["payload"]["errors"]
        assert error["errorType"] in {"UnauthorizedException", "BadRequestException"}

    talk(server, script)


def test_the_connection_is_kept_alive(db: Database, boards: Boards) -> None:
    async def script(socket: Socket) -> None:
        for _ in range(3):
            assert json.loads(await asyncio.wait_for(socket.connection.recv(), 10)) == {"type": "ka"}

    with live(db, boards, keep_alive_seconds=0.05) as server:
        talk(server, script)


def test_an_event_that_is_too_large_cannot_be_published(server: Live) -> None:
    """aws-appsync-community#33: AWS would drop it silently."""
    server.publish_top(top_change(entries=[top_row(displayName="x" * 200_000)]))
    query = PUBLISH.replace("RankBucketChange", "TopChange").replace("FIELDS", "at")
    (error,) = server.ask(query, input=top_change(entries=[top_row(displayName="x" * 240_000)]))["errors"]
    assert error["errorType"] == "InvalidInput"
    assert "240000 bytes" in error["message"]


def test_only_the_payload_that_a_subscription_makes_too_large_is_dropped(server: Live) -> None:
    query = WATCH_TOP.replace("entries", "again: entries { displayName } entries")

    async def script(socket: Socket) -> None:
        assert (await socket.start("1", query))["type"] == "start_ack"
        large = [top_row(displayName="x" * 150_000)]
        await asyncio.to_thread(server.publish_top, top_change(entries=large, version="1"))
        await asyncio.to_thread(server.publish_top, top_change(version="2"))
        assert (await socket.receive())["payload"]["data"]["onTopChange"]["version"] == "2"

    talk(server, script)


def test_subscriptions_of_aborted_connections_are_removed(server: Live) -> None:
    async def run() -> None:
        for _ in range(3):
            async with Socket.open(server) as socket:
                await socket.init()
                for at in range(20):
                    assert (await socket.start(str(at), board="board", who="ann"))["type"] == "start_ack"
                socket.connection.transport.abort()

    asyncio.run(run())
    server.wait_for_no_subscriptions()
    server.publish(change())
