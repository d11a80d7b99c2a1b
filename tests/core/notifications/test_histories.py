"""Rank changes under deaths, redelivery, re-split batches, racing passes and an index that lags.

Every seed is one history, run request by request (tests.support.interleaving). At its end all that is left is
counted and published. Then the last event that each participant received must agree with a plain list.
"""

from typing import Any

import pytest

from core.domain.model import RankBucket
from core.ranking import top
from core.storage.database import Database
from tests.support.audience import Audience, LaggingIndex, PassRunner, places
from tests.support.deliveries import Records
from tests.support.histories import Life, small_leaves

BUCKETS = [
    RankBucket("first", to=1),
    RankBucket("four", to=4),
    RankBucket("half", top_percent=50),
    RankBucket("most", top_percent=80),
    RankBucket("rest"),
]


def live(
    monkeypatch: pytest.MonkeyPatch, lean: Database, records: Records, seed: int, trait: str
) -> list[str]:
    """Run a seed's history; return what is wrong in the end."""
    with monkeypatch.context() as patch:
        life = Life.make(patch, lean, records, seed, rank_buckets=BUCKETS)
        world, chance = life.world, life.world.random
        audience = Audience()
        fails = chance.choice([0.0, 0.0, 0.3])
        runner = PassRunner(
            world, life.board, life.standings, life.deliveries, audience, lambda: chance.random() < fails
        )
        # With a short top, boundaries are found in the tree, and who stands between them on the index.
        patch.setattr(top, "TOP_KEPT", chance.choice([3, 3, top.TOP_KEPT]))
        life.clocks = [0]
        life.pause = chance.choice([0.0, 2.0])
        if trait == "lagging":
            world.hurry = 40  # so that much happens while the index lags
            connect = world.connect

            def lag() -> Any:
                db, boards = connect()
                lagging: Any = LaggingIndex(db.client, world, db.tables.scores)
                return Database(lagging, db.tables, db._caches), boards

            patch.setattr(world, "connect", lag)
        deaths = 0.04 if trait == "dying" else 0.0
        writers = life.start(deaths=deaths)
        for at in range(chance.choice([1, 2])):
            world.add(f"notifier{at}", runner.run, deaths=deaths, weight=chance.choice([0.5, 2]))
        world.run(writers)
        doubled = list(audience.doubled)  # a pass that is cut off here may publish twice
        db, _ = world.connect()
        runner.fails = lambda: False
        for _ in range(3):
            world.now += 6_000
            life.drain()
            runner.scheduled.append((world.now, 0))  # a message that was being worked on comes again
            runner.finish(db)
        truth = places(life.board, [one.key for one in life.entries()])
        wrong = [
            f"{one} is at {place} and received {audience.newest.get(one)}"
            for one, place in truth.items()
            if (last := audience.newest.get(one)) is None or last.bucket != place[1]
        ]
        if trait != "dying" and not fails:
            wrong += [f"doubled: {event}" for event in doubled]
        return wrong


@pytest.mark.parametrize("trait", ["steady", "dying", "lagging"])
@pytest.mark.parametrize(
    "seeds", [range(4), pytest.param(range(100, 200), marks=pytest.mark.thorough)], ids=["some", "more"]
)
def test_the_last_event_of_each_participant_is_true(
    lean: Database, monkeypatch: pytest.MonkeyPatch, trait: str, seeds: range
) -> None:
    records = Records(lean)
    small_leaves(monkeypatch)
    wrong = {seed: found for seed in seeds if (found := live(monkeypatch, lean, records, seed, trait))}
    assert not wrong
