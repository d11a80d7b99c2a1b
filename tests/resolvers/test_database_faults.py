"""What clients are told when the database does not answer, or is busy: an error that says to try again."""

import random
import time
from typing import Any

import pytest

from core.boards import Boards
from core.storage.connections import Answer
from core.storage.database import Database, Tables, connect
from local.stack.engine import free_port
from tests.resolvers.test_errors import MUTATIONS
from tests.support.graphql_api import Api
from tests.support.wire import Request, cancelled, intercept

PASSING = ("TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded")
# What makes a mutation of `MUTATIONS` possible.
BEFORE = {
    "restoreEntry": 'hideEntry(leaderboardId: "board", participantId: "a") { period }',
    "reopenLeaderboard": 'closeLeaderboard(id: "board") { closed }',
}
NAMES = [name for name in MUTATIONS if not name.startswith("publish")]  # those write nothing


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client waited each time, without waiting."""
    seconds: list[float] = []
    monkeypatch.setattr(time, "sleep", seconds.append)
    return seconds


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    api = Api(db, boards)
    api.board()
    api.submit("a", "1")
    api.submit("p", "1")
    return api


def cancel(monkeypatch: pytest.MonkeyPatch, db: Database, times: float) -> list[int]:
    """Cancel the next transactions for reasons that pass; return a list with an item for each."""
    chance, made = random.Random(1), list[int]()

    def before(operation: str, body: Request) -> Answer | None:
        if operation != "TransactWriteItems" or len(made) >= times:
            return None
        items = len(body["TransactItems"])
        made.append(items)
        reasons = ["None"] * items
        reasons[chance.randrange(items)] = chance.choice(PASSING)
        return cancelled(*reasons)

    intercept(monkeypatch, db, before)
    return made


@pytest.mark.parametrize("name", NAMES)
def test_a_transaction_that_is_cancelled_in_passing_is_tried_again(
    api: Api, db: Database, monkeypatch: pytest.MonkeyPatch, waits: list[float], name: str
) -> None:
    if name in BEFORE:
        api.data(f"mutation {{ {BEFORE[name]} }}")
    made = cancel(monkeypatch, db, 5)
    api.data(f"mutation {{ {MUTATIONS[name]} }}")
    assert len(waits) == len(made) == (5 if made else 0)


@pytest.mark.parametrize("name", NAMES)
def test_one_that_is_cancelled_for_good_is_throttled(
    api: Api, db: Database, monkeypatch: pytest.MonkeyPatch, waits: list[float], name: str
) -> None:
    if name in BEFORE:
        api.data(f"mutation {{ {BEFORE[name]} }}")
    made = cancel(monkeypatch, db, float("inf"))
    response = api.ask(f"mutation {{ {MUTATIONS[name]} }}")
    if not made:
        assert "errors" not in response
        return
    (error,) = response["errors"]
    assert (error["errorType"], error["message"]) == (
        "Throttled",
        "the database is busy; try again in a moment",
    )
    assert sum(waits) < 6  # at most: far below the 30 s of a request


def test_most_mutations_have_a_transaction(api: Api, db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """So the two tests above do not pass for want of one."""
    made = cancel(monkeypatch, db, float("inf"))
    for name in [name for name in NAMES if name not in BEFORE]:
        api.ask(f"mutation {{ {MUTATIONS[name]} }}")
    assert len(made) > 5 * 20


QUERIES = [
    '{ leaderboard(id: "board") { id } }',
    "{ leaderboards { nextToken } }",
    '{ participant(id: "a") { entries { items { period } } } }',
]


@pytest.mark.parametrize("document", [*QUERIES, *(f"mutation {{ {MUTATIONS[m]} }}" for m in NAMES)])
def test_a_database_that_does_not_answer_is_unavailable(
    caplog: pytest.LogCaptureFixture, waits: list[float], document: str
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    db = connect(
        Tables.with_prefix("t"), region="local", endpoint_url=url, access_key="local", secret_key="local"
    )
    response: dict[str, Any] = Api(db, Boards(db)).ask(document)
    errors = response.get("errors") or response["data"]["submitScores"]
    assert errors
    for error in errors:
        assert error["errorType"] == "Unavailable"
        assert "127.0.0.1" not in str(error)
    assert "did not answer" in caplog.text
    assert "Traceback" not in caplog.text
    assert waits
