"""What rank changes cost besides counting, in the engine's own capacity units."""

from dataclasses import dataclass
from typing import Any

import pytest

from core.notifications.events import Event
from core.notifications.movers import record_movers
from core.storage.database import metered
from core.stream import process
from core.tree.changes import read_change
from tests.core.notifications.test_notifier import Theatre, put_entries, stage
from tests.support.twin import NOW, submit_to

__all__ = ["stage"]  # the fixture

SHARDS = 4  # of the index
DEEP = 3  # edges behind the top of a board of 400: place 100, 10 and 50 percent
LEAF = 0.5 * SHARDS  # read units


@dataclass(frozen=True)
class Spent:
    """Read and write units of the consumer's part and of the tick, and what was told."""

    noted: tuple[float, float]
    ticked: tuple[float, float]
    told: list[Event]


def start(stage: Any, entries: int) -> Theatre:
    """A board with the default buckets: places 1, 3, 10 and 100, and 1, 10 and 50 percent."""
    theatre: Theatre = stage(rank_buckets=None)
    put_entries(theatre, {f"p{at}": 1000 + 10 * at for at in range(entries)})
    theatre.play()
    return theatre


def spend(theatre: Theatre, participant: str, score: int) -> Spent | None:
    """Submit a score, and count it; None where no tick is due."""
    submit_to(theatre.db, theatre.twin.board, participant, [score], NOW)
    records = theatre.records.new()
    changes = [read_change(record) for record in records]
    with metered() as noted:
        due = record_movers(theatre.db, "shard", theatre.twin.board, theatre.twin.standings, changes)
    process(theatre.db, theatre.boards, "shard", records)
    assert noted.requests <= 2
    if not due:
        assert (noted.read_units, noted.write_units) == (1, 0)
        return None
    with metered() as ticked:
        told = theatre.tick()
    return Spent((noted.read_units, noted.write_units), (ticked.read_units, ticked.write_units), told)


@pytest.mark.parametrize("entries", [20, 400])
def test_an_update_within_its_bucket_costs_one_read_unit(stage: Any, entries: int) -> None:
    """For each batch and order, however many updates there are in it."""
    theatre = start(stage, entries)
    if entries > 100:
        assert spend(theatre, "p50", 1505) is None
    # What the top shows is told, in a tick of four reads and the two writes around it.
    spent = spend(theatre, f"p{entries - 6}", 1000 + 10 * (entries - 6) + 1)
    assert spent
    assert spent.noted == (1, 0)
    assert spent.ticked[1] == 2
    assert [type(event).__name__ for event in spent.told] == ["TopChange"]


def test_a_board_that_is_whole_in_its_top_reads_no_index(stage: Any) -> None:
    """What was told, the top, who waits and the marks: 4 units; for each participant 2, and 1 to write."""
    theatre = start(stage, 20)
    spent = spend(theatre, "p2", 10_000)
    assert spent
    changes = len(spent.told) - 1
    assert changes >= 3
    assert spent.noted == (1, 1)
    assert spent.ticked[0] <= 4 + 2 * (changes + 1)  # one more stood at an edge
    # Taking the order and giving it back, the marks, who waits (twice), and each participant.
    assert spent.ticked[1] == 5 + changes
    assert theatre.again is None


def test_a_deep_edge_costs_a_node_and_a_leaf(stage: Any) -> None:
    theatre = start(stage, 400)
    spent = spend(theatre, "p2", 3005)  # from the end to the middle: over the edge of the better half
    assert spent
    changes = len(spent.told)
    assert changes == 2
    edges = 1 + 2 + 2 + 1 + 1 + DEEP * LEAF  # told, top of 5 KB, tree and root, who waits, marks
    swept = LEAF
    ranks = 2 + 3 * LEAF
    assert spent.ticked[0] <= edges + swept + 2 * changes + ranks
    assert spent.ticked[1] <= 5 + changes
    assert theatre.again  # looks once more, as the index may lag
    theatre.now += int(theatre.again.after * 1000)
    with metered() as again:
        assert theatre.tick() == []
    assert again.read_units <= edges + swept + 2 * changes
    assert again.write_units <= 2
    assert theatre.again is None
