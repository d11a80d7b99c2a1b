"""At the end of each period its standings are archived: once, exactly, and when its grace is over."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.archives import period_hook
from core.archives.period_hook import archive_ended_period
from core.archives.read import archive_entries, archives_page
from core.archives.write import begin_archive, write_archive
from core.boards import Boards
from core.domain.model import Archive, Board, PeriodKind
from core.maintenance import Maintenance
from core.records.jobs import pending_jobs
from core.storage.database import Database, Meter, metered
from core.submissions.submit import Submission, submit_score
from core.upkeep.period_ends import call_period_end_hooks
from tests.support.dying import dying_at_each_request
from tests.support.twin import NOW, Twin

DAY = timedelta(days=1)


def timed(db: Database, boards: Boards, *kinds: PeriodKind, **rules: Any) -> Board:
    return Twin.make(db, boards, periods=list(kinds), peak_writes_per_second=1, **rules).board


def submit(db: Database, board: Board, participant: str, score: int, when: datetime) -> None:
    submit_score(db, board, Submission(participant, [str(score)], when), now=when)


def archive_ended(db: Database, now: datetime) -> int:
    """Call the hooks of ended periods. Return how many archives they have asked for."""
    before = len(pending_jobs(db))
    call_period_end_hooks(db, now, 60, [archive_ended_period])
    return len(pending_jobs(db)) - before


def write_all(db: Database) -> None:
    for _, name, _ in pending_jobs(db):
        assert write_archive(db, name, 1e9)


def archived(db: Database, board: Board) -> list[Archive]:
    return list(archives_page(db, board, 100).items)


def test_a_period_is_archived_once_its_grace_is_over(db: Database, boards: Boards) -> None:
    board = timed(db, boards, PeriodKind.DAILY, PeriodKind.ALL_TIME, time_zone="Asia/Tokyo")
    submit(db, board, "p", 1, NOW)  # in Tokyo the day ends three hours later
    over = NOW + timedelta(hours=3) + timedelta(hours=board.retention.grace_hours)
    for when, asked in [(over, 0), (over + timedelta(minutes=6), 1), (over + timedelta(minutes=6), 0)]:
        assert archive_ended(db, when) == asked
    submit(db, board, "q", 2, over + timedelta(hours=1))
    write_all(db)
    [archive] = archived(db, board)
    assert (archive.period, archive.size) == ("daily-2026-11-30", 1)
    assert [one.participant_id for one, _ in archive_entries(db, archive.id, 10).items] == ["p"]


def test_a_board_whose_archive_fails_stops_no_other(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [timed(db, boards, PeriodKind.DAILY, id=name) for name in ("a", "b")]
    for board in made:
        submit(db, board, "p", 1, NOW)

    def begin(db: Database, board: Board, *args: Any, **options: Any) -> str:
        if board.id == "a":
            raise RuntimeError("throttled")
        return begin_archive(db, board, *args, **options)

    monkeypatch.setattr(period_hook, "begin_archive", begin)
    assert archive_ended(db, NOW + 3 * DAY) == 1
    monkeypatch.undo()
    assert archive_ended(db, NOW + 3 * DAY) == 1
    write_all(db)
    assert [len(archived(db, board)) for board in made] == [1, 1]


def test_each_kind_of_period_is_archived_unless_empty(db: Database, boards: Boards) -> None:
    board = timed(db, boards, *PeriodKind)
    for days in (0, 2, 9):
        submit(db, board, "p", days, NOW + days * DAY)
    for days in range(45):
        archive_ended(db, NOW + days * DAY)
    write_all(db)
    assert sorted(one.period for one in archived(db, board)) == [
        "daily-2026-11-30",
        "daily-2026-12-02",
        "daily-2026-12-09",
        "monthly-2026-11",
        "monthly-2026-12",
        "weekly-2026-W49",
        "weekly-2026-W50",
    ]


def test_periods_that_ended_while_maintenance_was_down_are_archived(db: Database, boards: Boards) -> None:
    board = timed(db, boards, PeriodKind.DAILY)
    for days in range(5):
        submit(db, board, "p", days, NOW + days * DAY)
    assert archive_ended(db, NOW + 8 * DAY) == 5
    write_all(db)
    assert {one.period for one in archived(db, board)} == {
        "daily-2026-11-30",
        *(f"daily-2026-12-0{day}" for day in range(1, 5)),
    }


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.thorough)])
def test_failed_and_repeated_runs_leave_exactly_one_archive(db: Database, boards: Boards, step: int) -> None:
    def begin() -> Board:
        board = timed(db, boards, PeriodKind.DAILY)
        for number in range(3):
            submit(db, board, f"p{number}", number, NOW)
        return board

    def do(_: Board, dying: Database) -> None:
        archive_ended(dying, NOW + 3 * DAY)
        write_all(dying)

    def compare(board: Board) -> None:
        [archive] = archived(db, board)
        assert (archive.size, archive.period) == (3, "daily-2026-11-30")
        assert pending_jobs(db) == []
        db.client.delete_item(TableName=db.tables.boards, Key={"board": {"S": board.id}})

    assert dying_at_each_request(db, begin, do, compare, step) > 3


def test_maintenance_calls_the_hooks_of_what_has_ended(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = timed(db, boards, PeriodKind.DAILY)
    submit(db, board, "p", 1, NOW)
    maintenance = Maintenance(db, boards)
    monkeypatch.setattr("core.maintenance.datetime", Frozen)
    assert maintenance.run(60) == (0, 0)
    assert [archive.period for archive in archived(db, board)] == ["daily-2026-11-30"]


def test_jobs_run_though_boards_cannot_be_read(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    board = timed(db, boards, PeriodKind.ALL_TIME)
    submit(db, board, "p", 1, NOW)
    begin_archive(db, board, "all-time", NOW)

    def fail(*_: object) -> None:
        raise OSError("no index")

    monkeypatch.setattr("core.maintenance.call_period_end_hooks", fail)
    assert Maintenance(db, boards).run(60) == (0, 0)
    assert len(archived(db, board)) == 1
    assert "could not be read, trying again" in caplog.text


class Frozen(datetime):
    """A clock that is three days ahead."""

    @classmethod
    def now(cls, _tz: object = None) -> "Frozen":
        later = NOW + 3 * DAY
        return cls.fromtimestamp(later.timestamp(), UTC)


def test_boards_without_anything_due_are_not_read(db: Database, boards: Boards) -> None:
    """A thousand boards would cost as little as these five."""
    for number in range(3):
        timed(db, boards, PeriodKind.ALL_TIME, id=f"all{number}")
    for number, kind in enumerate((PeriodKind.DAILY, PeriodKind.MONTHLY)):
        timed(db, boards, kind, id=f"timed{number}")
    called: list[tuple[str, str]] = []

    def note(_db: Database, board: Board, period: str, _now: datetime) -> None:
        called.append((board.id, period))

    def poll(when: datetime) -> Meter:
        with metered() as meter:
            call_period_end_hooks(db, when, 60, [note])
        return meter

    poll(NOW)  # the boards are new
    called.clear()
    assert (poll(NOW).requests, poll(NOW).read_units, poll(NOW).write_units) == (1, 0.5, 0)
    midnight = NOW + DAY / 2
    assert poll(midnight).requests == 1
    over = midnight + timedelta(minutes=6)
    assert poll(over).requests == 4  # query, which period was called last, the next one, put off
    assert called == [("timed0", "daily-2026-11-29")]  # the one whose grace has ended
    assert poll(over).requests == 1


def test_a_period_that_a_board_adds_ends_too(db: Database, boards: Boards) -> None:
    board = timed(db, boards, PeriodKind.ALL_TIME)
    assert archive_ended(db, NOW) == 0
    board = boards.update(board.id, board.version, periods=[PeriodKind.ALL_TIME, PeriodKind.DAILY])
    submit(db, board, "p", 1, NOW)
    assert archive_ended(db, NOW + 3 * DAY) == 1


def test_a_board_that_changes_while_it_is_looked_at_stays_due(db: Database, boards: Boards) -> None:
    board = timed(db, boards, PeriodKind.WEEKLY)

    def add_days(*_: object) -> None:
        if boards.get(board.id).version == board.version:
            boards.update(board.id, board.version, periods=[PeriodKind.WEEKLY, PeriodKind.DAILY])

    submit(db, board, "p", 1, NOW)
    call_period_end_hooks(db, NOW + 10 * DAY, 60, [add_days])
    submit(db, boards.get(board.id), "p", 1, NOW + 10 * DAY)
    assert archive_ended(db, NOW + 13 * DAY) == 1  # the day; the next week ends later


def test_hooks_take_no_longer_than_they_may(db: Database, boards: Boards) -> None:
    for number in range(3):
        timed(db, boards, PeriodKind.DAILY, id=f"b{number}")
    called: list[str] = []
    for count in (1, 2, 3):
        call_period_end_hooks(db, NOW + 3 * DAY, -1, [lambda _db, board, *_: called.append(board.id)])
        assert len(set(called)) == count


def test_hooks_are_called_for_each_ended_period_in_order_and_again_after_a_failure(
    db: Database, boards: Boards
) -> None:
    """Empty periods too. If a hook fails, all are called again for that period, and for no earlier one."""
    board = timed(db, boards, PeriodKind.DAILY)
    called: list[str] = []
    failing = {"daily-2026-12-03"}

    def note(_db: Database, of: Board, period: str, _now: datetime) -> None:
        assert of.id == board.id
        called.append(period)

    def fail(_db: Database, _of: Board, period: str, _now: datetime) -> None:
        if period in failing:
            raise RuntimeError(period)

    when = NOW + 7 * DAY
    call_period_end_hooks(db, when, 60, [note, fail])
    assert called[-4:] == [f"daily-{day}" for day in ("2026-11-30", "2026-12-01", "2026-12-02", "2026-12-03")]
    assert called == sorted(set(called))
    called.clear()
    failing.clear()
    call_period_end_hooks(db, when, 60, [note, fail])
    assert called == [f"daily-2026-12-0{day}" for day in (3, 4, 5)]
    call_period_end_hooks(db, when, 60, [note, fail])
    assert len(called) == 3
