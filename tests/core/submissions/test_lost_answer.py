"""A write whose answer is lost on the way is made once, and known to be made.

The AWS client then sends the update again, and its condition fails on our own write, which must not be taken
for another writer's.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.boards import Boards
from core.domain.board import define_board
from core.domain.model import Board, CounterMode, PeriodKind, ScorePolicy
from core.domain.periods import ALL_TIME
from core.moderation.correct import correct_entry
from core.moderation.moderate import hide_entry, remove_entry, restore_entry
from core.ranking.queries import entry, size
from core.records.audit import AuditContext
from core.storage.connections import Answer
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score, submit_scores
from core.upkeep.checks import check
from tests.support.twin import Twin
from tests.support.wire import Request, lose_answers, wrap

Drain = Callable[[], int]
START = datetime.now(UTC) - timedelta(minutes=4)


def make(boards: Boards, policy: ScorePolicy, mode: CounterMode = CounterMode.STREAM, **more: Any) -> Board:
    return boards.create(
        define_board(id="board", policy=policy, counter_mode=mode, now=datetime.now(UTC), **more)
    )


def submit(db: Database, board: Board, score: str, second: int) -> Any:
    submission = Submission("ann", [score], START + timedelta(seconds=second))
    return submit_score(db, board, submission, now=datetime.now(UTC))


def score_of(db: Database, board: Board) -> int:
    found = entry(db, board, ALL_TIME, "ann")
    assert found is not None
    return found.score[0]


def lose_each_first(monkeypatch: pytest.MonkeyPatch, db: Database) -> list[str]:
    """Lose the answer to the first try of each update of an entry; return the operations lost."""
    lost: list[str] = []
    seen: set[str] = set()

    def is_first(operation: str, body: Request) -> bool:
        if operation != "UpdateItem" or not body["TableName"].endswith("-scores") or str(body) in seen:
            return False
        seen.add(str(body))
        lost.append(operation)
        return True

    lose_answers(monkeypatch, db, is_first)
    return lost


@pytest.mark.parametrize("mode", [CounterMode.STREAM, CounterMode.INLINE])
@pytest.mark.parametrize("policy", ScorePolicy)
@pytest.mark.parametrize("periods", [[PeriodKind.ALL_TIME], [PeriodKind.ALL_TIME, PeriodKind.DAILY]])
def test_a_submission_counts_once(
    db: Database,
    boards: Boards,
    drain: Drain,
    monkeypatch: pytest.MonkeyPatch,
    mode: CounterMode,
    policy: ScorePolicy,
    periods: list[PeriodKind],
) -> None:
    board = make(boards, policy, mode, periods=periods)
    lost = lose_each_first(monkeypatch, db)
    for second, score in enumerate(("1", "10", "100")):
        result = submit(db, board, score, second)
        assert result.accepted
        expected = [1, 11, 111] if policy is ScorePolicy.SUM else [1, 10, 100]
        assert result.entries[0].score == (expected[second],)
        assert result.entries[0].submissions == second + 1
    transactional = policy is ScorePolicy.SUM and len(periods) > 1  # these bear the SDK's own token
    assert len(lost) == (0 if transactional else 3 * len(periods))
    assert score_of(db, board) == (111 if policy is ScorePolicy.SUM else 100)
    drain()
    assert size(db, board, ALL_TIME) == 1
    assert not check(db, board, Twin(db, boards, board).standings, patience=0).drifts


@pytest.mark.parametrize("mode", [CounterMode.STREAM, CounterMode.INLINE])
@pytest.mark.parametrize("others", [1, 2, 3])
def test_a_sum_is_added_once_though_others_add_in_between(
    db: Database,
    boards: Boards,
    drain: Drain,
    monkeypatch: pytest.MonkeyPatch,
    mode: CounterMode,
    others: int,
) -> None:
    """After the first try was applied, and before the AWS client sends it again."""
    board = make(boards, ScorePolicy.SUM, mode)
    submit(db, board, "1", 0)
    monkeypatch.setattr("core.submissions.per_period.back_off", lambda _: None)
    lost: list[str] = []

    def chosen(operation: str, body: Request) -> bool:
        if operation != "UpdateItem" or lost or not body["TableName"].endswith("-scores"):
            return False
        lost.append(operation)
        for other in range(others):
            submit(db, board, "100", 10 + other)
        return True

    lose_answers(monkeypatch, db, chosen)
    submit(db, board, "10", 5)
    assert lost
    assert score_of(db, board) == 11 + 100 * others
    drain()
    assert not check(db, board, Twin(db, boards, board).standings, patience=0).drifts


def test_what_stood_before_is_returned(db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the entry was read first. Under BEST nothing is read, so that goes with the answer."""
    board = make(boards, ScorePolicy.LATEST)
    submit(db, board, "7", 0)
    lose_each_first(monkeypatch, db)
    assert submit(db, board, "8", 1).previous_score == (7,)


def test_a_batch_counts_each_once(db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    board = make(boards, ScorePolicy.SUM)
    lose_each_first(monkeypatch, db)
    inputs = [Submission("ann", [score]) for score in ("1", "10", "100")]
    outcomes = submit_scores(db, board, inputs, now=datetime.now(UTC))
    assert [outcome.entries[0].score for outcome in outcomes] == [(1,), (11,), (111,)]  # type: ignore[union-attr]


@pytest.mark.parametrize("mode", [CounterMode.STREAM, CounterMode.INLINE])
def test_moderation(
    db: Database, boards: Boards, drain: Drain, monkeypatch: pytest.MonkeyPatch, mode: CounterMode
) -> None:
    board = make(boards, ScorePolicy.BEST, mode)
    standings = Twin(db, boards, board).standings
    submit(db, board, "7", 0)
    by_ops = AuditContext("ops", START + timedelta(seconds=30), "R")
    lost = lose_each_first(monkeypatch, db)

    def is_counted(entries: int) -> bool:
        drain()
        return size(db, board, ALL_TIME) == entries and not check(db, board, standings, patience=0).drifts

    assert hide_entry(db, board, "ann", by_ops).hidden
    assert is_counted(0)
    assert not restore_entry(db, board, "ann", by_ops).hidden
    assert is_counted(1)
    [corrected] = correct_entry(db, board, "ann", ["5"], by_ops)
    assert corrected.score == (5,)
    assert is_counted(1)
    removed = remove_entry(db, board, "ann", by_ops)
    assert removed is not None
    assert removed.score == (5,)
    assert is_counted(0)
    assert len(lost) == 4


def test_a_refused_write_is_not_taken_for_an_own_one(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others get in between before the first try, so that it is never applied."""
    board = make(boards, ScorePolicy.SUM)
    submit(db, board, "1", 0)
    monkeypatch.setattr("core.submissions.per_period.back_off", lambda _: None)
    came: list[int] = []

    def before(operation: str, body: Request, send: Callable[[], Answer]) -> Answer:
        if operation == "UpdateItem" and not came and body["TableName"].endswith("-scores"):
            came.append(1)
            submit(db, board, "100", 10)
        return send()

    wrap(monkeypatch, db, before)
    submit(db, board, "10", 5)
    assert came
    assert score_of(db, board) == 111
