"""Display names: a new one comes through with a refused score; the one given last is the participant's."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from core.boards import Boards
from core.domain.entry_item import PROJECTED
from core.domain.model import Board, CounterMode, Entry, PeriodKind, ScorePolicy
from core.entries.texts import update_entry
from core.moderation.moderate import hide_entry
from core.ranking.queries import entry, newest_named, size, top
from core.storage.database import Database, metered
from core.submissions.submit import Submission, submit_score, submit_scores
from core.upkeep.checks import check
from tests.support.twin import ALL_TIME, LONG_AGO, NOW, Twin
from tests.support.wire import Request, lose_answers

Drain = Callable[[], int]
LATER = NOW + timedelta(days=1)


def submit(db: Database, board: Board, score: int, name: str | None, at: int, **more: Any) -> bool:
    """Submit p's score, achieved `at` seconds after noon; return whether it was accepted."""
    moment = NOW + timedelta(seconds=at)
    submission = Submission("p", [str(score)], moment, display_name=name, **more)
    return submit_score(db, board, submission, now=LATER).accepted


def stored(db: Database, board: Board, period: str = ALL_TIME) -> Entry:
    found = entry(db, board, period, "p", lambda _: True)
    assert found is not None
    return found


@pytest.mark.parametrize("mode", CounterMode)
@pytest.mark.parametrize(
    ("policy", "refused"), [(ScorePolicy.BEST, 4), (ScorePolicy.LATEST, 5), (ScorePolicy.SUM, 0)]
)
def test_a_new_name_comes_through_with_a_refused_score(
    db: Database, boards: Boards, drain: Drain, policy: ScorePolicy, refused: int, mode: CounterMode
) -> None:
    twin = Twin.make(db, boards, policy=policy, counter_mode=mode, peak_writes_per_second=1)
    submit(db, twin.board, 5, "Ann", 1, metadata="[1]")
    before = stored(db, twin.board)
    assert not submit(db, twin.board, refused, "Anna", 2, metadata="[2]")
    after = stored(db, twin.board)
    assert after == replace(before, display_name="Anna", version=before.version + 1)
    drain()
    assert [one.display_name for one in top(db, twin.board, ALL_TIME, 1)] == ["Anna"]
    assert size(db, twin.board, ALL_TIME) == 1
    report = check(db, twin.board, twin.standings, patience=0)
    assert [drift.where for drift in report.drifts] == []


def test_only_a_new_name_costs_a_write(db: Database, boards: Boards) -> None:
    board = Twin.make(db, boards).board
    submit(db, board, 5, "Ann", 1)
    spent = []
    for name, at in ((None, 2), ("Ann", 3), ("Anna", 4), ("Anna", 5), ("Ann", 3)):
        with metered() as meter:
            submit(db, board, 4, name, at)
        spent.append((meter.requests, meter.read_units, meter.write_units))
    # The engine charges no refused write. A new name is one more, of the entry and of its copy on the index.
    assert spent == [(1, 0, 0), (1, 0, 0), (2, 0, 2), (1, 0, 0), (1, 0, 0)]
    assert "named_at" not in PROJECTED


def test_an_older_name_does_not_come_back(db: Database, boards: Boards) -> None:
    board = Twin.make(db, boards).board
    submit(db, board, 5, "Ann", 10)
    submit(db, board, 4, "Old", 3)
    assert stored(db, board).display_name == "Ann"
    update_entry(db, board, "p", now=NOW + timedelta(seconds=20), display_name=None)
    submit(db, board, 4, "Old", 15)
    assert stored(db, board).display_name is None
    submit(db, board, 4, "New", 25)
    assert stored(db, board).display_name == "New"


def test_each_period_takes_the_name(db: Database, boards: Boards) -> None:
    """The score is refused in all time, and accepted in a new day."""
    board = Twin.make(db, boards, periods=[PeriodKind.ALL_TIME, PeriodKind.DAILY]).board
    submit(db, board, 5, "Ann", 0)
    assert submit(db, board, 4, "Anna", 24 * 3600)
    names = [stored(db, board, period).display_name for period in (ALL_TIME, "daily-2026-12-01")]
    assert names == ["Anna", "Anna"]
    assert stored(db, board, "daily-2026-11-30").display_name == "Ann"


def test_a_hidden_entry_takes_the_name_and_stays_hidden(db: Database, boards: Boards) -> None:
    board = Twin.make(db, boards).board
    submit(db, board, 5, "Ann", 0)
    hide_entry(db, board, "p", LONG_AGO)
    assert not submit(db, board, 4, "Anna", 1)
    assert (stored(db, board).display_name, stored(db, board).hidden) == ("Anna", True)


def test_retries_and_second_imports_change_no_name(db: Database, boards: Boards) -> None:
    board = Twin.make(db, boards).board
    first = {"submission_id": "1"}
    submit(db, board, 5, "Ann", 0)
    assert not submit(db, board, 4, "Anna", 1, **first)
    assert stored(db, board).display_name == "Anna"
    submit(db, board, 4, "Annabel", 1)
    assert not submit(db, board, 4, "Anna", 1, **first)
    assert stored(db, board).display_name == "Annabel"
    rows = [
        Submission("p", ["6"], NOW, display_name=name, sequence=("file", number))
        for number, name in enumerate(("A", "B", "C"), start=1)
    ]
    for _ in range(2):
        submit_scores(db, board, rows, now=LATER)
        found = stored(db, board)
        assert (found.display_name, found.version) == ("C", 6)


def test_a_lost_answer_changes_nothing(db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client sends the write of the name again by itself, and finds that it was done."""
    board = Twin.make(db, boards).board
    submit(db, board, 5, "Ann", 0)
    sent = []

    def first_rename(operation: str, body: Request) -> bool:
        if operation == "UpdateItem" and "submissions" not in body["UpdateExpression"]:
            sent.append(body)
        return len(sent) == 1

    lose_answers(monkeypatch, db, first_rename)
    assert not submit(db, board, 4, "Anna", 1)
    assert len(sent) == 2
    assert (stored(db, board).display_name, stored(db, board).version) == ("Anna", 2)


def test_the_participants_name_is_the_one_given_last_on_any_board(db: Database, boards: Boards) -> None:
    first, second, third = (Twin.make(db, boards, id=name).board for name in ("a", "b", "c"))
    assert newest_named(db, boards, "p") is None
    submit(db, third, 5, None, 9)
    found = newest_named(db, boards, "p")
    assert found is not None
    assert found.display_name is None

    def name() -> str | None:
        found = newest_named(db, boards, "p")
        return found.display_name if found else None

    submit(db, first, 5, "One", 1)
    assert name() == "One"
    submit(db, second, 5, "Two", 2)
    assert name() == "Two"
    submit(db, first, 4, "Three", 3)
    assert name() == "Three"
    submit(db, third, 3, "Old", 0)  # an old result that comes late
    assert name() == "Three"
    update_entry(db, second, "p", now=LATER, display_name="Four")
    assert name() == "Four"
    boards.delete(second.id, LONG_AGO)
    assert name() == "Three"


def test_the_participants_name_costs_half_a_unit_for_sixteen_entries(db: Database, boards: Boards) -> None:
    for _ in range(13):
        submit(db, Twin.make(db, boards).board, 5, "Ann", 1)
    cached = Boards(db)
    newest_named(db, cached, "p")
    with metered() as meter:
        newest_named(db, cached, "p")
    assert (meter.requests, meter.read_units) == (1, 0.5)
