"""What one query may cost, whoever sends it, and who sees what it cost."""

import asyncio
import threading
from typing import Any

import pytest

from core.boards import Boards
from core.storage.database import Budget, Database, metered
from local.stack.roles import acting_as
from resolvers import consumption
from resolvers.appsync import answer
from resolvers.request.workers import READS_AT_ONCE, run_operation, sharing_workers
from tests.support.appsync_service import IAM
from tests.support.clients import Clients

SMALL = Budget(units=30, requests=30)
_ENTRIES = " ".join(f'a{at}: entry(participantId: "u{at}") {{ rank {{ position }} }}' for at in range(49))
MANY = f"{{ leaderboards(limit: 100) {{ items {{ {_ENTRIES} }} }} }}"
MESSAGE = "query: takes more than 30 read units or 30 requests of the database; ask for less at once"


@pytest.fixture
def clients(db: Database, boards: Boards) -> Clients:
    clients = Clients(db, boards)
    for number in range(4):
        clients.board(f"board-{number}")
    return clients


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumption, "CLIENT_BUDGET", SMALL)


@pytest.mark.usefixtures("small")
def test_a_query_ends_at_its_budget(clients: Clients) -> None:
    with metered() as meter:
        response = clients.ask(MANY, key="public")
    assert {(error["errorType"], error["message"]) for error in response["errors"]} == {
        ("InvalidInput", MESSAGE)
    }
    assert meter.requests <= SMALL.requests + READS_AT_ONCE
    assert "errors" not in clients.ask(MANY, key="admin")


@pytest.mark.usefixtures("small")
def test_a_query_ends_at_its_units(clients: Clients, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumption, "CLIENT_BUDGET", Budget(units=3, requests=1_000))
    with metered() as meter:
        response = clients.ask(MANY, key="ann")
    assert "more than 3 read units" in response["errors"][0]["message"]
    assert meter.read_units <= 3 + READS_AT_ONCE


@pytest.mark.usefixtures("small")
def test_appsyncs_calls_have_the_same_budget(clients: Clients, db: Database, boards: Boards) -> None:
    clients.submit("ann", "1", board="board-0")
    source = {"id": "board-0"}

    def call(identity: dict[str, Any] | None) -> dict[str, Any]:
        info = {"parentTypeName": "Leaderboard", "fieldName": "entry"}
        arguments = {"participantId": "ann"}
        return {"arguments": arguments, "identity": identity, "source": source, "info": info}

    def refused(identity: dict[str, Any] | None) -> int:
        with acting_as("api"):
            envelopes = asyncio.run(answer(db, boards, [call(identity)] * 60))
        return sum(envelope.get("errorMessage") == MESSAGE for envelope in envelopes)

    assert 0 < refused(None) < 60
    assert refused(IAM) == 0


@pytest.mark.usefixtures("small")
def test_a_mutation_is_never_ended_between_two_writes(clients: Clients) -> None:
    clients.board(clientAccess="SUBMIT", counterMode="INLINE", peakWritesPerSecond=1)
    query = "mutation ($inputs: [SubmitScoreInput!]!) { submitScores(inputs: $inputs) { errorType } }"
    inputs = [{"leaderboardId": "board", "participantId": "ann", "score": [str(n)]} for n in range(60)]
    with metered() as meter:
        outcomes = clients.ask(query, key="ann", inputs=inputs)["data"]["submitScores"]
    assert {outcome["errorType"] for outcome in outcomes} == {None}
    assert meter.requests > SMALL.requests


def test_operators_alone_see_what_a_query_cost(clients: Clients) -> None:
    query = '{ leaderboard(id: "board-0") { id } }'
    assert clients.ask(query)["extensions"]["consumed"]["requests"] >= 0
    for key in ("public", "ann"):
        assert "consumed" not in clients.ask(query, key=key).get("extensions", {})


@pytest.fixture
def running() -> list[int]:
    return [0, 0]  # now, and most


def test_one_request_does_not_take_all_workers(running: list[int]) -> None:
    lock = threading.Lock()
    free = threading.Event()

    def read() -> None:
        with lock:
            running[0] += 1
            running[1] = max(running)
        free.wait(10)
        with lock:
            running[0] -= 1

    async def greedy() -> None:
        with sharing_workers():
            await asyncio.gather(*(run_operation(read) for _ in range(40)))

    async def other() -> None:
        with sharing_workers():
            await asyncio.wait_for(run_operation(free.set), 5)

    async def both() -> None:
        await asyncio.gather(greedy(), other())

    asyncio.run(both())
    assert running == [0, READS_AT_ONCE]
