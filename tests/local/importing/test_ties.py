"""Ties in files without times keep the file's order, also when the file is imported again."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from core.domain.model import PeriodKind, ScorePolicy, TieBreak
from core.submissions.submit import Submission, submit_score
from tests.support.importing import THEN, World

NAMES = ["zoe", "ann", "mia", "bob", "kim"]


def write_at(world: World, content: str, moment: datetime) -> Path:
    file = world.write(content)
    os.utime(file, (moment.timestamp(), moment.timestamp()))
    return file


@pytest.mark.parametrize("policy", ScorePolicy)
@pytest.mark.parametrize("tie_break", [TieBreak.EARLIEST, TieBreak.LATEST])
def test_ties_keep_the_files_order(world: World, policy: ScorePolicy, tie_break: TieBreak) -> None:
    world.create(policy, tie_break=tie_break)
    file = write_at(world, "participantId,score\n" + "".join(f"{name},7\n" for name in NAMES), THEN)
    # Under LATEST a later row is a later score, and the latest one comes first.
    reversed_order = policy is ScorePolicy.LATEST and tie_break is TieBreak.LATEST
    expected = NAMES[::-1] if reversed_order else NAMES
    assert world.run(file) == 0
    first = world.entries()
    assert list(first) == expected
    assert all(THEN - timedelta(milliseconds=1) < entry.achieved_at <= THEN for entry in first.values())
    for later in (THEN + timedelta(days=1), THEN - timedelta(days=1)):
        os.utime(file, (later.timestamp(), later.timestamp()))  # a copy of the file
        assert world.run(file, "--workers", "1") == 0
        assert world.entries() == first, "an import that is repeated changes nothing"


def test_ties_by_participant_stay_so(world: World) -> None:
    world.create(tie_break=TieBreak.PARTICIPANT)
    assert world.run(world.write("participantId,score\n" + "".join(f"{name},7\n" for name in NAMES))) == 0
    assert list(world.entries()) == sorted(NAMES)


def test_the_last_row_of_a_participant_is_the_latest(world: World) -> None:
    world.create(ScorePolicy.LATEST, tie_break=TieBreak.LATEST)
    assert world.run(world.write("participantId,score\nann,1\nann,9\nann,4\n"), "--workers", "1") == 0
    assert world.scores() == {"ann": (4,)}


def test_no_row_is_later_than_the_file(world: World) -> None:
    """A score that a client submits right afterwards is the latest."""
    board = world.create(ScorePolicy.LATEST)
    file = world.write("participantId,score\n" + "ann,5\nann,7\n" * 500)
    assert world.run(file) == 0
    submit_score(world.db, board, Submission("ann", ["1"]), now=datetime.now(UTC))
    assert world.scores() == {"ann": (1,)}


def test_a_growing_file_has_the_time_of_each_import(world: World) -> None:
    world.create(ScorePolicy.SUM, periods=[PeriodKind.ALL_TIME])
    content = "participantId,score\nann,1\n"
    assert world.run(write_at(world, content, THEN), "--source", "log") == 0
    later = THEN + timedelta(days=40)
    assert world.run(write_at(world, content + "bob,1\n", later), "--source", "log") == 0
    entries = world.entries()
    assert (entries["ann"].achieved_at, entries["bob"].achieved_at) == (THEN, later)
