"""`leaderboard backup` and `restore`."""

from pathlib import Path

import pytest

from local.cli import main


@pytest.mark.usefixtures("ranked_board")
def test_a_second_backup_into_the_same_folder_is_refused_as_nothing_would_be_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["backup", str(tmp_path / "saved"), "--data", str(tmp_path)]
    assert main(command) == 0
    assert capsys.readouterr().err == ""
    assert main(command) == 2
    assert "nothing was saved" in capsys.readouterr().err


def test_a_folder_without_a_backup_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "saved").mkdir()
    assert main(["restore", str(tmp_path / "saved"), "--data", str(tmp_path / "new")]) == 2
    assert "holds no readable backup" in capsys.readouterr().err
