"""`leaderboard explain`, `check` and `rebuild`."""

import argparse
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.counters import known_trees
from core.counters.nodes import node_key
from core.domain.board import define_board
from core.domain.keys import standings_key
from core.domain.model import PeriodKind
from core.submissions.submit import Submission, submit_score
from core.tree.node import node_name
from core.upkeep import growth, rebuilds
from local.cli import main
from local.stack.target import opened

PERIODS = [PeriodKind.ALL_TIME, PeriodKind.WEEKLY]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of a local stack with a board of thirty entries."""
    for module in (known_trees, growth, rebuilds):
        monkeypatch.setattr(module, "ANNOUNCEMENT_LEAD", 1500)
        monkeypatch.setattr(module, "CACHE_TTL", 750)
    now = datetime.now(UTC)
    with opened(argparse.Namespace(data=tmp_path, stack=None, region=None)) as stack:
        board = stack.boards.create(define_board(id="race", now=now, periods=PERIODS))
        for place in range(30):
            submit_score(stack.db, board, Submission(f"p{place}", [str(place)]), now=now)
        stack.drain()
    return tmp_path


def make_drift(folder: Path) -> None:
    """Change a count behind the project's back."""
    with opened(argparse.Namespace(data=folder, stack=None, region=None)) as stack:
        board = stack.boards.get("race")
        standings = standings_key("race", "all-time", board.generation)
        stack.db.client.update_item(
            TableName=stack.db.tables.counters,
            Key=node_key(standings, node_name(0, ())),
            UpdateExpression="ADD c05 :five",
            ExpressionAttributeValues={":five": {"N": "5"}},
        )


def test_explain_shows_how_ranks_are_counted(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "race", "--data", str(folder)]) == 0
    output = capsys.readouterr().out
    for word in ("logarithmic", "STREAM", "4 shard(s)", "30; at most", "1 node(s)"):
        assert word in output


def test_a_period_can_be_explained_checked_and_rebuilt(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    week = ["race", "--data", str(folder), "--period", "weekly"]
    assert main(["explain", *week]) == 0
    output = re.sub(r"[│\s]+", " ", capsys.readouterr().out)
    for word in (
        f"weekly-{datetime.now(UTC):%G-W%V}, to ",
        "late scores for 24 hours",
        "of 2 periods",
        "30; at most",
    ):
        assert word in output
    for command in ("check", "rebuild", "check"):
        assert main([command, *week]) == 0
        assert "30 entries" in capsys.readouterr().out
    assert main(["check", "race", "--data", str(folder), "--period", "daily"]) == 1
    assert "period: this board keeps no DAILY standings" in capsys.readouterr().err


def test_drift_is_found_and_repaired(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = ["--data", str(folder)]
    assert main(["check", "race", *data]) == 0
    assert "no drift" in capsys.readouterr().out
    make_drift(folder)
    assert main(["check", "race", *data]) == 1
    output = capsys.readouterr().out
    assert "1 drifted" in output
    assert "rebuild" in output
    assert main(["rebuild", "race", *data]) == 0
    assert main(["check", "race", *data]) == 0


def test_an_unknown_board_is_reported_in_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "nope", "--data", str(folder)]) == 1
    assert capsys.readouterr().err == "leaderboard: LeaderboardNotFound: there is no leaderboard 'nope'\n"
