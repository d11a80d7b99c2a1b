"""`leaderboard run`, from a submission to subscribers that use gql over AppSync's protocol."""

import asyncio
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest
from gql import Client, GraphQLRequest
from gql.transport.appsync_auth import AppSyncApiKeyAuthentication
from gql.transport.appsync_websockets import AppSyncWebsocketsTransport

from core.domain.buckets import DEFAULT_BUCKETS
from local.stack.engine import find_engine, free_port
from tests.support.live import WATCH, WATCH_TOP
from tests.support.oracle import Bucket, Oracle

READY_SECONDS = 30
QUIET_SECONDS = 30  # generous: the machine may be busy
SUBSCRIPTIONS = 100  # a connection's
NOW = datetime(2026, 1, 1, tzinfo=UTC)
ANN = "participant_that_is_pushed"


class Stack:
    """A running stack, and the oracle that its board is compared with."""

    def __init__(self, port: int) -> None:
        self.host = f"127.0.0.1:{port}"
        self.http = httpx.Client(
            base_url=f"http://{self.host}", headers={"x-api-key": "local-admin"}, timeout=30
        )
        self.oracle = Oracle(buckets=[Bucket(one.name, one.to, one.top_percent) for one in DEFAULT_BUCKETS])

    def ask(self, query: str, **variables: object) -> Any:
        answer = self.http.post("/graphql", json={"query": query, "variables": variables}).json()
        assert "errors" not in answer, answer
        return answer["data"]

    def submit(self, scores: dict[str, int]) -> None:
        """Submit scores, up to a hundred in a request."""
        submissions = [
            {"leaderboardId": "board", "participantId": participant, "score": str(score)}
            for participant, score in scores.items()
        ]
        for start in range(0, len(submissions), 100):
            inputs = submissions[start : start + 100]
            query = "mutation ($inputs: [SubmitScoreInput!]!) { submitScores(inputs: $inputs) { errorType } }"
            assert all(
                result["errorType"] is None for result in self.ask(query, inputs=inputs)["submitScores"]
            )
        for participant, score in scores.items():
            self.oracle.submit(participant, (score,), NOW)

    def place(self, participant: str) -> tuple[int, str]:
        """Return the rank and bucket that the oracle has for a participant."""
        place = self.oracle.place(participant)
        assert place
        return place.rank, place.bucket


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    if find_engine() is None and os.environ.get("CI") != "true":
        pytest.skip("no dynoxide engine: `make setup` fetches it on the platforms that it is built for")
    port = free_port()
    output = tmp_path / "output"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "local.cli", "run", "--port", str(port), "--data", tmp_path / "data"],
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    running = Stack(port)
    try:
        deadline = time.monotonic() + READY_SECONDS
        while not _is_up(running.http):
            assert process.poll() is None, output.read_text()
            assert time.monotonic() < deadline, output.read_text()
            time.sleep(0.05)
        yield running
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(timeout=20)
    log = output.read_text().lower()
    assert not any(level in log for level in ("warning", "error")), log


def _is_up(http: httpx.Client) -> bool:
    try:
        return http.get("/health").status_code == 200
    except httpx.TransportError:
        return False


def connection(stack: Stack) -> Client:
    auth = AppSyncApiKeyAuthentication(stack.host, "local-public")
    return Client(transport=AppSyncWebsocketsTransport(f"ws://{stack.host}/graphql", auth=auth))


def create(stack: Stack) -> None:
    stack.ask('mutation { createLeaderboard(input: {id: "board"}) { id } }')


def watch(session: Any, who: str) -> AsyncGenerator[dict[str, Any], None]:
    events: AsyncGenerator[dict[str, Any], None] = session.subscribe(
        GraphQLRequest(WATCH, variable_values={"board": "board", "who": who})
    )
    return events


async def wait_for(events: AsyncGenerator[dict[str, Any], None], field: str = "onRankBucketChange") -> Any:
    async with asyncio.timeout(QUIET_SECONDS):
        return (await anext(events))[field]


