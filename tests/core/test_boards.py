"""Boards in storage: what a change costs, what happens when two change one board, what is listed for whom."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from core.boards import Boards
from core.domain.board import define_board
from core.domain.errors import LeaderboardExists, LeaderboardNotFound, Throttled, VersionConflict
from core.domain.model import Board, ClientAccess
from core.records.audit import AuditContext, all_records
from core.records.jobs import pending_jobs
from core.storage.database import Database, metered
from core.storage.parallel import run_all
from tests.support.dying import fresh_boards
from tests.support.wire import Request, intercept, lose_answers

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
AUDIT = AuditContext("ops", NOW, "cheats")


@pytest.fixture
def board(boards: Boards) -> Board:
    return boards.create(define_board(id="board", now=NOW))


# Costs


def test_a_change_costs_a_consistent_read_and_one_write(db: Database, boards: Boards, board: Board) -> None:
    with metered() as meter:
        boards.update("board", board.version, title="one")
    assert (meter.requests, meter.read_units, meter.write_units) == (
        2,
        1,
        2 + 2,
    )  # 2 KB, and their copy on the index
    with metered() as meter:
        boards.close("board", AUDIT)
    assert (meter.requests, meter.read_units, meter.write_units) == (2, 1, 4 + 2 + 2)  # with the audit record
    with metered() as meter:
        assert boards.close("board", replace(AUDIT, reason="again")).closed
    assert (meter.requests, meter.read_units, meter.write_units) == (1, 1, 0)
    assert [record.reason for record in all_records(db, "board")] == ["cheats"]
    with metered() as meter:
        boards.delete("board", AUDIT)
    assert (meter.requests, meter.read_units) == (2, 1)


# Optimistic changes


def test_closing_and_deleting_start_again_when_another_writer_is_faster(
    db: Database, boards: Boards, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles = ["two", "one"]

    def change_title(operation: str, _: Request) -> None:
        if operation == "TransactWriteItems" and titles:
            title = titles.pop()
            fresh_boards(db).update("board", boards.get("board").version, title=title)

    intercept(monkeypatch, db, change_title)
    closed = boards.close("board", AUDIT)
    assert (closed.title, closed.closed, closed.version) == ("two", True, board.version + 3)
    assert fresh_boards(db).get("board") == closed
    titles.append("three")
    assert boards.delete("board", replace(AUDIT, at=NOW + timedelta(hours=1))).title == "three"
    with pytest.raises(LeaderboardNotFound):
        fresh_boards(db).get("board")
    assert [record.action for record in all_records(db, "board")] == ["DELETE", "CLOSE"]


def test_a_change_that_loses_every_race_is_throttled_and_stores_nothing(
    db: Database, boards: Boards, board: Board, monkeypatch: pytest.MonkeyPatch
) -> None:
    def change_title(operation: str, _: Request) -> None:
        if operation == "TransactWriteItems":
            fresh_boards(db).update("board", boards.get("board").version, title="faster")

    with monkeypatch.context() as patch:
        intercept(patch, db, change_title)
        for change in (boards.close, boards.delete):
            with pytest.raises(Throttled):
                change("board", AUDIT)
    stored = fresh_boards(db).get("board")
    assert (stored.title, stored.closed) == ("faster", False)
    assert not list(all_records(db, "board"))
    assert not pending_jobs(db)


def test_an_update_needs_the_version_that_the_board_has(db: Database, boards: Boards, board: Board) -> None:
    others = fresh_boards(db)
    assert others.update("board", board.version, title="one").version == 2
    with pytest.raises(VersionConflict):
        boards.update("board", board.version, title="two")
    closed = boards.close("board", AUDIT)  # needs no version, and makes one
    with pytest.raises(VersionConflict):
        others.update("board", 2, title="two")
    assert others.update("board", closed.version, title="two").closed
    boards.delete("board", AUDIT)
    with pytest.raises(LeaderboardNotFound):
        others.update("board", 4, title="three")
    boards.create(define_board(id="board", now=NOW))
    with pytest.raises(VersionConflict):
        others.update("board", 4, title="of another board")
    assert boards.get("board").title is None


def test_one_of_many_updates_of_one_version_is_made(db: Database, boards: Boards, board: Board) -> None:
    def update(number: int) -> bool:
        try:
            fresh_boards(db).update("board", board.version, title=f"{number}")
        except VersionConflict:
            return False
        return True

    assert sum(run_all([partial(update, number) for number in range(8)])) == 1
    assert boards.get("board").version == 2


# What is listed, and what clients see


def test_boards_are_listed_page_by_page(boards: Boards) -> None:
    names = [f"board-{number}" for number in range(7)]
    for name in reversed(names):
        boards.create(define_board(id=name, now=NOW))
    boards.delete(names.pop(3), AUDIT)
    found: list[str] = []
    token: str | None = None
    while True:
        page = boards.page(2, token)
        found += [listed.id for listed in page.items]
        token = page.next_token
        if token is None:
            break
    assert found == names


def test_clients_see_no_board_that_is_closed_to_them(boards: Boards, board: Board) -> None:
    secret = boards.create(define_board(id="secret", now=NOW, client_access=ClientAccess.NONE))
    clients = boards.for_clients()
    assert clients.get("board") == board
    with pytest.raises(LeaderboardNotFound):
        clients.get("secret")
    assert list(clients.get_many(["board", "secret"])) == ["board"]
    assert clients.get_generation("secret", secret.generation) is None
    first = clients.page(1)
    assert [shown.id for shown in first.items] == ["board"]
    assert first.next_token is None  # nothing tells that a board follows which is not shown
    assert list(clients.every()) == [board]
    assert boards.get("secret") == secret
    assert boards.get_generation("secret", secret.generation) == secret
    boards.update("secret", secret.version, client_access=ClientAccess.READ)
    assert clients.get("secret").client_access is ClientAccess.READ


def test_a_board_whose_answer_is_lost_is_created_and_changed_once(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK then sends the write again, and its condition fails on the board's own first write."""
    lost: list[str] = []

    def every_other(operation: str, _: Request) -> bool:
        lost.append(operation)
        return operation == "PutItem" and lost.count("PutItem") % 2 == 1

    lose_answers(monkeypatch, db, every_other)
    made = boards.create(define_board(id="lost", now=NOW))
    assert boards.get("lost") == made
    changed = boards.update("lost", made.version, title="T")
    assert (changed.title, changed.version) == ("T", 2)
    assert lost.count("PutItem") == 4
    with pytest.raises(LeaderboardExists):
        boards.create(define_board(id="lost", now=NOW))
    with pytest.raises(VersionConflict):
        boards.update("lost", made.version, title="other")


def test_clients_share_the_cache(db: Database, board: Board) -> None:
    boards = Boards(db, cache_seconds=3600)
    with metered() as meter:
        boards.get("board")
        boards.for_clients().get("board")
    assert meter.requests == 1
