"""`leaderboard delete`."""

from pathlib import Path

import pytest

from core.boards import Boards
from core.domain.errors import LeaderboardNotFound
from core.domain.model import Board
from core.storage.database import Database
from local.cli import main


def test_a_board_is_deleted_only_if_confirmed(
    local_db: Database, ranked_board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = [ranked_board.id, "--data", str(tmp_path)]
    assert main(["delete", *target]) == 2
    assert "--yes" in capsys.readouterr().err
    assert main(["delete", *target, "--yes", "--reason", "over"]) == 0
    assert f"deleted {ranked_board.id} with 3 entries" in capsys.readouterr().out
    with pytest.raises(LeaderboardNotFound):
        Boards(local_db).get(ranked_board.id)
    assert main(["audit", *target]) == 0
    output = capsys.readouterr().out
    assert "DELETE" in output
    assert "over" in output


def test_it_resumes_a_deletion_that_is_not_complete(ranked_board: Board, tmp_path: Path) -> None:
    for _ in range(2):
        assert main(["delete", ranked_board.id, "--data", str(tmp_path), "--yes"]) == 0


@pytest.mark.usefixtures("local_db")
def test_a_board_that_does_not_exist_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["delete", "none", "--data", str(tmp_path), "--yes"]) == 1
    assert "LeaderboardNotFound" in capsys.readouterr().err
