"""A period that has expired: TTL deletes everything of it, and no other period is disturbed."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.boards import Boards
from core.counters.directory import change_directory
from core.counters.growing_list import growing, mark_growing
from core.domain.keys import standings_key
from core.domain.model import Board, CounterMode, Retention
from core.domain.periods import expires_at, periods_reached
from core.ranking.queries import participant_entries
from core.storage.database import Database, metered
from core.upkeep import rebuilds
from core.upkeep.growth import grow_all
from tests.core.test_machine import Stream
from tests.support.growing import Grower
from tests.support.season import Season
from tests.support.twin import ALL_TIME

NOW = datetime.now(UTC)
Clock = Callable[[datetime], None]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Return a function that sets the time by which periods expire."""

    def set_time(now: datetime) -> None:
        class Clock(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> datetime:  # type: ignore[override]
                return now

        for module in ("core.stream", "core.upkeep.growth", "core.ranking.queries"):
            monkeypatch.setattr(f"{module}.datetime", Clock)

    return set_time


def season(db: Database, boards: Boards, **definition: Any) -> Season:
    made = Season.make(
        db, Boards(db, 0, Retention(daily_days=2)), NOW, id="board", peak_writes_per_second=1, **definition
    )
    for number in range(12):
        made.submit(f"p{number}", number, now=NOW)
    return made


def expire(db: Database, board: Board, period: str, *participants: str) -> None:
    """Delete entries as TTL does; their records come through the stream."""
    for participant in participants:
        db.client.delete_item(
            TableName=db.tables.scores,
            Key={
                "participant": {"S": participant},
                "standings": {"S": standings_key(board.id, period, board.generation)},
            },
        )


@pytest.mark.parametrize(
    "mode",
    [
        CounterMode.STREAM,
        *(pytest.param(mode, marks=pytest.mark.thorough) for mode in CounterMode if mode != "STREAM"),
    ],
)
def test_every_item_of_a_period_expires_with_it_and_none_of_all_time(
    db: Database, boards: Boards, drain: Callable[[], int], monkeypatch: pytest.MonkeyPatch, mode: CounterMode
) -> None:
    """Entries and counters, also of a tree that has grown and of one that is being built."""
    grower = Grower.make(monkeypatch, drain, grow_at=3, inner=4)
    made = season(db, boards, counter_mode=mode)
    made.submit("p3", 30, now=NOW, submission_id="1")
    for period, twin in made.twins.items():
        assert grower.grow(twin) > 1
        twin.check(page_sizes=[5], participants=["p3"])
        change_directory(db, made.board, twin.standings, rebuilds._with_new_tree)
        at = expires_at(made.board, period)
        expected = None if at is None else {"N": str(int(at.timestamp()))}
        tables = (db.tables.scores, db.tables.counters)
        items = [item for table in tables for item in db.client.scan(TableName=table)["Items"]]
        found = [item for item in items if f"#{period}#" in item["standings"]["S"]]
        kinds = {item["node"]["S"].rstrip("0123456789abcdef").rstrip(":") for item in found if "node" in item}
        assert {"tree0", "edges0", "top", "trees"} <= kinds
        assert [item.get("expires_at") for item in found] == [expected] * len(found)


def test_entries_that_expire_with_their_period_change_no_counter_and_no_other_period(
    db: Database, boards: Boards, clock: Clock
) -> None:
    stream = Stream(db, boards)
    made = season(db, boards)
    stream.deliver()
    made.check(page_sizes=[5], participants=["p3"])
    _, day, week, month = periods_reached(made.board, NOW, NOW)
    at = expires_at(made.board, day)
    assert at is not None
    clock(at)
    expire(db, made.board, day, *(f"p{number}" for number in range(0, 12, 2)))
    with metered() as meter:
        stream.deliver()
    assert meter.write_units == 0
    made.check([ALL_TIME, week, month], page_sizes=[5], participants=["p4"])
    periods = {entry.period for entry in participant_entries(db, boards, "p3", 100).items}
    assert periods == {ALL_TIME, week, month}


def test_an_entry_that_is_deleted_before_its_period_expires_is_counted(
    db: Database, boards: Boards, clock: Clock
) -> None:
    """Whoever deletes it: until the period expires, its ranks are right."""
    stream = Stream(db, boards)
    made = season(db, boards)
    day = periods_reached(made.board, NOW, NOW)[1]
    at = expires_at(made.board, day)
    assert at is not None
    clock(at - timedelta(seconds=1))
    expire(db, made.board, day, "p3", "p11")
    for participant in ("p3", "p11"):
        made.twin(day).oracle.remove(participant)
    stream.deliver()
    made.check(page_sizes=[5], participants=["p4"])


def test_a_tree_whose_period_has_expired_grows_no_more(db: Database, boards: Boards, clock: Clock) -> None:
    stream = Stream(db, boards)
    made = season(db, boards)
    stream.deliver()
    day = periods_reached(made.board, NOW, NOW)[1]
    standings = standings_key(made.board.id, day, made.board.generation)
    at = expires_at(made.board, day)
    assert at is not None
    clock(at)
    mark_growing(db, standings)
    assert grow_all(db, boards) == 0
    assert growing(db) == {}
