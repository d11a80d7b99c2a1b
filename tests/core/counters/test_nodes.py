"""A node's guards: those of stream shards that are gone are removed."""

from typing import Any

from core.boards import Boards
from core.counters.guard import GUARD, guard_name, guard_value
from core.counters.nodes import add_steps, counts_of, get_node, node_key
from core.storage.clock import now_ms
from core.storage.database import Database
from core.tree.node import Step
from tests.support.twin import NOW, Twin

DAYS = 2 * 86_400_000


def test_any_number_of_outdated_guards_is_removed_bit_by_bit(db: Database, boards: Boards) -> None:
    """After a few batches, none of which fails: all names together are longer than an expression may be."""
    twin = Twin.make(db, boards)
    old = {guard_name(f"old{at}"): guard_value(at, now_ms() - DAYS) for at in range(350)}
    item: Any = {**node_key(twin.standings, "tree0:"), **old}
    db.client.put_item(TableName=db.tables.counters, Item=item)
    for sequence in range(5):
        add_steps(db, "shard", twin.board, twin.standings, "tree0:", [Step(sequence, 0, 1)], NOW)
    found = get_node(db, twin.standings, "tree0:", consistent=True)
    assert counts_of(found) == {0: 5}
    assert [name for name in found if name.startswith(GUARD)] == [guard_name("shard")]
