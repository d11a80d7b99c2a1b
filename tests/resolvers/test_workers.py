"""Submissions wait for a worker for so long and no longer, and keep no worker from readers."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from core.boards import Boards
from core.storage.database import Database
from local.stack.roles import acting_as
from resolvers.http import Backend, serve
from resolvers.request.auth import Credentials
from resolvers.request.workers import SubmissionWorkers
from tests.support import wire
from tests.support.graphql_api import KEYS, Api

MANY = "mutation ($inputs: [SubmitScoreInput!]!) { submitScores(inputs: $inputs) { errorType } }"
READ = """{ leaderboard(id: "board") {
  size top { participant { id } } entry(participantId: "old") { rank { rank } }
  around(participantId: "old") { rank { rank } } entriesOf(participantIds: ["old"]) { period }
} }"""
WORKERS = 2


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    api = Api(db, boards)
    api.board()
    api.submit("old", "1")
    return api


class Slow:
    """An engine that holds every write of an entry until it may go on."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.holding = threading.Semaphore(0)

    def before(self, operation: str, _: Any) -> None:
        if operation == "UpdateItem":
            self.holding.release()
            assert self.go_on.wait(30)


@pytest.fixture
def slow(db: Database, api: Api, monkeypatch: pytest.MonkeyPatch) -> Iterator[Slow]:
    engine = Slow()
    wire.intercept(monkeypatch, db, engine.before)
    yield engine
    engine.go_on.set()


async def ask(client: httpx.AsyncClient, query: str, **variables: Any) -> dict[str, Any]:
    body = {"query": query, "variables": variables}
    response: dict[str, Any] = (await client.post("/graphql", json=body)).json()
    return response


def attempts(*participants: str) -> list[dict[str, Any]]:
    return [{"leaderboardId": "board", "participantId": one, "score": ["7"]} for one in participants]


@pytest.mark.parametrize("many", [False, True])
def test_a_submission_that_waits_for_too_long_is_refused_and_readers_are_answered(
    db: Database, boards: Boards, api: Api, slow: Slow, *, many: bool
) -> None:
    backend = Backend(db, boards, Credentials(KEYS), submissions=SubmissionWorkers(WORKERS, wait_seconds=0.1))
    score = '{leaderboardId: "board", participantId: "WHO", score: "7"}'

    async def run() -> None:
        transport = httpx.ASGITransport(serve(backend))
        headers = {"x-api-key": "admin"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://leaderboard", headers=headers
        ) as client:

            def submit(who: str) -> Any:
                if many:
                    return ask(client, MANY, inputs=attempts(who, f"{who}2"))
                query = f"mutation {{ submitScore(input: {score.replace('WHO', who)}) {{ accepted }} }}"
                return ask(client, query)

            running = [asyncio.create_task(submit(f"p{number}")) for number in range(WORKERS)]
            for _ in range(WORKERS):
                assert await asyncio.to_thread(slow.holding.acquire, timeout=30)
            late = await asyncio.gather(*(submit(f"late{number}") for number in range(20)))
            for refused in late:
                (error,) = refused["errors"]
                assert error["errorType"] == "Throttled"
                assert "submit again later" in error["message"]
            answers = await asyncio.gather(*(ask(client, READ) for _ in range(20)))
            assert all("errors" not in answer for answer in answers)
            slow.go_on.set()
            for accepted in await asyncio.gather(*running):
                assert "errors" not in accepted

    with acting_as("http"):
        asyncio.run(asyncio.wait_for(run(), 30))
    names = [item["participant"]["S"] for item in db.client.scan(TableName=db.tables.scores)["Items"]]
    each = [f"p{number}" for number in range(WORKERS)]
    assert sorted(names) == sorted(["old", *each, *(f"{one}2" for one in each if many)])


def test_whoever_comes_to_a_free_worker_in_time_is_accepted(
    db: Database, boards: Boards, api: Api, slow: Slow
) -> None:
    workers = SubmissionWorkers(1, wait_seconds=30)

    async def run() -> list[str]:
        first = asyncio.create_task(workers.run(slow.before, "UpdateItem", None))
        assert await asyncio.to_thread(slow.holding.acquire, timeout=30)
        second = asyncio.create_task(workers.run(str, "done"))
        await asyncio.sleep(0.05)
        assert not second.done()
        slow.go_on.set()
        await first
        return [await second]

    assert asyncio.run(run()) == ["done"]


def test_a_large_batch_of_slow_writes_does_not_hold_up_reads(
    db: Database, boards: Boards, api: Api, slow: Slow
) -> None:
    """Its writes run at once, as the requests of a read do, but not in the same threads."""
    backend = Backend(db, boards, Credentials(KEYS), submissions=SubmissionWorkers(WORKERS))
    batch = attempts(*(f"p{number}" for number in range(100)))

    async def run() -> None:
        transport = httpx.ASGITransport(serve(backend))
        headers = {"x-api-key": "admin"}
        async with httpx.AsyncClient(
            transport=transport, base_url="http://leaderboard", headers=headers
        ) as client:
            running = asyncio.create_task(ask(client, MANY, inputs=batch))
            for _ in range(32):  # as many as are written at once
                assert await asyncio.to_thread(slow.holding.acquire, timeout=30)
            assert "errors" not in await asyncio.wait_for(ask(client, READ), 20)
            slow.go_on.set()
            assert "errors" not in await running

    with acting_as("http"):
        asyncio.run(asyncio.wait_for(run(), 60))
