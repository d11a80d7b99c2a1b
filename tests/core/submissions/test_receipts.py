"""A submission with an id counts once, in every period or in none, however often and whenever it comes."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.boards import Boards
from core.domain.board import ComponentInput, define_board
from core.domain.errors import InvalidInput, InvalidScore, LeaderboardClosed, SubmissionConflict
from core.domain.model import Board, CounterMode, PeriodKind, ScorePolicy, SubmitResult
from core.moderation.moderate import remove_entry
from core.ranking.queries import entry, participant_entries
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score, submit_scores
from tests.support.season import KEPT, Season
from tests.support.twin import LONG_AGO
from tests.support.wire import Request, lose_answers

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PERIODS = ["all-time", "daily-2026-11-30", "weekly-2026-W49", "monthly-2026-11"]
ANN = Submission("ann", ["10"], submission_id="1")
Drain = Callable[[], int]


@pytest.fixture
def board(boards: Boards) -> Board:
    return make(boards)


def make(boards: Boards, policy: ScorePolicy = ScorePolicy.SUM, **more: Any) -> Board:
    more.setdefault("periods", list(PeriodKind))
    more.setdefault("id", "board")
    return boards.create(replace(define_board(now=NOW, policy=policy, **more), retention=KEPT))


def scores(db: Database, board: Board, participant: str = "ann") -> list[int | None]:
    found = [entry(db, board, period, participant) for period in PERIODS]
    return [stored.score[0] if stored else None for stored in found]


# Retries


@pytest.mark.parametrize("mode", CounterMode)
@pytest.mark.parametrize("policy", ScorePolicy)
def test_reports_17_a_retry_changes_nothing_and_is_answered_alike_in_any_policy_and_period(
    lean: Database, boards: Boards, drain: Drain, policy: ScorePolicy, mode: CounterMode
) -> None:
    """Right after, after others' submissions, days later; one at a time and in bulk; after a refusal too."""
    season = Season.make(lean, Boards(lean, 0), NOW, id="board", policy=policy, counter_mode=mode)
    for number, score in enumerate((5, 7, 3)):
        now = NOW + timedelta(hours=20 * number)
        for again in (score, score, score - 1, score - 1):  # of these BEST refuses the lower
            season.submit("ann", again, now=now, submission_id=f"{again}")
        season.submit("bob", 6, now=now, submission_id=f"bob {score}")
        season.submit("ann", 4, now=now)
        for again in (5, 7, 3)[: number + 1]:
            later = now + timedelta(hours=1)
            season.submit("ann", again, now=later, submission_id=f"{again}", bulk=number % 2 == 0)
    drain()
    season.check(page_sizes=[2], participants=["ann"])


def test_a_retry_is_answered_when_it_would_be_too_late_as_a_first_submission(
    db: Database, board: Board
) -> None:
    given = replace(ANN, achieved_at=NOW)
    first = submit_score(db, board, given, now=NOW)
    later = NOW + timedelta(days=5)
    with pytest.raises(InvalidInput, match="achievedAt"):
        submit_score(db, board, replace(given, submission_id="2"), now=later)
    again = submit_score(db, board, given, now=later)
    assert (again.accepted, again.previous_score, again.duplicate) == (True, None, True)
    assert again.entries == first.entries
    with pytest.raises(InvalidInput, match="achievedAt"):  # what was refused is not remembered
        submit_score(db, board, replace(given, submission_id="2"), now=later)


def test_a_retry_is_answered_after_the_board_was_closed(db: Database, board: Board) -> None:
    submit_score(db, board, ANN, now=NOW)
    closed = replace(board, closed=True)
    assert submit_score(db, closed, ANN, now=NOW).duplicate
    with pytest.raises(LeaderboardClosed):
        submit_score(db, closed, replace(ANN, submission_id="2"), now=NOW)


def test_a_retry_of_a_sum_at_its_bound_is_not_refused(db: Database, boards: Boards) -> None:
    board = make(boards, components=[ComponentInput(min="0", max="15")])
    submit_score(db, board, ANN, now=NOW)
    assert submit_score(db, board, ANN, now=NOW).duplicate
    with pytest.raises(InvalidScore):
        submit_score(db, board, replace(ANN, submission_id="2"), now=NOW)
    assert scores(db, board) == [10] * 4


@pytest.mark.parametrize(
    "other",
    [
        replace(ANN, participant_id="bob"),
        replace(ANN, score=["11"]),
        replace(ANN, achieved_at=NOW),
        replace(ANN, display_name="Ann"),
        replace(ANN, metadata="{}"),
    ],
)
def test_the_same_id_with_another_body_is_a_conflict_and_changes_nothing(
    db: Database, board: Board, other: Submission
) -> None:
    submit_score(db, board, ANN, now=NOW)
    with pytest.raises(SubmissionConflict, match="submissionId: '1' came with another submission before"):
        submit_score(db, board, other, now=NOW)
    assert scores(db, board) == [10] * 4
    assert scores(db, board, "bob") == [None] * 4
    assert submit_score(db, board, ANN, now=NOW).duplicate


