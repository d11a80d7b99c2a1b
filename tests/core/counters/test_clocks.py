"""A clock that is ahead, and a consumer that is away for a while."""

import pytest

from core.counters.known_trees import MAX_CLOCK_SKEW
from core.storage.database import Database
from core.stream import process
from core.submissions.submit import Submission, submit_score
from tests.support.histories import Life
from tests.support.interleaving import instant


@pytest.fixture
def life(lean: Database, monkeypatch: pytest.MonkeyPatch) -> Life:
    return Life.of_twelve(monkeypatch, lean)


@pytest.mark.parametrize(
    "away",
    [
        0,
        5_000,
        pytest.param(60_000, marks=pytest.mark.xfail(strict=True, reason="its time has come by then")),
    ],
)
def test_an_entry_from_too_far_ahead_leaves_no_trace_though_its_time_comes_meanwhile(
    life: Life, away: int
) -> None:
    """It was counted as one that tells no time; it goes when its time has come."""
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
    life.world.now += away
    assert life.calm_down() == []
