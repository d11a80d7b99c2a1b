"""Rebuilds one after the other, and checks beside them."""

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


def test_a_rebuild_that_ends_leaves_alone_one_that_has_just_begun(life: Life) -> None:
    """The first is slow to drop the old tree (or shared its new one with another that was faster)."""
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


def test_a_check_that_sees_a_rebuild_end_looks_at_the_new_tree(
    life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it has looked at is dropped a little later, and then says nothing of the entries."""
    looks = 0

    def look(*of: Any) -> checks.CheckReport:
        nonlocal looks
        looks += 1
        if looks == 3:
            now = life.world.now
            rebuilt = life.world.add("rebuilder", life.rebuild)
            life.world.add("consumer", life.deliveries.consume)
            life.world.run([rebuilt])
            life.world.now = now  # it had begun long before
        if looks < 3:  # something is under way
            return checks.CheckReport(12, 1, (checks.Drift("tree0: child 63", looks, 12),))
        return compare(*of)

    compare = checks._compare
    monkeypatch.setattr(checks, "_compare", look)
    db, _ = life.world.connect()
    assert check(db, life.board, life.standings).drifts == ()


@pytest.mark.parametrize(("busy", "wrong"), [(True, 0), (False, 1)])
def test_a_top_that_changes_all_the_time_is_not_called_wrong(
    life: Life, monkeypatch: pytest.MonkeyPatch, busy: bool, wrong: int
) -> None:
    """It always shows as many as it should, and never quite the ones that the index does."""
    looks = 0
    compare = checks._compare

    def look(*of: Any) -> checks.CheckReport:
        nonlocal looks
        looks += busy
        monkeypatch.setattr(checks, "read_top", lambda *_: Top(shown(looks), whole=True))
        return compare(*of)

    monkeypatch.setattr(checks, "_compare", look)
    db, _ = life.world.connect()
    report = check(db, life.board, life.standings)
    assert (len(report.drifts), report.pending) == (wrong, 0)


def shown(at: int) -> list[dict[str, Any]]:
    return [{"rank_key": {"B": b"%d" % at}}]


@pytest.mark.parametrize("counted", [False, True])
def test_a_rebuild_under_load_uses_no_counters_that_nobody_counts(life: Life, counted: bool) -> None:
    """Where writes never rest, a count that is far behind is off by another number at each look."""
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
