"""`leaderboard list`, `status`, `top`, `find`, `submit`, `doctor`, `--version`, and `--json`."""

import argparse
import json
import socket
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest

from core.boards import Boards
from core.domain.board import ComponentInput, define_board
from core.domain.model import Board, PeriodKind, ScoreKind
from core.moderation.moderate import hide_entry
from core.records.audit import AuditContext
from core.storage.database import Database
from local.cli import main
from local.commands import status
from local.stack.engine import free_port
from local.stack.target import Stack, following, opened
from tests.support.stacks import stack_of
from tests.support.twin import NOW


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The data folder of a local stack that does not run, with the board "race"."""
    now = datetime.now(UTC)
    with opened(argparse.Namespace(data=tmp_path, stack=None, region=None), creates=True) as stack:
        periods = [PeriodKind.ALL_TIME, PeriodKind.DAILY]
        stack.boards.create(define_board(id="race", title="The race", now=now, periods=periods))
    return tmp_path


def ask(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    """Run a command with --json; return what it printed."""
    assert main([*map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_scores_are_submitted_and_listed_on_a_stack_that_does_not_run(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--data", str(folder)]
    assert main(["submit", "race", "ann", "7", "--display-name", "Ann", *data]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "accepted",
        "all-time: 7",
        f"daily-{datetime.now(UTC):%Y-%m-%d}: 7",
    ]
    assert main(["submit", "race", "bob", "-3", *data]) == 0
    assert main(["submit", "race", "bob", "-5", *data]) == 0
    assert "not accepted" in capsys.readouterr().out
    assert main(["top", "race", *data]) == 0
    table = capsys.readouterr().out
    assert table.index("Ann") < table.index("bob")
    top = ask(capsys, "top", "race", "--period", "daily", "--limit", 1, *data)
    assert [(row["rank"], row["participant"], row["displayName"], row["score"]) for row in top] == [
        (1, "ann", "Ann", "7")
    ]
    assert ask(capsys, "list", *data) == [
        {
            "id": "race",
            "title": "The race",
            "size": 2,
            "policy": "BEST",
            "periods": "ALL_TIME, DAILY",
            "closed": False,
        }
    ]
    assert main(["list", *data]) == 0
    assert "The race" in capsys.readouterr().out


def test_places_and_scores_are_found(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data", str(folder)]
    for number in range(20):
        assert main(["submit", "race", f"p{number:02}", str(number - 5), *data]) == 0
    capsys.readouterr()
    [found] = ask(capsys, "find", "race", "--position", 3, *data)
    assert (found["rank"], found["of"], found["participant"], found["score"]) == (3, 20, "p17", "12")
    [found] = ask(capsys, "find", "race", "--top-percent", 25, "--period", "daily", *data)
    assert (found["rank"], found["score"]) == (5, "10")
    [found] = ask(capsys, "find", "race", "--score", -3, *data)
    assert (found["rank"], found["of"], found["participant"]) == (18, 21, None)
    assert main(["find", "race", "--position", "21", *data]) == 1
    assert "the board has fewer entries" in capsys.readouterr().err
    assert main(["find", "race", "--position", "0", *data]) == 1
    assert "InvalidInput: position: must be at least 1" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["find", "race", "--position", "1", "--score", "3", *data])


def test_a_composite_score_is_submitted_part_by_part(
    local_db: Database, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Beside a stack that runs."""
    components = [ComponentInput(name="wins"), ComponentInput(name="time", kind=ScoreKind.DURATION)]
    board = define_board(id=f"rally-{uuid.uuid4().hex}", now=NOW, components=components)
    boards = Boards(local_db, cache_seconds=0)
    boards.create(board)
    with following(stack_of(local_db, boards)):  # as the stack that runs does
        assert main(["submit", board.id, "ann", "4", "2:13:07.5", "--data", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "accepted\nall-time: 4 / 2:13:07.500\n"


def test_refusals_name_the_rule(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data", str(folder)]
    assert main(["submit", "race", "ann", "fast", *data]) == 1
    assert "InvalidScore" in capsys.readouterr().err
    assert main(["top", "nope", *data]) == 1
    assert "LeaderboardNotFound" in capsys.readouterr().err
    assert main(["top", "race", "--limit", "101", *data]) == 1
    assert "limit" in capsys.readouterr().err


def test_status_tells_the_lag_the_tables_and_the_work_left(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--data", str(folder)]
    assert main(["submit", "race", "ann", "7", *data]) == 0
    capsys.readouterr()
    found = ask(capsys, "status", *data)
    assert "does not run" in found["stack"]
    assert found["counting lag"] == "none: every score is counted"
    assert found["table leaderboard-scores"].startswith("ACTIVE")
    assert found["jobs"] == found["growing trees"] == "none"
    with opened(argparse.Namespace(data=folder, stack=None, region=None)) as stack:
        stack.boards.delete("race", AuditContext("ann", NOW), size=1)
    found = ask(capsys, "status", *data)
    assert found["jobs"].startswith("delete race#")
    assert main(["status", *data]) == 0
    assert "growing trees" in capsys.readouterr().out


def test_status_measures_what_is_not_counted(
    local_db: Database, ranked_board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hide_entry(
        local_db, ranked_board, "p1", AuditContext("ann", NOW, "bot")
    )  # the stack "runs", counts nothing
    found = ask(capsys, "status", "--data", tmp_path)
    assert found["stack"] == "runs at http://localhost/graphql"
    assert found["counting lag"].endswith(" s")


@pytest.mark.usefixtures("ranked_board")
def test_the_lag_on_aws_is_the_stream_functions(monkeypatch: pytest.MonkeyPatch, local_db: Database) -> None:
    asked: dict[str, Any] = {}

    class CloudWatch:
        def get_metric_statistics(self, **arguments: Any) -> Any:
            asked.update(arguments)
            at = datetime(2026, 11, 30, 12, tzinfo=UTC)
            return {"Datapoints": [{"Timestamp": at, "Maximum": 1500.0}]}

    monkeypatch.setattr(boto3, "client", lambda *_, **__: CloudWatch())
    args = argparse.Namespace(stack="race", region="eu-west-1")
    opened_stack = Stack(local_db, Boards(local_db), lambda: None, lambda _: None)
    assert status._lag_on_aws(args, opened_stack) == "1.5 s at 12:00 UTC"
    assert asked["Dimensions"] == [{"Name": "FunctionName", "Value": "race-stream"}]


def test_audit_and_counters_print_json(
    local_db: Database, ranked_board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = ["--data", tmp_path]
    assert ask(capsys, "explain", ranked_board.id, *data)["entries"].startswith("3;")
    assert ask(capsys, "check", ranked_board.id, *data)["drifts"] == []
    hide_entry(local_db, ranked_board, "p1", AuditContext("ann", NOW, "bot"))
    assert ask(capsys, "audit", ranked_board.id, *data) == [
        {
            "at": NOW.isoformat(timespec="seconds"),
            "action": "HIDE",
            "actor": "ann",
            "participant": "p1",
            "reason": "bot",
        }
    ]


def test_doctor_says_what_to_do_next(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data", tmp_path / "data"]
    found = {row["what"]: row for row in ask(capsys, "doctor", "--port", free_port(), *data)}
    assert found["Python"]["state"] == found["data folder"]["state"] == "ok"
    assert not (tmp_path / "data").exists()
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        assert main(["doctor", "--port", str(port), *map(str, data)]) == 1
    assert "--port" in capsys.readouterr().out
    (tmp_path / "data").touch()
    assert main(["doctor", "--port", str(free_port()), *map(str, data)]) == 1
    assert "--data" in capsys.readouterr().out


def test_the_version_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith("leaderboard ")
