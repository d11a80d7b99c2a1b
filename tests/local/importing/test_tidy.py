"""Ids in files: one player stays one, however an id is written."""

import pytest

from core.domain.model import ScorePolicy
from core.domain.text import check_id
from local.importing.tidy import Tidy
from tests.support.importing import World

ZOE = "zoë"
WRITTEN = [
    ZOE,
    " zoë",
    "zoë\u00a0",
    "zoe\u0308",
    "\u200bzoë",
    "zo\u00adë",
    "\ufeffzoë ",
    "\u202azoë\u202c",
    "zoë\u3000",
]


def test_one_player_stays_one(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.create(ScorePolicy.SUM)
    rows = "".join(f"{name},1,{name}\n" for name in WRITTEN)
    assert world.run(world.write(f"participantId,score,displayName\n{rows}")) == 0
    assert world.scores() == {ZOE: (len(WRITTEN),)}
    output = capsys.readouterr().out
    assert f"{len(WRITTEN) - 1} ids were tidied" in output
    assert "line 3: ' zoë' became 'zoë'" in output
    assert "line 4: 'zoë\\u00a0' became 'zoë'" in output
    assert "line 5: 'zoe\\u0308' became 'zoë'" in output


@pytest.mark.parametrize(
    "text", ["ann", "Ann B", "שלום", "a\u0301", "\u202b א \u202c", "❤\ufe0f", "👩\u200d🚀", "\u212b"]
)
def test_what_is_tidied_is_an_id(text: str) -> None:
    tidied = Tidy().participant_id(1, text)
    check_id("participantId", tidied)
    assert Tidy().participant_id(1, tidied) == tidied


def test_an_id_of_nothing_visible_is_refused(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.create()
    assert world.run(world.write("participantId,score\n\u00a0\u200b,1\n")) == 1
    assert "line 2: participantId: must not be empty" in capsys.readouterr().out


def test_a_name_of_nothing_visible_is_none_and_others_are_kept(world: World) -> None:
    world.create()
    file = world.write("participantId,score,displayName\nann,1,\u00a0\nbob,2, Zoe\u0308 \n")
    assert world.run(file) == 0
    assert {name: entry.display_name for name, entry in world.entries().items()} == {
        "ann": None,
        "bob": " Zoe\u0308 ",
    }
