"""Gaps to the leader in race results: refused, or added to the leader's time, by choice."""

import pytest

from tests.support.importing import World

TIMES = ["--create", "--kind", "DURATION", "--order", "ASCENDING", "--score", "time"]
RACE = """participantId,time,status
hamilton,1:34:50.616,Finished
heidfeld,+5.478,Finished
rosberg,+8.163,Finished
alonso,+1:17.181,Finished
kovalainen,DNF,Engine
vettel,+1 Lap,+1 Lap
"""
HAMILTON = (60 + 34) * 60_000 + 50_616
BY_FINISH = {
    "hamilton": (HAMILTON,),
    "heidfeld": (HAMILTON + 5_478,),
    "rosberg": (HAMILTON + 8_163,),
    "alonso": (HAMILTON + 77_181,),
}
SKIP = ["--skip-value", "DNF,+* lap*"]


def test_gaps_are_refused_before_anything_is_stored(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """Read as times, they would put the winner last."""
    assert world.run(world.write(RACE), *TIMES, *SKIP) == 2
    error = capsys.readouterr().err
    assert "line 3: time: '+5.478' is a gap to the leader, no time: --gaps add" in error
    assert world.board_id not in world.boards.get_many([world.board_id])


def test_gaps_are_added_to_the_leaders_time(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    assert world.run(world.write(RACE), *TIMES, *SKIP, "--gaps", "add") == 0
    assert list(world.scores().items()) == list(BY_FINISH.items())
    output = capsys.readouterr().out
    assert "1 left out by --skip-value DNF" in output
    assert "1 left out by --skip-value +* lap*" in output


def test_gaps_of_a_grand_tour(world: World) -> None:
    """Times and gaps as letour.fr writes them."""
    file = world.write(
        "Rank;participantId;score\n"
        "1;JONAS VINGEGAARD;79h 33' 20''\n2;GERAINT THOMAS;+ 00h 03' 40''\n"
        "3;DAVID GAUDU;+ 00h 07' 12''\n4;NO ONE;+ 1h 02' 03''\n"
    )
    options = ["--create", "--kind", "DURATION", "--order", "ASCENDING", "--gaps", "add"]
    assert world.run(file, *options) == 0
    winner = (79 * 3600 + 33 * 60 + 20) * 1000
    assert [score for (score,) in world.scores().values()] == [
        winner,
        winner + 220_000,
        winner + 432_000,
        winner + 3_723_000,
    ]


def test_each_race_of_a_file_has_its_own_leader(world: World) -> None:
    rows = "1,ann,10.5\n1,bob,+1.5\n2,cat,9.0\n1,dan,+2\n2,eve,+0.5\n2,fay,+0.5\n"
    file = world.write(f"race,participantId,time\n{rows}")
    assert world.run(file, *TIMES, "--gaps", "add", "--gaps-by", "race") == 0
    assert world.scores() == {
        "cat": (9_000,),
        "eve": (9_500,),
        "fay": (9_500,),
        "ann": (10_500,),
        "bob": (12_000,),
        "dan": (12_500,),
    }


@pytest.mark.parametrize(
    ("rows", "line", "rule"),
    [
        ("ann,+1\nbob,60\n", 2, "is a gap, but no leader's time is above it"),
        ("ann,60\nbob,+1\ncat,61.5\ndan,+2\n", 5, "several times are above it; --gaps-by COL"),
        ("ann,60\nbob,x\ncat,+2\n", 4, "several times are above it"),
        ("ann,60\nbob,+3\ncat,+2\n", 4, "is less than the gap above it"),  # gaps to the one ahead
        ("ann,60\nbob,+1 Lap\n", 3, "must be a duration"),
    ],
)
def test_a_gap_whose_leader_is_unclear_is_refused(
    world: World, capsys: pytest.CaptureFixture[str], rows: str, line: int, rule: str
) -> None:
    assert world.run(world.write(f"participantId,time\n{rows}"), *TIMES, "--gaps", "add") == 1
    refused = next(each for each in capsys.readouterr().out.splitlines() if f"line {line}: " in each)
    assert rule in refused


def test_gaps_among_ascending_decimals_are_gaps_too(world: World) -> None:
    file = world.write("participantId,score\nann,61.50\nbob,+0.25\n")
    options = ["--create", "--kind", "DECIMAL", "--order", "ASCENDING"]
    assert world.run(file, *options) == 2
    assert world.run(file, *options, "--gaps", "add") == 0
    assert world.scores() == {"ann": (6150,), "bob": (6175,)}


def test_points_and_golf_scores_may_have_a_plus(world: World) -> None:
    file = world.write("participantId,score\nann,-3\nbob,+2\n")
    assert world.run(file, "--create", "--order", "ASCENDING") == 0
    assert world.scores() == {"ann": (-3,), "bob": (2,)}