def test_the_same_score_in_another_notation_is_the_same_body(db: Database, boards: Boards) -> None:
    board = make(boards, components=[ComponentInput(decimals=None)])
    submit_score(db, board, ANN, now=NOW)
    assert submit_score(db, board, replace(ANN, score=["+010"]), now=NOW).duplicate


def test_an_id_belongs_to_one_board(db: Database, boards: Boards) -> None:
    for name in ("one", "two"):
        board = make(boards, id=name)
        assert not submit_score(db, board, ANN, now=NOW).duplicate
        assert scores(db, board) == [10] * 4


@pytest.mark.parametrize("wrong", ["", "x" * 257, "\n", "\ud800"])
def test_an_id_that_breaks_a_rule_is_refused(db: Database, board: Board, wrong: str) -> None:
    with pytest.raises(InvalidInput, match="submissionId: must"):
        submit_score(db, board, replace(ANN, submission_id=wrong), now=NOW)


def test_reports_18_a_late_retry_does_not_bring_back_a_removed_participant(
    db: Database, board: Board
) -> None:
    submit_score(db, board, ANN, now=NOW)
    remove_entry(db, board, "ann", LONG_AGO)
    again = submit_score(db, board, ANN, now=NOW + timedelta(hours=1))
    assert (again.accepted, again.duplicate) == (True, True)
    assert again.entries == ()
    assert scores(db, board) == [None] * 4


def test_receipts_are_not_entries(db: Database, boards: Boards, board: Board) -> None:
    for number in range(3):
        submit_score(db, board, replace(ANN, submission_id=str(number)), now=NOW)
    assert len(participant_entries(db, boards, "ann", 100).items) == 4


def test_a_receipt_is_kept_for_as_long_as_the_board_says(db: Database, board: Board) -> None:
    submit_score(db, board, ANN, now=NOW)
    (receipt,) = db.client.scan(TableName=db.tables.receipts)["Items"]
    expires = datetime.fromtimestamp(int(receipt["expires_at"]["N"]), UTC)
    assert expires - NOW == timedelta(days=board.retention.submission_id_days)
    assert b"ann" not in str(receipt).encode()
    db.client.delete_item(TableName=db.tables.receipts, Key={"receipt": receipt["receipt"]})  # as TTL does
    assert not submit_score(db, board, ANN, now=NOW).duplicate


# Many at once


@pytest.mark.parametrize(
    ("policy", "mode"),
    [*zip(ScorePolicy, CounterMode, strict=True), (ScorePolicy.SUM, CounterMode.STREAM)],
)
def test_sixteen_at_once_with_one_id_count_once(
    lean: Database, boards: Boards, policy: ScorePolicy, mode: CounterMode
) -> None:
    board = make(boards, policy, counter_mode=mode)
    with ThreadPoolExecutor(16) as threads:
        results = list(threads.map(lambda _: submit_score(lean, board, ANN, now=NOW), range(16)))
    assert [result.duplicate for result in results].count(False) == 1
    assert all(result.accepted and result.previous_score is None for result in results)
    assert scores(lean, board) == [10] * 4
    found = participant_entries(lean, boards, "ann", 9).items
    assert [stored.submissions for stored in found] == [1] * 4


def test_one_id_with_sixteen_bodies_counts_once(lean: Database, board: Board) -> None:
    def submit(number: int) -> SubmitResult | None:
        try:
            return submit_score(lean, board, replace(ANN, participant_id=f"p{number}"), now=NOW)
        except SubmissionConflict:
            return None

    with ThreadPoolExecutor(16) as threads:
        taken = [result for result in threads.map(submit, range(16)) if result]
    assert len(taken) == 1
    found = [scores(lean, board, f"p{number}") for number in range(16)]
    assert sorted(found, key=str) == sorted([[10] * 4] + [[None] * 4] * 15, key=str)


def test_an_id_that_comes_twice_in_one_call_counts_once(db: Database, board: Board) -> None:
    inputs = [ANN, Submission("ann", ["1"]), ANN, replace(ANN, score=["9"]), replace(ANN, submission_id="2")]
    outcomes = submit_scores(db, board, inputs, now=NOW)
    assert isinstance(outcomes[3], SubmissionConflict)
    results = [outcome for outcome in outcomes if isinstance(outcome, SubmitResult)]
    assert [(result.duplicate, result.entries[0].score[0]) for result in results] == [
        (False, 10),
        (False, 11),
        (True, 11),
        (False, 21),
    ]
    assert scores(db, board) == [21] * 4


