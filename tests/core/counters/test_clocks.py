"""Clocks that are ahead, or set back, and a consumer that pauses."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from core.boards import Boards
from core.counters import known_trees
from core.counters.known_trees import MAX_CLOCK_SKEW
from core.counters.whole_tree import load_tree
from core.storage import clock
from core.storage.database import Database
from core.stream import process
from core.submissions.submit import Submission, submit_score
from core.upkeep import growth
from core.upkeep.checks import check
from core.upkeep.growth import grow
from tests.support.histories import Life, small_leaves
from tests.support.interleaving import instant
from tests.support.twin import Twin

Drain = Callable[[], int]


@pytest.fixture
def life(lean: Database, monkeypatch: pytest.MonkeyPatch) -> Life:
    return Life.of_twelve(monkeypatch, lean)


@pytest.mark.parametrize(
    "pause",
    [
        0,
        5_000,
        pytest.param(
            60_000, marks=pytest.mark.xfail(strict=True, reason="it is no longer ahead when it goes")
        ),
    ],
)
def test_an_entry_from_too_far_ahead_is_counted_alike_when_it_comes_and_when_it_goes(
    life: Life, pause: int
) -> None:
    """It is counted as one without `written_at`, even if it is not ahead any more when it goes."""
    ahead = life.world.add(
        "writer",
        lambda writer: submit_score(writer.db, life.board, Submission("p20", ["3"]), now=instant(life.world)),
        skew=MAX_CLOCK_SKEW + 3_000,
    )
    life.world.run([ahead])
    db, boards = life.world.connect()
    for shard in life.deliveries.ready():
        start = life.deliveries.counted.get(shard, 0)
        process(db, boards, shard, life.deliveries.of[shard][start:])
        life.deliveries.counted[shard] = len(life.deliveries.of[shard])
    life.world.now += pause
    assert life.calm_down() == []


class SetBack:
    """Replaces the module `time` for items' times: the time of day can be set back."""

    def __init__(self) -> None:
        self.by = 0.0

    def time(self) -> float:
        return time.time() - self.by

    def __getattr__(self, name: str) -> Any:
        return getattr(time, name)


@pytest.mark.parametrize("learns", [True, False])
def test_a_clock_that_is_set_back_while_a_tree_grows(
    db: Database, boards: Boards, drain: Drain, monkeypatch: pytest.MonkeyPatch, learns: bool
) -> None:
    """Without DynamoDB's time to go by, nodes miss entries for good."""
    small_leaves(monkeypatch)
    for module in (growth, known_trees):
        monkeypatch.setattr(module, "ANNOUNCEMENT_LEAD", 40, raising=False)
        monkeypatch.setattr(module, "CACHE_TTL", 20)
    watch = SetBack()
    monkeypatch.setattr(clock, "time", watch)
    monkeypatch.setattr(clock, "_CLOCK", clock.Clock())
    if not learns:
        monkeypatch.setattr(clock, "learn", lambda *_: None)
    twin = Twin.make(db, boards, peak_writes_per_second=1)
    for number in range(20):
        twin.submit(f"p{number:02}", number)
    drain()
    grow(db, twin.board, twin.standings)
    watch.by = 30
    for number in range(20, 40):
        twin.submit(f"p{number:02}", number % 20)
    for _ in range(20):
        drain()
        grow(db, twin.board, twin.standings)
        time.sleep(0.03)
    drain()
    right = not check(db, twin.board, twin.standings, patience=0).drifts and is_settled(twin)
    assert right is learns


def is_settled(twin: Twin) -> bool:
    """Return whether readers may use every node that has grown, and more than one has."""
    tree = load_tree(twin.db, twin.board, twin.standings, 0)
    nodes = [node for node, _ in tree.values()]
    return len(nodes) > 1 and all(set(node.grown) <= node.settled for node in nodes)
