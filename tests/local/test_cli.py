"""The `leaderboard` command itself: help and output."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.boards import Boards
from core.domain.board import define_board
from core.domain.model import Board
from core.moderation.moderate import hide_entry
from core.records.audit import AuditContext
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from local.cli import main
from local.stack.stream_reader import StreamReader, connect_streams
from tests.support.twin import NOW


@pytest.mark.parametrize("command", ["export", "delete", "audit", "backup", "restore"])
def test_each_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert "--stack" in capsys.readouterr().out


def test_a_closed_pipe_is_no_error(ranked_board: Board, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "local.cli", "export", ranked_board.id, "--data", str(tmp_path)]
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    finally:
        os.close(writing)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr
    assert "Exception" not in done.stderr


def test_ids_and_names_are_printed_as_they_are(
    local_db: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also where they look like the console's markup."""
    boards = Boards(local_db, cache_seconds=0)
    board = boards.create(define_board(id="[/b] :cat:", now=NOW))
    submit_score(local_db, board, Submission("[/x]:cat:", ["1"], NOW), now=NOW)
    hide_entry(local_db, board, "[/x]:cat:", AuditContext("[red]", NOW, "[/why]"))
    StreamReader(local_db, boards, connect_streams(local_db)).drain()
    for command in ("audit", "explain", "check"):
        assert main([command, board.id, "--data", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert main(["export", board.id, "--data", str(tmp_path)]) == 0
    assert "import FILE --board '[/b] :cat:'" in capsys.readouterr().err
    assert all(text in output for text in ("[/b] :cat:", "[/x]:cat:", "[red]", "[/why]"))
