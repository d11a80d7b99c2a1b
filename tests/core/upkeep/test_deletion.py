"""Deleting a board: at once for everyone, completely in the background, whatever process dies meanwhile."""

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.archives.write import begin_archive, write_archive
from core.boards import Boards
from core.domain.errors import LeaderboardNotFound
from core.domain.model import CounterMode, PeriodKind
from core.maintenance import Maintenance
from core.moderation.moderate import hide_entry, remove_entry
from core.records.audit import AuditContext, all_records
from core.records.jobs import Job, pending_jobs
from core.storage.database import Database
from core.upkeep import deletion
from core.upkeep.deletion import delete_rest
from tests.support.dying import dying_at_each_request, fresh_boards
from tests.support.graphql_api import Api
from tests.support.twin import ALL_TIME, LONG_AGO, NOW, Twin, submit_to

Drain = Callable[[], int]
AUDIT = AuditContext("ops", datetime(2026, 11, 30, 12, tzinfo=UTC))


def scan(db: Database, table: str) -> list[dict[str, Any]]:
    return list(db.client.scan(TableName=table)["Items"])


def left_behind(db: Database, board_id: str) -> list[dict[str, Any]]:
    """Return every item that names the board, except audit records and what they refer to."""
    return [
        item
        for table in (db.tables.scores, db.tables.counters, db.tables.boards, db.tables.records)
        for item in scan(db, table)
        if not str(item.get("record_set", {}).get("S", "")).startswith(("~audit", "~person", "~secret"))
        and board_id in str(item)
    ]


def full(db: Database, boards: Boards, mode: CounterMode = CounterMode.STREAM) -> Twin:
    """Make a board with periods, a hidden and a removed participant, a complete and a pending archive."""
    twin = Twin.make(db, boards, counter_mode=mode, periods=list(PeriodKind), peak_writes_per_second=1)
    for number in range(5):
        submit_to(db, twin.board, f"p{number}", (number,), datetime.now(UTC))
    hide_entry(db, twin.board, "p0", LONG_AGO)
    remove_entry(db, twin.board, "p1", LONG_AGO)
    write_archive(db, begin_archive(db, twin.board, ALL_TIME, NOW), 1e9)
    begin_archive(db, twin.board, ALL_TIME, NOW + timedelta(hours=1))
    return twin


def finish(db: Database, name: str) -> None:
    for _ in range(50):
        jobs = [item for _, other, item in pending_jobs(db, Job.DELETE) if other == name]
        if not jobs or delete_rest(db, name, jobs[0], 1e9):
            return
    raise AssertionError("the deletion does not end")


@pytest.mark.parametrize("mode", CounterMode)
def test_nothing_is_left_of_a_deleted_board_but_the_audit_record(
    db: Database, boards: Boards, drain: Drain, mode: CounterMode
) -> None:
    twin = full(db, boards, mode)
    other = Twin.make(db, boards, id=f"{twin.board.id}#x")
    other.submit("p0", 1)
    drain()
    boards.delete(twin.board.id, AUDIT)
    finish(db, f"{twin.board.id}#{twin.board.generation}")
    drain()
    Maintenance(db, fresh_boards(db)).run(1)
    assert [item for item in left_behind(db, twin.board.id) if other.board.id not in str(item)] == []
    assert next(record.action.value for record in all_records(db, twin.board.id)) == "DELETE"
    other.check()


def test_reports_9_a_board_is_deleted_at_once_and_its_id_is_free(
    db: Database, boards: Boards, drain: Drain
) -> None:
    """Late records of the old one count nowhere, and its deletion changes nothing of the new one."""
    old = Twin.make(db, boards, id="again")
    for number in range(3):
        old.submit(f"p{number}", number)
    boards.delete("again", AUDIT)
    with pytest.raises(LeaderboardNotFound):
        boards.get("again")
    with pytest.raises(LeaderboardNotFound):
        boards.delete("again", AUDIT)
    new = Twin.make(db, boards, id="again")
    new.submit("p1", 7)
    old.submit("late", 9)  # by a process that has cached the old one
    drain()
    new.check()
    finish(db, f"again#{old.board.generation}")
    drain()
    new.check()
    assert {item["standings"]["S"] for item in scan(db, db.tables.scores)} == {new.standings}


