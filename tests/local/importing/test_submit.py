"""Submitting many rows: throttled, interrupted, and twice at the same time."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from core.boards import Boards
from core.domain.board import define_board
from core.domain.errors import LeaderboardError, Throttled
from core.domain.model import ScorePolicy, SubmitResult
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from local.importing.rows import Row
from local.importing.submit import ImportStoppedError, submit_rows
from tests.support.importing import THEN, scores_of


def fail_updates(db: Database, participant: str, *, after: int, times: int, error: Exception) -> None:
    """Let `after` updates of one participant succeed, then let the next `times` fail."""
    turns = iter([None] * after + [error] * times)

    def on_update(params: dict[str, Any], **_: object) -> None:
        if json.loads(params["body"])["Key"]["participant"]["S"] == participant:
            failure = next(turns, None)
            if failure is not None:
                raise failure

    db.client.meta.events.register("before-call.dynamodb.UpdateItem", on_update)


def settled(outcomes: Counter[str]) -> Callable[[Row, SubmitResult | LeaderboardError], None]:
    def settle(_: Row, outcome: SubmitResult | LeaderboardError) -> None:
        assert isinstance(outcome, SubmitResult)
        outcomes["accepted" if outcome.accepted else "duplicate" if outcome.duplicate else "kept"] += 1

    return settle


ROWS = [Row(number, f"p{number % 5}", (str(number),), THEN) for number in range(1, 101)]
TOTALS = {f"p{rest}": (sum(number for number in range(1, 101) if number % 5 == rest),) for rest in range(5)}


def test_a_throttled_row_is_retried_before_the_rows_after_it(db: Database, boards: Boards) -> None:
    board = boards.create(define_board(id="sums", policy=ScorePolicy.SUM, now=THEN))
    fail_updates(db, "p3", after=4, times=3, error=Throttled("busy"))
    outcomes = Counter[str]()
    submit_rows(db, board, ROWS, source="a", workers=4, settle=settled(outcomes))
    assert outcomes == {"accepted": 100}
    assert scores_of(db, board) == TOTALS


def test_it_stops_at_a_lost_connection_and_resumes_there(db: Database, boards: Boards) -> None:
    board = boards.create(define_board(id="sums", policy=ScorePolicy.SUM, now=THEN))
    fail_updates(db, "p3", after=4, times=1, error=ConnectionError("gone"))
    outcomes = Counter[str]()
    with pytest.raises(ImportStoppedError, match="row 23: gone") as stop:
        submit_rows(db, board, ROWS, source="a", workers=4, settle=settled(outcomes))
    assert stop.value.number == 23
    assert scores_of(db, board)["p3"] == (3 + 8 + 13 + 18,), "no later row of the participant was applied"
    applied = outcomes["accepted"]
    submit_rows(db, board, ROWS, source="a", workers=4, settle=settled(outcomes))
    assert outcomes == {"accepted": 100, "duplicate": applied}
    assert scores_of(db, board) == TOTALS


def test_the_same_import_twice_at_the_same_time_counts_once(db: Database, boards: Boards) -> None:
    board = boards.create(define_board(id="sums", policy=ScorePolicy.SUM, now=THEN))
    outcomes = Counter[str]()
    both = [
        threading.Thread(
            target=submit_rows,
            args=(db, board, ROWS),
            kwargs={"source": "a", "workers": 3, "settle": settled(outcomes)},
        )
        for _ in range(2)
    ]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert outcomes == {"accepted": 100, "duplicate": 100}
    assert scores_of(db, board) == TOTALS


def test_each_of_forty_sources_counts_once(db: Database, boards: Boards) -> None:
    board = boards.create(define_board(id="sums", policy=ScorePolicy.SUM, now=THEN))
    for source in (*range(40), 0, 20, 39):
        submit_score(
            db, board, Submission("ann", ["1"], sequence=(f"race {source}", 1)), now=datetime.now(UTC)
        )
    assert scores_of(db, board) == {"ann": (40,)}
