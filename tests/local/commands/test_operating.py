"""`leaderboard export`, `delete` and `audit` as operators run them."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.boards import Boards
from core.domain.board import define_board
from core.domain.errors import LeaderboardNotFound
from core.domain.model import Board
from core.moderation.forget import forget_participant
from core.moderation.moderate import hide_entry
from core.records.audit import AuditContext, all_records
from core.storage.database import Database
from core.storage.tables import create_tables
from core.submissions.submit import Submission, submit_score
from local.cli import main
from local.stack.engine import Engine
from local.stack.stream_reader import StreamReader, connect_streams
from local.stack.target import RunningStack, connect_local, recorded

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def db(engine: Engine, tmp_path: Path) -> Iterator[Database]:
    """A running local stack, as commands find it."""
    db = connect_local(engine.endpoint)
    create_tables(db)
    with recorded(tmp_path, RunningStack(engine.endpoint, "http://localhost/graphql", os.getpid())):
        yield db


@pytest.fixture
def board(db: Database) -> Board:
    boards = Boards(db, cache_seconds=0)
    board = boards.create(define_board(id=f"board-{uuid.uuid4().hex}", now=NOW))
    for number in range(3):
        submit_score(db, board, Submission(f"p{number}", [str(number)], NOW), now=NOW)
    StreamReader(db, boards, connect_streams(db)).drain()
    return board


def test_a_board_is_deleted_only_when_it_is_meant(
    db: Database, board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = [board.id, "--data", str(tmp_path)]
    assert main(["delete", *target]) == 2
    assert "--yes" in capsys.readouterr().err
    assert main(["delete", *target, "--yes", "--reason", "over"]) == 0
    assert f"{board.id} is deleted, 3 entries" in capsys.readouterr().out
    with pytest.raises(LeaderboardNotFound):
        Boards(db).get(board.id)
    assert main(["delete", *target, "--yes"]) == 0  # goes on where a killed one ended
    assert main(["delete", "none", "--data", str(tmp_path), "--yes"]) == 1
    assert "LeaderboardNotFound" in capsys.readouterr().err
    assert main(["audit", *target]) == 0
    told = capsys.readouterr().out
    assert "DELETE" in told
    assert "over" in told


def test_the_record_is_printed_newest_first(
    db: Database, board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hide_entry(db, board, "p1", AuditContext("ann", NOW, "bot"))
    Boards(db, cache_seconds=0).close(board.id, AuditContext("bob", NOW.replace(hour=13)))
    assert main(["audit", board.id, "--data", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert told.index("CLOSE") < told.index("HIDE")
    assert all(word in told for word in ("ann", "bob", "bot", "p1"))


def test_what_others_named_is_printed_as_it_is(
    db: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    boards = Boards(db, cache_seconds=0)
    board = boards.create(define_board(id="[/b] :cat:", now=NOW))
    submit_score(db, board, Submission("[/x]:cat:", ["1"], NOW), now=NOW)
    hide_entry(db, board, "[/x]:cat:", AuditContext("[red]", NOW, "[/why]"))
    StreamReader(db, boards, connect_streams(db)).drain()
    for command in ("audit", "explain", "check"):
        assert main([command, board.id, "--data", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert main(["export", board.id, "--data", str(tmp_path)]) == 0
    assert "import FILE --board '[/b] :cat:'" in capsys.readouterr().err
    assert all(text in told for text in ("[/b] :cat:", "[/x]:cat:", "[red]", "[/why]"))


def test_the_hash_of_who_was_forgotten_is_whole(
    db: Database, board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forget_participant(db, Boards(db), "p1", AuditContext("ann", NOW))
    (record,) = all_records(db, None)
    assert main(["audit", "--data", str(tmp_path)]) == 0
    cells = "".join(
        line.split("│")[4].strip() for line in capsys.readouterr().out.splitlines() if "│" in line
    )
    assert cells == f"forgotten{record.participant_hash}"


def test_an_export_goes_to_a_file_or_to_stdout(
    db: Database, board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = [board.id, "--data", str(tmp_path)]
    assert main(["export", *target]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "participantId,score,achievedAt,displayName,metadataJson",
        "p2,2,2026-11-30T12:00:00Z,,",
        "p1,1,2026-11-30T12:00:00Z,,",
        "p0,0,2026-11-30T12:00:00Z,,",
    ]
    assert "leaderboard import" in printed.err
    assert main(["export", *target, "-o", str(tmp_path / "x.csv")]) == 0
    assert (tmp_path / "x.csv").read_text() == printed.out
    assert main(["export", *target, "-o", str(tmp_path / "no" / "x.csv")]) == 2
    assert main(["export", "none", "--data", str(tmp_path)]) == 1
    assert main(["export", "--archive", "none", "--data", str(tmp_path)]) == 1
    assert "ArchiveNotFound" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["export", "delete", "audit", "backup", "restore"])
def test_each_command_says_what_it_does(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert "--stack" in capsys.readouterr().out


def test_a_folder_that_holds_no_backup(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "saved").mkdir()
    assert main(["restore", str(tmp_path / "saved"), "--data", str(tmp_path / "new")]) == 2
    assert "holds no backup" in capsys.readouterr().err


def test_a_reader_who_has_had_enough_is_no_failure(board: Board, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "local.cli", "export", board.id, "--data", str(tmp_path)]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writing)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_a_backup_that_is_there_already_says_so(
    board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["backup", str(tmp_path / "saved"), "--data", str(tmp_path)]
    assert main(command) == 0
    assert capsys.readouterr().err == ""
    assert main(command) == 0
    assert "another folder" in capsys.readouterr().err
