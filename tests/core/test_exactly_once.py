"""Each record counts once, under deaths, redelivery, re-split batches, races, growth and rebuilds.

Some boards are counted shard by shard of the stream, some by bookkeepers behind a queue.

Every seed is one history, run request by request; see `tests.support.interleaving`. At its end all records
are counted, and then each count of the tree, the size and the top must be what a recount finds.
"""

import itertools
from collections.abc import Callable

import pytest

from core.counters import nodes
from core.counters.ledger import Ledger
from core.ranking import top
from core.storage.database import Database
from tests.support.deliveries import Records
from tests.support.histories import Life, small_leaves

PLAIN = range(14)
GROWING = range(1_000, 1_008)
REBUILT = range(2_000, 2_002)


@pytest.fixture
def run_history(lean: Database, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[str]]:
    """Return a function that runs a seed's history and returns what is wrong in the end."""
    records = Records(lean)
    small_leaves(monkeypatch)

    def run(seed: int) -> list[str]:
        with monkeypatch.context() as patch:
            life = Life.make(patch, lean, records, seed)
            chance = life.world.random
            if seed < GROWING.start:
                awaited = life.start()
            else:
                life.pause, life.writes = 2.0, 12
                life.populate()
                awaited = life.start()
                for at in range(chance.choice([1, 2])):
                    life.world.add(f"grower{at}", life.grow_forever, deaths=0.05)
            if seed >= REBUILT.start:
                awaited.append(life.world.add("rebuilder", life.rebuild, deaths=0.01))
            life.world.run(awaited)
            return life.calm_down()

    return run


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param(GROWING, id="growing"),
        pytest.param(REBUILT, id="rebuilt"),
        pytest.param(range(100, 300), id="more plain", marks=pytest.mark.thorough),
        pytest.param(range(1_100, 1_200), id="more growing", marks=pytest.mark.thorough),
        pytest.param(range(2_100, 2_120), id="more rebuilt", marks=pytest.mark.thorough),
    ],
)
def test_every_count_is_what_a_recount_finds(run_history: Callable[[int], list[str]], seeds: range) -> None:
    wrong = {seed: found for seed in seeds if (found := run_history(seed))}
    assert not wrong


def test_without_guards_records_count_twice(
    run_history: Callable[[int], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seeds do redeliver, and without its guard an item counts a redelivered record again."""
    numbers = itertools.count()
    for module in (nodes, top):
        monkeypatch.setattr(module, "guard_name", lambda _shard: f"seq_{next(numbers)}")
    assert any(run_history(seed) for seed in [*PLAIN[:5], *GROWING[:5]])


def test_without_the_ledger_records_that_are_bundled_again_count_twice(
    run_history: Callable[[int], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seeds do bundle records again, and bookkeepers do die and race."""
    monkeypatch.setattr(Ledger, "counted", lambda _ledger, _shard: -1)
    assert any(run_history(seed) for seed in PLAIN)
