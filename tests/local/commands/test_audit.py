"""`leaderboard audit`."""

from pathlib import Path

import pytest

from core.boards import Boards
from core.domain.model import Board
from core.moderation.forget import forget_participant
from core.moderation.moderate import hide_entry
from core.records.audit import AuditContext, all_records
from core.storage.database import Database
from local.cli import main
from tests.support.twin import NOW


def test_records_are_printed_newest_first(
    local_db: Database, ranked_board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hide_entry(local_db, ranked_board, "p1", AuditContext("ann", NOW, "bot"))
    Boards(local_db, cache_seconds=0).close(ranked_board.id, AuditContext("bob", NOW.replace(hour=13)))
    assert main(["audit", ranked_board.id, "--data", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    assert output.index("CLOSE") < output.index("HIDE")
    assert all(word in output for word in ("ann", "bob", "bot", "p1"))


def test_the_hash_of_a_forgotten_participant_is_printed_whole(
    local_db: Database, ranked_board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    forget_participant(local_db, Boards(local_db), "p1", AuditContext("ann", NOW))
    (record,) = all_records(local_db, None)
    assert main(["audit", "--data", str(tmp_path)]) == 0
    cells = "".join(
        line.split("│")[4].strip() for line in capsys.readouterr().out.splitlines() if "│" in line
    )
    assert cells == f"forgotten{record.participant_hash}"
