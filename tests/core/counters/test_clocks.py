"""A writer whose clock is ahead, and a consumer that pauses."""

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