def test_entries_that_are_both_ranked_and_flagged_are_deleted(db: Database, boards: Boards) -> None:
    """A batch must not name an item twice."""
    twin = Twin.make(db, boards, peak_writes_per_second=1)
    for participant in ("p0", "p1"):
        twin.submit(participant, 1)
        twin.hide(participant)
        twin.restore(participant)
    boards.delete(twin.board.id, AUDIT)
    finish(db, f"{twin.board.id}#{twin.board.generation}")
    assert scan(db, db.tables.scores) == []
    assert pending_jobs(db) == []


def test_what_late_writers_leave_is_deleted_by_the_second_pass(
    db: Database, boards: Boards, drain: Drain, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = Twin.make(db, boards)
    twin.submit("p", 1)
    boards.delete(twin.board.id, AuditContext("ops", datetime.now(UTC)))
    name = f"{twin.board.id}#{twin.board.generation}"

    def step() -> bool:
        [(_, _, item)] = pending_jobs(db, Job.DELETE)
        return delete_rest(db, name, item, 1e9)

    assert not step()
    assert scan(db, db.tables.scores) == []
    submit_to(db, twin.board, "late", (2,), NOW)
    assert not step()  # not yet
    assert len(scan(db, db.tables.scores)) == 1
    monkeypatch.setattr(deletion, "_SETTLED", timedelta(0))
    assert step()
    assert scan(db, db.tables.scores) == []
    assert pending_jobs(db) == []


@pytest.mark.parametrize("step", [25, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_deletion_that_dies_anywhere_is_completed_when_run_again(
    db: Database, boards: Boards, step: int
) -> None:
    def do(twin: Twin, dying: Database) -> None:
        with suppress(LeaderboardNotFound):  # the first run may have deleted it
            fresh_boards(dying).delete(twin.board.id, AUDIT)
        finish(dying, f"{twin.board.id}#{twin.board.generation}")

    def compare(twin: Twin) -> None:
        assert left_behind(db, f"{twin.board.id}#") == []
        assert pending_jobs(db) == []

    deaths = dying_at_each_request(db, lambda: full(db, boards), do, compare, step)
    assert deaths > 3


def test_large_boards_are_deleted_in_batches(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deletion, "_BATCH", 10)
    twin = Twin.make(db, boards, peak_writes_per_second=1)
    for number in range(35):
        submit_to(db, twin.board, f"p{number}", (number,), NOW)
    boards.delete(twin.board.id, AUDIT, size=35)
    maintenance = Maintenance(db, fresh_boards(db))
    counts = []
    for _ in range(50):
        jobs = pending_jobs(db, Job.DELETE)
        if not jobs:
            break
        counts.append((len(scan(db, db.tables.scores)), int(jobs[0][2].get("gone", {"N": "0"})["N"])))
        maintenance.run(0)
    assert counts[:4] == [(35, 0), (25, 10), (15, 20), (5, 30)]
    assert scan(db, db.tables.scores) == []
    assert pending_jobs(db) == []


def test_a_board_is_deleted_over_graphql(db: Database, boards: Boards) -> None:
    api = Api(db, boards)
    api.board()
    api.submit("ann", "1")
    assert api.data('mutation { deleteLeaderboard(id: "board") { id version } }') == {
        "id": "board",
        "version": 1,
    }
    assert api.refusal('{ leaderboard(id: "board") { id } }')[0] == "LeaderboardNotFound"
    assert api.data("{ leaderboards { items { id } } }") == {"items": []}
    assert api.data('{ participant(id: "ann") { id } }') is None
    api.board()
    assert api.data('{ leaderboard(id: "board") { size entries { items { hidden } } } }') == {
        "size": 0,
        "entries": {"items": []},
    }
