"""A client that reads too slowly is disconnected, without an effect on others."""

import asyncio
import random
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from local.stack.engine import Engine
from tests.support.live import WATCH_TOP, Live, Socket, live_alone, top_change, top_row

MAX_WAITING = 20
LARGE = [top_row(displayName=random.Random(1).randbytes(50_000).hex())]


async def start_of_transport_ws(socket: Socket) -> None:
    await socket.send({"type": "connection_init", "payload": {"x-api-key": "public"}})
    assert (await socket.receive())["type"] == "connection_ack"
    await socket.send({"id": "1", "type": "subscribe", "payload": {"query": WATCH_TOP}})


async def start_of_appsync(socket: Socket) -> None:
    await socket.init()
    assert (await socket.start("1", WATCH_TOP))["type"] == "start_ack"


def version(message: dict[str, Any]) -> int:
    return int(message["payload"]["data"]["onTopChange"]["version"])


async def receive_all(socket: Socket, versions: list[int]) -> None:
    while True:
        versions.append(version(await socket.receive()))


@pytest.mark.parametrize("form", ["subprotocol", "transport-ws"])
def test_a_client_that_does_not_read_is_disconnected_and_others_miss_nothing(
    engine: Engine, form: str
) -> None:
    start = start_of_transport_ws if form == "transport-ws" else start_of_appsync

    async def run(server: Live) -> None:
        async with Socket.open(server) as reading, Socket.open(server, form=form) as sleeping:
            await start_of_appsync(reading)
            await start(sleeping)
            async with asyncio.timeout(10):
                while server.hub.count() < 2:
                    await asyncio.sleep(0.01)
            published = 0
            while server.hub.count() > 1:  # the sockets themselves buffer some megabytes
                published += 1
                assert published < 500, "it was never disconnected"
                event = top_change(entries=LARGE, version=str(published))
                await asyncio.to_thread(server.publish_top, event)
                assert version(await reading.receive()) == published
            assert published > MAX_WAITING
            versions: list[int] = []
            with pytest.raises(ConnectionClosed) as closed:
                await receive_all(sleeping, versions)
            assert versions == list(range(1, len(versions) + 1))  # none twice, none left out before the end
            assert closed.value.rcvd
            assert closed.value.rcvd.code == 1013
            assert "subscribe again" in closed.value.rcvd.reason
            await asyncio.to_thread(server.publish_top, top_change(version="0"))
            assert version(await reading.receive()) == 0

    with live_alone(engine, max_waiting=MAX_WAITING) as server:
        asyncio.run(run(server))
        server.wait_for_no_subscriptions()


def test_the_backlog_counts_all_subscriptions_of_a_connection(engine: Engine) -> None:
    """A hundred subscriptions to one event are a hundred messages, which the limit allows here."""

    async def run(server: Live) -> None:
        async with Socket.open(server) as socket:
            await socket.init()
            for at in range(100):
                assert (await socket.start(str(at), WATCH_TOP))["type"] == "start_ack"
            for _ in range(3):
                await asyncio.to_thread(server.publish_top, top_change())
                ids = {(await socket.receive())["id"] for _ in range(100)}
                assert len(ids) == 100

    with live_alone(engine, max_waiting=100) as server:
        asyncio.run(run(server))
