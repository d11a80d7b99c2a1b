"""Soak test of the local stack's subscriptions: lost and duplicate events, delays, and the server's memory.

Clients speak AppSync's protocol. Each event is published once, as the notifier does, and must reach each of
its subscribers once and in order.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from websockets.asyncio.client import ClientConnection, connect

from local import ADMIN_KEY, PUBLIC_KEY
from local.stack.engine import free_port

_FIELDS = "leaderboardId participantId period previousBucket bucket previousRank rank cause version at"
_PUBLISH = (
    f"mutation ($input: RankBucketChangeInput!) {{ publishRankBucketChange(input: $input) {{ {_FIELDS} }} }}"
)
_WATCH = (
    'subscription ($who: ID!) { onRankBucketChange(leaderboardId: "live", participantId: $who) '
    f"{{ {_FIELDS} }} }}"
)
_CREATE = 'mutation { createLeaderboard(input: {id: "live"}) { id } }'
_PUBLISHERS = 8  # requests under way at once
_PATIENCE_SECONDS = 30.0


@dataclass(frozen=True)
class Load:
    """The load: connections, subscriptions on each, and events a second for some seconds.

    `fan_out` subscriptions watch each participant.
    """

    connections: int = 200
    subscriptions: int = 10
    events_per_second: int = 200
    seconds: float = 30.0
    fan_out: int = 10

    @property
    def participants(self) -> int:
        """The number of participants that are watched."""
        return self.connections * self.subscriptions // self.fan_out


@dataclass
class Report:
    """The result. Memory is the server's resident set in MB; a delay is from publishing to receiving."""

    published: int = 0
    seconds: float = 0.0
    expected: int = 0
    received: int = 0
    wrong: int = 0  # lost, duplicate or out of order
    delays: list[float] = field(default_factory=list)
    memory: list[float] = field(default_factory=list)

    def delay(self, share: float) -> float:
        """Return the delay, in milliseconds, that this share of the events kept within."""
        ordered = sorted(self.delays)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)] * 1000

    def __str__(self) -> str:
        return (
            f"published {self.published} in {self.seconds:.1f} s ({self.published / self.seconds:.0f}/s)\n"
            f"events    {self.received} received of {self.expected}; {self.wrong} lost, twice, out of order\n"
            f"delay     p50 {self.delay(0.5):.0f} ms, p99 {self.delay(0.99):.0f} ms\n"
            f"memory    {', '.join(f'{size:.0f}' for size in self.memory)} MB, from the start to the end"
        )


class _Receiver:
    """Checks that each subscription receives its events one by one, in the order of their versions."""

    def __init__(self) -> None:
        self.last: dict[tuple[int, str], int] = {}
        self.events = 0
        self.wrong = 0
        self.delays: list[float] = []

    def receive(self, connection: int, message: dict[str, Any], sent: dict[tuple[str, int], float]) -> None:
        event = message["payload"]["data"]["onRankBucketChange"]
        key, version = (connection, message["id"]), int(event["version"])
        self.wrong += version != self.last.get(key, 0) + 1
        self.last[key] = version
        self.events += 1
        self.delays.append(time.monotonic() - sent[event["participantId"], version])


async def soak(load: Load) -> Report:
    """Run a new stack under a load; return the report."""
    async with _running_stack() as (port, pid), AsyncExitStack() as stack:
        http = await stack.enter_async_context(
            httpx.AsyncClient(
                base_url=f"http://127.0.0.1:{port}", headers={"x-api-key": ADMIN_KEY}, timeout=60
            )
        )
        await _ask(http, _CREATE)
        receiver, sent = _Receiver(), dict[tuple[str, int], float]()
        readers = []
        for at in range(load.connections):
            connection = await stack.enter_async_context(_subscribed(port, at, load))
            readers.append(asyncio.create_task(_read(connection, at, receiver, sent)))
        report = Report(memory=[_resident_mb(pid)])
        sampler = asyncio.create_task(_sample(pid, report.memory, load.seconds / 6))
        start = time.monotonic()
        report.published = await _publish(http, load, sent)
        report.seconds = time.monotonic() - start
        sampler.cancel()
        report.expected = report.published * load.fan_out
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while receiver.events < report.expected and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
        await asyncio.sleep(1)  # duplicates may come late
        report.memory.append(_resident_mb(pid))
        for reader in readers:
            reader.cancel()
        report.received, report.delays = receiver.events, receiver.delays
        report.wrong = receiver.wrong + max(0, report.expected - receiver.events)
        return report