async def wait_for_bucket(stack: Stack, events: AsyncGenerator[dict[str, Any], None], bucket: str) -> Any:
    """Read events up to the first with this bucket."""
    while (event := await wait_for(events))["bucket"] != bucket:
        pass
    return event


def test_another_pushes_me_out_of_the_top_10(stack: Stack) -> None:
    create(stack)

    async def run() -> None:
        async with connection(stack) as session:
            events = watch(session, ANN)
            first_event = asyncio.create_task(wait_for_bucket(stack, events, "Top 10"))
            await asyncio.sleep(0)
            best = {f"p{at}": 100 + at for at in range(9)}
            await asyncio.to_thread(stack.submit, best | {ANN: 50, "z": 1})
            first = await first_event
            assert (first["previousBucket"], first["rank"], first["cause"]) == (None, 10, "OWN_SCORE")
            await asyncio.sleep(1.2)
            began = time.monotonic()
            await asyncio.to_thread(stack.submit, {"z": 60})
            event = await wait_for(events)
            sys.stdout.write(f"published after {time.monotonic() - began:.2f} s\n")
            assert (event["previousBucket"], event["previousRank"]) == ("Top 10", 10)
            assert (event["rank"], event["bucket"]) == stack.place(ANN) == (11, "Top 100")
            assert event["cause"] == "OTHERS"
            assert int(event["version"]) > int(first["version"])
            await events.aclose()

    asyncio.run(run())


def test_the_top_is_published_as_it_changes(stack: Stack) -> None:
    create(stack)

    async def run() -> None:
        async with connection(stack) as session:
            tops = session.subscribe(GraphQLRequest(WATCH_TOP))
            first_event = asyncio.create_task(wait_for(tops, "onTopChange"))
            await asyncio.sleep(0.3)
            await asyncio.to_thread(stack.submit, {"ann": 5, "bob": 7, "cid": 5})
            entries = (await first_event)["entries"]
            while len(entries) < 3:
                entries = (await wait_for(tops, "onTopChange"))["entries"]
            assert [(one["participantId"], one["rank"]) for one in entries] == [
                ("bob", 1),
                (entries[1]["participantId"], 2),
                (entries[2]["participantId"], 2),
            ]
            await tops.aclose()

    asyncio.run(run())


@pytest.mark.thorough
def test_500_cross_boundaries_in_one_burst(stack: Stack) -> None:
    """The last event of each subscriber agrees with the oracle."""
    create(stack)
    chance = random.Random(7)
    people = [f"p{at:03}" for at in range(500)]
    newest: dict[str, dict[str, Any]] = {}

    async def keep(events: AsyncGenerator[dict[str, Any], None]) -> None:
        async for data in events:
            event = data["onRankBucketChange"]
            last = newest.get(event["participantId"])
            assert last is None or int(event["version"]) > int(last["version"])
            newest[event["participantId"]] = event

    async def run() -> None:
        async with AsyncExitStack() as connections:
            tasks = []
            for start in range(0, len(people), SUBSCRIPTIONS):
                session = await connections.enter_async_context(connection(stack))
                some = people[start : start + SUBSCRIPTIONS]
                tasks += [asyncio.create_task(keep(watch(session, one))) for one in some]
            await asyncio.sleep(2)
            for _ in range(3):
                await asyncio.to_thread(stack.submit, {one: chance.randrange(10**6) for one in people})
            truth = {one: stack.place(one)[1] for one in people}
            async with asyncio.timeout(3 * QUIET_SECONDS):
                while {one: event["bucket"] for one, event in newest.items()} != truth:
                    await asyncio.sleep(0.1)
            await asyncio.sleep(2)  # nothing else comes
            assert {one: event["bucket"] for one, event in newest.items()} == truth
            for task in tasks:
                task.cancel()

    asyncio.run(run())
