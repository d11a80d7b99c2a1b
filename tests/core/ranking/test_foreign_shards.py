"""A foreign entry in an index shard that its board does not have is read and counted nowhere."""

from collections.abc import Callable

import pytest

from core.boards import Boards
from core.domain.entry_item import entry_key
from core.domain.model import CounterMode
from core.domain.periods import ALL_TIME
from core.storage.database import Database
from core.upkeep.checks import check
from tests.support.twin import Twin

Drain = Callable[[], int]


@pytest.mark.parametrize("shard", ["7", "00", "\u0660"])
@pytest.mark.parametrize("mode", CounterMode)
def test_a_foreign_entry_in_an_unknown_shard_is_counted_nowhere(
    db: Database, boards: Boards, drain: Drain, mode: CounterMode, shard: str
) -> None:
    twin = Twin.make(db, boards, peak_writes_per_second=1, counter_mode=mode)
    twin.submit("p", 5)
    item = db.client.get_item(TableName=db.tables.scores, Key=entry_key(twin.board, ALL_TIME, "p"))["Item"]
    stray = {**item, "participant": {"S": "q"}, "rank_shard": {"S": f"{twin.standings}#{shard}"}}
    db.client.put_item(TableName=db.tables.scores, Item=stray)
    drain()
    assert check(db, twin.board, twin.standings, patience=0).drifts == ()
    twin.oracle.submit("q", (5,), next(iter(twin.oracle.entries.values())).achieved_at)
    twin.submit("q", 6)  # which moves it to its own shard
    drain()
    assert check(db, twin.board, twin.standings, patience=0).drifts == ()
