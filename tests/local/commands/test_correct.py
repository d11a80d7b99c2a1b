"""`leaderboard correct`."""

import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.boards import Boards
from core.domain.board import ComponentInput, define_board
from core.domain.model import Board, PeriodKind, ScoreKind
from core.ranking.queries import entry, top
from core.records.audit import all_records
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from local.cli import main
from local.stack.stream_reader import StreamReader, connect_streams
from tests.support.twin import ALL_TIME, NOW


def test_a_score_is_corrected_and_recorded(
    local_db: Database, ranked_board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = ["--data", str(tmp_path)]
    assert main(["correct", ranked_board.id, "p2", "-5", "--reason", "mistyped", *target]) == 0
    assert capsys.readouterr().out == f"all-time: -5, achieved at {NOW.isoformat()}\n"
    StreamReader(local_db, Boards(local_db), connect_streams(local_db)).drain()
    order = [one.participant_id for one in top(local_db, ranked_board, ALL_TIME, 3)]
    assert order == ["p1", "p0", "p2"]
    again = ["correct", ranked_board.id, "p2", "--reason", "again", *target, "--", "-5"]
    assert main(again) == 0
    (record,) = all_records(local_db, ranked_board.id)
    assert (record.action.value, record.participant_id, record.reason) == ("CORRECT", "p2", "mistyped")


def test_achieved_at_and_period(
    local_db: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now = datetime.now(UTC)
    components = [ComponentInput("wins"), ComponentInput("time", ScoreKind.DURATION)]
    definition = define_board(
        id=f"board-{uuid.uuid4().hex}",
        now=now,
        components=components,
        periods=[PeriodKind.ALL_TIME, PeriodKind.DAILY],
    )
    board = Boards(local_db, cache_seconds=0).create(definition)
    submit_score(local_db, board, Submission("p", ["1", "1:00"], now), now=now)
    moment = (now - timedelta(seconds=1)).isoformat()
    command = ["correct", board.id, "p", "2", "1:01", "--reason", "R", "--data", str(tmp_path)]
    assert main([*command, "--achieved-at", moment, "--period", "all-time"]) == 0
    assert capsys.readouterr().out == f"all-time: 2 / 1:01.000, achieved at {moment}\n"
    found = [entry(local_db, board, period, "p") for period in (ALL_TIME, f"daily-{now:%Y-%m-%d}")]
    assert [one and one.score for one in found] == [(2, 61000), (1, 60000)]


def test_what_cannot_be_corrected_is_refused(
    ranked_board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["correct", ranked_board.id, "nobody", "1", "--data", str(tmp_path)]
    assert main([*command, "--reason", "R"]) == 1
    assert capsys.readouterr().err.startswith("leaderboard: EntryNotFound: participantId: 'nobody'")
    assert main([*command, "--reason", "R", "--achieved-at", "2026-01-01T00:00"]) == 1
    assert "achievedAt: must have an offset" in capsys.readouterr().err
    for options in ([], ["--reason", "R", "--achieved-at", "yesterday"]):
        with pytest.raises(SystemExit, match="2"):
            main([*command, *options])
