"""A client that reads too slowly is left behind; nobody else feels it."""

import asyncio
import random
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed

from local.engine import Engine
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


async def hear_all(socket: Socket, heard: list[int]) -> None:
    while True:
        heard.append(version(await socket.receive()))


@pytest.mark.parametrize("form", ["subprotocol", "transport-ws"])
def test_who_does_not_read_is_dropped_and_others_miss_nothing(engine: Engine, form: str) -> None:
    start = start_of_transport_ws if form == "transport-ws" else start_of_appsync

    async def run(server: Live) -> None:
        async with Socket.open(server) as reading, Socket.open(server, form=form) as sleeping:
            await start_of_appsync(reading)
            await start(sleeping)
            async with asyncio.timeout(10):
                while server.hub.count() < 2:
                    await asyncio.sleep(0.01)
            published = 0
            while server.hub.count() > 1:  # what the sockets themselves hold is some megabytes
                published += 1
                assert published < 500, "it was never dropped"
                event = top_change(entries=LARGE, version=str(published))
                await asyncio.to_thread(server.publish_top, event)
                assert version(await reading.receive()) == published
            assert published > MAX_WAITING
            heard: list[int] = []
            with pytest.raises(ConnectionClosed) as closed:
                await hear_all(sleeping, heard)
            assert heard == list(range(1, len(heard) + 1))  # nothing twice, nothing left out before the end
            assert closed.value.rcvd
            assert closed.value.rcvd.code == 1013
            assert "subscribe again" in closed.value.rcvd.reason
            await asyncio.to_thread(server.publish_top, top_change(version="0"))
            assert version(await reading.receive()) == 0

    with live_alone(engine, max_waiting=MAX_WAITING) as server:
        asyncio.run(run(server))
        server.until_nobody_listens()


def test_one_connections_burst_is_all_its_subscriptions_together(engine: Engine) -> None:
    """A hundred subscriptions to one event are a hundred messages; a burst within bounds is no offence."""

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