@asynccontextmanager
async def _running_stack() -> AsyncIterator[tuple[int, int]]:
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-m", "local.cli", "run", "--port", str(port), "--data", folder],
            cwd=Path(__file__).parent.parent,
            stdout=subprocess.DEVNULL,
        )
        try:
            async with httpx.AsyncClient() as http:
                for _ in range(600):
                    try:
                        await http.get(f"http://127.0.0.1:{port}/health")
                        break
                    except httpx.TransportError:
                        await asyncio.sleep(0.05)
            yield port, process.pid
        finally:
            process.terminate()
            process.wait(timeout=30)


@asynccontextmanager
async def _subscribed(port: int, at: int, load: Load) -> AsyncIterator[ClientConnection]:
    header = {"host": "localhost", "x-api-key": PUBLIC_KEY}
    url = f"ws://127.0.0.1:{port}/graphql"
    async with connect(
        url,
        subprotocols=["graphql-ws"],  # type: ignore[list-item]
        additional_headers={"x-api-key": PUBLIC_KEY},
        compression=None,
        max_queue=None,
    ) as connection:
        await connection.send('{"type": "connection_init"}')
        for number in range(load.subscriptions):
            who = f"p{(at * load.subscriptions + number) % load.participants}"
            data = json.dumps({"query": _WATCH, "variables": {"who": who}})
            payload = {"data": data, "extensions": {"authorization": header}}
            await connection.send(json.dumps({"id": str(number), "type": "start", "payload": payload}))
        waiting = load.subscriptions
        while waiting:
            waiting -= json.loads(await connection.recv())["type"] == "start_ack"
        yield connection


async def _read(
    connection: ClientConnection, at: int, receiver: _Receiver, sent: dict[tuple[str, int], float]
) -> None:
    async for text in connection:
        message = json.loads(text)
        if message["type"] != "ka":
            receiver.receive(at, message, sent)


async def _publish(http: httpx.AsyncClient, load: Load, sent: dict[tuple[str, int], float]) -> int:
    """Publish at the load's pace, or as fast as the server accepts; return how many events."""
    total = round(load.events_per_second * load.seconds)
    free = asyncio.Semaphore(_PUBLISHERS)
    start = time.monotonic()
    # A participant's events are published one after the other, as the notifier does.
    previous: dict[str, asyncio.Task[None]] = {}

    async def publish(who: str, version: int, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await before
        async with free:
            sent[who, version] = time.monotonic()
            await _ask(http, _PUBLISH, input=_event(who, version))

    for number in range(total):
        await asyncio.sleep(max(0.0, start + number / load.events_per_second - time.monotonic()))
        who, version = f"p{number % load.participants}", number // load.participants + 1
        previous[who] = asyncio.create_task(publish(who, version, previous.get(who)))
    await asyncio.gather(*previous.values())
    return total


async def _ask(http: httpx.AsyncClient, query: str, **variables: Any) -> None:
    answer = (await http.post("/graphql", json={"query": query, "variables": variables})).json()
    if "errors" in answer:
        raise RuntimeError(str(answer["errors"]))


def _event(who: str, version: int) -> dict[str, Any]:
    return {
        "leaderboardId": "live",
        "participantId": who,
        "period": "all-time",
        "previousBucket": "Top 3",
        "bucket": "Top 10",
        "previousRank": 3,
        "rank": 4,
        "cause": "OTHERS",
        "version": str(version),
        "at": "2026-11-30T12:00:00Z",
    }


async def _sample(pid: int, memory: list[float], every: float) -> None:
    while True:
        await asyncio.sleep(every)
        memory.append(_resident_mb(pid))


def _resident_mb(pid: int) -> float:
    """Return a process's resident memory in MB; 0 without /proc."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def main() -> int:
    """Run the soak test; return 1 if an event was lost, duplicate or out of order."""
    parser = argparse.ArgumentParser(prog="python -m bench.live", description=soak.__doc__)
    for name, value in vars(Load()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value, metavar="N")
    load = Load(**vars(parser.parse_args()))
    report = asyncio.run(soak(load))
    print(report)
    return int(report.wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
