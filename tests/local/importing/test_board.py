"""An import onto a board that exists: it is as the options say, or nothing is imported."""

import os
from pathlib import Path

import pytest

from core.domain.board import ComponentInput
from core.domain.model import ScoreKind, ScorePolicy, SortOrder
from tests.support.importing import THEN, World

TIMES = ["--create", "--kind", "DURATION", "--order", "ASCENDING"]


def stored(world: World) -> object:
    return world.boards.get(world.board_id), world.entries()


def test_each_difference_from_the_board_is_named(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    file = world.write("participantId,score\nann,1\nbob,2\n")
    assert world.run(file, *TIMES, "--title", "Laps") == 0
    before = stored(world)
    capsys.readouterr()
    options = ["--kind", "DECIMAL", "--order", "DESCENDING", "--decimals", "1", "--policy", "SUM"]
    for create in (["--create"], []):
        assert world.run(file, *create, *options, "--tie-break", "LATEST", "--title", "Points") == 2
        captured = capsys.readouterr()
        for difference in (
            "kind of 'score' is DURATION, not DECIMAL",
            "order of 'score' is ASCENDING, not DESCENDING",
            "decimals of 'score' is 3, not 1",
            "policy is BEST, not SUM",
            "tie-break is EARLIEST, not LATEST",
            "title is 'Laps', not 'Points'",
        ):
            assert difference in captured.err
        assert "imported before" not in captured.out
        assert stored(world) == before


@pytest.mark.parametrize(
    ("options", "difference"),
    [
        (["--create"], "kind of 'score' is DURATION, not INTEGER"),
        (["--create", *TIMES, "--score", "other"], "the component's name is 'score', not 'other'"),
        (["--create", *TIMES, "--score", "score,other"], "it has 1 component(s), not 2"),
        (["--order", "ASCENDING,ASCENDING"], "--order has 2 items for its 1 component(s)"),
        (["--policy", "LATEST"], "policy is BEST, not LATEST"),
    ],
)
def test_with_create_the_usual_values_are_compared_too(
    world: World, capsys: pytest.CaptureFixture[str], options: list[str], difference: str
) -> None:
    file = world.write("participantId,score,other\nann,1,2\n")
    assert world.run(file, *TIMES) == 0
    before = stored(world)
    assert world.run(file, *options) == 2
    assert difference in capsys.readouterr().err
    assert stored(world) == before


def test_options_that_agree_or_are_not_given_are_no_difference(world: World) -> None:
    file = world.write("participantId,score\nann,1\n")
    for options in (TIMES, TIMES, [], ["--kind", "duration"], ["--decimals", "3"]):
        assert world.run(file, *options) == 0


def test_columns_in_another_order_than_the_boards_components_are_refused(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.create(components=[ComponentInput("points"), ComponentInput("wins")])
    file = world.write("participantId,wins,points\nann,1,30\n")
    assert world.run(file, "--score", "wins,points") == 2
    assert "another order" in capsys.readouterr().err
    assert world.run(file, "--score", "points,wins") == 0
    assert world.scores() == {"ann": (30, 1)}


@pytest.mark.parametrize(
    ("content", "first", "second", "difference"),
    [
        ("ann,1\n", [], ["--decimal", "comma"], "decimal was not given, now comma"),
        ("ann,1\n", ["--time-zone", "UTC"], [], "time-zone was UTC, now not given"),
        ("ann,1\n", [], ["--encoding", "cp1252"], "encoding was not given, now cp1252"),
    ],
)
def test_the_same_file_is_not_read_in_another_way_later(
    world: World,
    capsys: pytest.CaptureFixture[str],
    content: str,
    first: list[str],
    second: list[str],
    difference: str,
) -> None:
    """Its rows would count as imported before, and keep what was read then."""
    world.create(ScorePolicy.SUM)
    file = world.write(f"participantId,score\n{content}")
    assert world.run(file, *first) == 0
    assert world.run(file, *second) == 2
    assert difference in capsys.readouterr().err
    assert world.run(file, *first) == 0
    assert world.scores() == {"ann": (1,)}


def test_a_file_of_which_nothing_was_imported_may_be_read_in_another_way(world: World) -> None:
    world.create()
    file = world.write("participantId,score,achievedAt\nann,1,2024-06-01T12:00:00\n")
    assert world.run(file) == 1
    assert world.run(file, "--time-zone", "Europe/Rome") == 0
    assert world.entries()["ann"].achieved_at == THEN.replace(month=6, day=1, hour=10)


def test_the_columns_of_a_named_source_may_not_change(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.create(ScorePolicy.SUM)
    file = world.write("participantId,score,other\nann,1,2\n")
    assert world.run(file, "--source", "log") == 0
    assert world.run(file, "--source", "log", "--score", "other") == 2
    assert "columns was" in capsys.readouterr().err
    assert world.scores() == {"ann": (1,)}


def test_where_tells_one_import_of_a_file_from_another(world: World) -> None:
    world.create(ScorePolicy.SUM)
    file = world.write("participantId,day,score\nann,2,1\nann,1,10\nbob,1,100\n")
    for _ in range(2):
        for day in ("1", "2"):
            assert world.run(file, "--where", f"day={day}") == 0
            os.utime(file)
    assert world.scores() == {"ann": (11,), "bob": (100,)}


def test_what_is_defined_for_a_dry_run_is_not_stored(world: World, tmp_path: Path) -> None:
    file = world.write("participantId,score\nann,61\n")
    assert world.run(file, *TIMES, "--dry-run") == 0
    assert world.board_id not in world.boards.get_many([world.board_id])
    assert world.run(file, *TIMES) == 0
    board = world.boards.get(world.board_id)
    assert [(one.kind, one.order) for one in board.components] == [(ScoreKind.DURATION, SortOrder.ASCENDING)]