# Deaths


class Died(Exception):
    """The process has died."""


class Mortal:
    """A client whose process dies at one of its requests, before or after that takes effect."""

    def __init__(self, client: Any, at: int, *, after: bool) -> None:
        self._client, self._left, self._after = client, at, after
        self.exceptions = client.exceptions
        self.died = False

    def __getattr__(self, name: str) -> Any:
        def request(**arguments: Any) -> Any:
            self._left -= 1
            if self._left > 0:
                return getattr(self._client, name)(**arguments)
            self.died = True
            if self._left == 0 and self._after:
                getattr(self._client, name)(**arguments)
            raise Died

        return request


@pytest.mark.parametrize("mode", [CounterMode.STREAM, CounterMode.TRANSACTIONAL])
@pytest.mark.parametrize(
    ("policy", "submission_id"),
    [(policy, "1") for policy in ScorePolicy] + [(ScorePolicy.BEST, None), (ScorePolicy.LATEST, None)],
)
def test_a_death_anywhere_and_a_retry_leave_it_counted_once_in_every_period(
    lean: Database, boards: Boards, policy: ScorePolicy, submission_id: str | None, mode: CounterMode
) -> None:
    """With an id it is in all periods or none at any moment; without one, in all after the retry."""
    attempt = replace(ANN, submission_id=submission_id, achieved_at=NOW)
    died = 0
    for at, after in ((at, after) for at in range(1, 50) for after in (False, True)):
        board = make(boards, policy, id=f"board {at} {after}", counter_mode=mode)
        submit_score(lean, board, Submission("ann", ["5"], achieved_at=NOW - timedelta(seconds=1)), now=NOW)
        mortal = Mortal(lean.client, at, after=after)
        try:
            submit_score(Database(mortal, lean.tables), board, attempt, now=NOW)  # type: ignore[arg-type]
        except Died:
            assert submission_id is None or len(set(scores(lean, board))) == 1
        submit_score(lean, board, attempt, now=NOW)
        total = 15 if policy is ScorePolicy.SUM else 10
        assert scores(lean, board) == [total] * 4
        found = [entry(lean, board, period, "ann") for period in PERIODS]
        assert [stored and stored.submissions for stored in found] == [2] * 4
        if not mortal.died:
            break
        died += 1
    assert died > 1


@pytest.mark.parametrize("policy", ScorePolicy)
@pytest.mark.parametrize("submission_id", ["1", None])
def test_a_submission_whose_answer_is_lost_counts_once_and_is_answered_as_usual(
    db: Database,
    boards: Boards,
    monkeypatch: pytest.MonkeyPatch,
    policy: ScorePolicy,
    submission_id: str | None,
) -> None:
    """The AWS client itself sends it again."""
    board = make(boards, policy)
    to_lose = ["UpdateItem"] * 4 + ["TransactWriteItems"]

    def is_lost(operation: str, _: Request) -> bool:
        if operation not in to_lose:
            return False
        to_lose.remove(operation)
        return True

    lose_answers(monkeypatch, db, is_lost)
    result = submit_score(db, board, replace(ANN, submission_id=submission_id), now=NOW)
    assert len(to_lose) < 5
    assert (result.accepted, result.duplicate) == (True, False)
    assert [stored.score for stored in result.entries] == [(10,)] * 4
    assert scores(db, board) == [10] * 4


# Periods in bulk


def test_a_bulk_of_many_periods_and_ids_has_each_outcome_in_its_place(lean: Database, board: Board) -> None:
    """Late, too late, refused and repeated ones."""
    yesterday, long_ago = NOW - timedelta(hours=20), NOW - timedelta(days=9)
    inputs: Sequence[Submission] = [
        ANN,
        replace(ANN, submission_id="2", achieved_at=yesterday),
        replace(ANN, submission_id="3", achieved_at=long_ago),
        replace(ANN, submission_id="4", score=["x"]),
        ANN,
        *(Submission(f"p{number}", ["1"], submission_id=f"p{number}") for number in range(95)),
    ]
    outcomes = submit_scores(lean, board, inputs, now=NOW)
    assert isinstance(outcomes[2], InvalidInput)
    assert isinstance(outcomes[3], InvalidScore)
    results = [outcome for outcome in outcomes if isinstance(outcome, SubmitResult)]
    assert [stored.period for stored in results[1].entries] == [
        "all-time",
        "daily-2026-11-29",
        "weekly-2026-W48",
        "monthly-2026-11",
    ]
    assert results[2].duplicate
    assert scores(lean, board) == [20, 10, 10, 20]
    assert all(len(result.entries) == 4 and not result.duplicate for result in results[3:])
    assert len(results) == 98
