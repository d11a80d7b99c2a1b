"""Batches that DynamoDB answers in part: a throttled table leaves keys and items unprocessed."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from core.domain.errors import Throttled
from core.storage import database
from core.storage.database import Database, Meter, batch_get, batch_write, metered

KEYS: list[Any] = [{"board": {"S": f"b{number}"}} for number in range(3)]


@pytest.fixture(autouse=True)
def waits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The attempts after which a batch waited, half a second each on a clock that stands still otherwise."""
    attempts: list[int] = []
    monkeypatch.setattr(database, "back_off", lambda attempt, **_: attempts.append(attempt))
    monkeypatch.setattr(time, "monotonic", lambda: len(attempts) / 2)
    return attempts


def leave(monkeypatch: pytest.MonkeyPatch, db: Database, operation: str, times: float) -> Callable[[], int]:
    """Leave all but the first part of a batch unprocessed so many times; return a count of requests."""
    send = getattr(db.client, operation)
    name = "UnprocessedKeys" if operation == "batch_get_item" else "UnprocessedItems"
    asked = [0]

    def some(*, RequestItems: dict[str, Any]) -> Any:  # noqa: N803 - AWS's name
        asked[0] += 1
        if asked[0] > times:
            return send(RequestItems=RequestItems)
        return {"Responses": {}, name: RequestItems}

    monkeypatch.setattr(db.client, operation, some)
    return lambda: asked[0]


@pytest.mark.parametrize("operation", ["batch_get_item", "batch_write_item"])
def test_what_is_left_is_tried_again_after_a_pause(
    db: Database, monkeypatch: pytest.MonkeyPatch, waits: list[int], operation: str
) -> None:
    requests = leave(monkeypatch, db, operation, 3)
    run(db, operation)
    assert requests() == 4
    assert waits == [1, 2, 3]


@pytest.mark.parametrize("operation", ["batch_get_item", "batch_write_item"])
def test_a_table_that_stays_throttled_is_given_up(
    db: Database, monkeypatch: pytest.MonkeyPatch, waits: list[int], operation: str
) -> None:
    requests = leave(monkeypatch, db, operation, float("inf"))
    with pytest.raises(Throttled):
        run(db, operation)
    assert requests() == 22
    assert waits == list(range(1, 22))


def run(db: Database, operation: str) -> Meter:
    with metered() as meter:
        if operation == "batch_get_item":
            batch_get(db, db.tables.boards, KEYS)
        else:
            batch_write(db, db.tables.boards, [{"DeleteRequest": {"Key": key}} for key in KEYS])
    return meter
