"""What notifications cost besides counting, in the engine's own capacity units."""

from dataclasses import dataclass
from typing import Any

import pytest

from core.notifications.events import Event
from core.notifications.movers import record_movers
from core.storage.database import metered
from core.stream import process
from core.tree.changes import read_change
from tests.core.notifications.test_notifier import Scenario, make_scenario
from tests.support.twin import NOW, put_entries, submit_to

__all__ = ["make_scenario"]  # the fixture

SHARDS = 4  # of the index
DEEP = 3  # boundaries behind the top of a board of 400: place 100, 10 and 50 percent
LEAF = 0.5 * SHARDS  # read units


@dataclass(frozen=True)
class Spent:
    """Read and write units of recording movers and of the pass, and what it published."""

    recording: tuple[float, float]
    notifying: tuple[float, float]
    events: list[Event]


def start(make_scenario: Any, entries: int) -> Scenario:
    """A board with the default buckets: places 1, 3, 10 and 100, and 1, 10 and 50 percent."""
    scenario: Scenario = make_scenario(rank_buckets=None)
    put_entries(scenario.twin, {f"p{at}": 1000 + 10 * at for at in range(entries)})
    scenario.settle()
    return scenario


def spend(scenario: Scenario, participant: str, score: int) -> Spent | None:
    """Submit a score, count it and notify; None if no pass is due."""
    submit_to(scenario.db, scenario.twin.board, participant, [score], NOW)
    records = scenario.records.new()
    changes = [read_change(record) for record in records]
    with metered() as recording:
        due = record_movers(scenario.db, "shard", scenario.twin.board, scenario.twin.standings, changes)
    process(scenario.db, scenario.boards, "shard", records)
    assert recording.requests <= 2
    if not due:
        assert (recording.read_units, recording.write_units) == (1, 0)
        return None
    with metered() as notifying:
        events = scenario.run_pass()
    return Spent(
        (recording.read_units, recording.write_units), (notifying.read_units, notifying.write_units), events
    )


@pytest.mark.parametrize("entries", [20, 400])
def test_an_update_within_its_bucket_costs_one_read_unit(make_scenario: Any, entries: int) -> None:
    """For each batch and standings, however many updates it has."""
    scenario = start(make_scenario, entries)
    if entries > 100:
        assert spend(scenario, "p50", 1505) is None
    # A change in the top is published, by a pass of four reads with two writes around it.
    spent = spend(scenario, f"p{entries - 6}", 1000 + 10 * (entries - 6) + 1)
    assert spent
    assert spent.recording == (1, 0)
    assert spent.notifying[1] == 2
    assert [type(event).__name__ for event in spent.events] == ["TopChange"]


def test_a_board_that_is_whole_in_its_top_reads_no_index(make_scenario: Any) -> None:
    """Announced, top, pending and movers: 4 units; for each participant 2 to read and 1 to write."""
    scenario = start(make_scenario, 20)
    spent = spend(scenario, "p2", 10_000)
    assert spent
    changes = len(spent.events) - 1
    assert changes >= 3
    assert spent.recording == (1, 1)
    assert spent.notifying[0] <= 4 + 2 * (changes + 1)  # one more stood at a boundary
    # The claim and its end, the movers, the pending list twice, and each participant.
    assert spent.notifying[1] == 5 + changes
    assert scenario.next_pass is None


def test_a_deep_boundary_costs_a_node_and_a_leaf(make_scenario: Any) -> None:
    scenario = start(make_scenario, 400)
    spent = spend(scenario, "p2", 3005)  # from the end to the middle: over the boundary of the better half
    assert spent
    changes = len(spent.events)
    assert changes == 2
    found = 1 + 2 + 2 + 1 + 1 + DEEP * LEAF  # announced, top of 5 KB, tree and root, pending, movers
    crossed = LEAF
    ranks = 2 + 3 * LEAF
    assert spent.notifying[0] <= found + crossed + 2 * changes + ranks
    assert spent.notifying[1] <= 5 + changes
    assert scenario.next_pass  # the index may lag, and is read again
    scenario.now += int(scenario.next_pass.after_seconds * 1000)
    with metered() as again:
        assert scenario.run_pass() == []
    assert again.read_units <= found + crossed + 2 * changes
    assert again.write_units <= 2
    assert scenario.next_pass is None
