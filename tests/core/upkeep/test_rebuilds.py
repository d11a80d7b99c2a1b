"""Rebuilds that overlap, and checks during rebuilds."""

from typing import Any

import pytest

from core.moderation.moderate import remove_entry
from core.ranking.top import Top
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from core.upkeep import checks
from core.upkeep.checks import check
from core.upkeep.rebuilds import rebuild
from tests.support.histories import PARTICIPANTS, Life
from tests.support.interleaving import Process, instant
from tests.support.twin import LONG_AGO


@pytest.fixture
def life(lean: Database, monkeypatch: pytest.MonkeyPatch) -> Life:
    return Life.of_twelve(monkeypatch, lean)


def test_a_rebuild_that_ends_does_not_disturb_one_that_has_just_begun(life: Life) -> None:
    """The first is slow to drop the old tree (or another process has finished the same rebuild)."""
    world = life.world
    reports = []
    consumer = world.add("consumer", life.deliveries.consume)
    first = world.add("first", life.rebuild)

    def again(process: Process) -> None:
        reports.append(rebuild(process.db, life.board, life.standings))

    while life.tree_in_use() == 0 or first.wakes_at <= world.now:
        assert not first.finished
        world.now += 100
        for process in (first, consumer):
            if process.wakes_at <= world.now:
                process.go_on()
    first.wakes_at += 8_000
    second = world.add("second", again)
    world.run([first, second])
    assert [report.drifts for report in reports] == [()]
    assert life.tree_in_use() == 2
    assert life.calm_down() == []


def test_a_check_during_which_a_rebuild_ends_compares_the_new_tree(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tree that it has compared is deleted a little later."""
    comparisons = 0

    def compare_meanwhile(*args: Any) -> checks.CheckReport:
        nonlocal comparisons
        comparisons += 1
        if comparisons == 3:
            now = life.world.now
            rebuilt = life.world.add("rebuilder", life.rebuild)
            life.world.add("consumer", life.deliveries.consume)
            life.world.run([rebuilt])
            life.world.now = now  # it began long before
        if comparisons < 3:  # counts are catching up
            return checks.CheckReport(12, 1, (checks.Drift("tree0: child 63", comparisons, 12),))
        return compare(*args)

    compare = checks._compare
    monkeypatch.setattr(checks, "_compare", compare_meanwhile)
    db, _ = life.world.connect()
    assert check(db, life.board, life.standings).drifts == ()


@pytest.mark.parametrize(("busy", "wrong"), [(True, 0), (False, 1)])
def test_a_top_that_changes_all_the_time_is_not_reported_as_wrong(
    life: Life, monkeypatch: pytest.MonkeyPatch, busy: bool, wrong: int
) -> None:
    """It holds as many entries as it should, but not quite those on the index."""
    changes = 0
    compare = checks._compare

    def change_and_compare(*args: Any) -> checks.CheckReport:
        nonlocal changes
        changes += busy
        top = Top([{"rank_key": {"B": b"%d" % changes}}], whole=True)
        monkeypatch.setattr(checks, "read_top", lambda *_: top)
        return compare(*args)

    monkeypatch.setattr(checks, "_compare", change_and_compare)
    db, _ = life.world.connect()
    report = check(db, life.board, life.standings)
    assert (len(report.drifts), report.pending) == (wrong, 0)


@pytest.mark.parametrize("counted", [False, True])
def test_a_rebuild_under_load_changes_over_only_if_the_stream_is_counted(life: Life, counted: bool) -> None:
    """While writes go on, a count that is far behind is off by another number at each comparison."""
    world = life.world

    def write(writer: Process) -> None:
        for at in range(1000):
            participant = f"{writer.name}-{at}"
            life.participants.add(participant)
            submit_score(writer.db, life.board, Submission(participant, ["60"]), now=instant(world))
            writer.sleep(0.7)

    def again(process: Process) -> None:
        reports.append(rebuild(process.db, life.board, life.standings))

    db, _ = world.connect()
    for at in range(12):
        remove_entry(db, life.board, PARTICIPANTS[at], LONG_AGO)
    life.drain()
    reports: list[checks.CheckReport] = []
    rebuilder = world.add("rebuilder", again)
    world.add("writer", write)
    if counted:
        world.add("consumer", life.deliveries.consume, weight=3)
    world.run([rebuilder])
    assert life.tree_in_use() == counted
    assert bool(reports[0].drifts) is not counted
    assert life.calm_down() == []
