"""Items that are foreign, broken or missing stop no other standings."""

from collections.abc import Callable
from typing import Any

import pytest

from core.boards import Boards
from core.counters.cache import CounterCache
from core.counters.growing_list import mark_growing
from core.counters.nodes import node_key
from core.counters.root import read_size
from core.counters.whole_tree import load_tree
from core.storage.database import Database
from core.upkeep.growth import grow_all
from tests.support.growing import Grower
from tests.support.twin import Twin

Drain = Callable[[], int]


@pytest.mark.parametrize("mark", [{}, {"marked_at": {"N": "1"}}], ids=["", "marked"])
@pytest.mark.parametrize("name", ["!", "nonsense", "#a#b", "z#z#z"])
def test_a_mark_that_names_no_standings_stops_no_tree(
    db: Database,
    boards: Boards,
    drain: Drain,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    mark: dict[str, Any],
) -> None:
    Grower.make(monkeypatch, drain, grow_at=3, inner=4)
    twin = Twin.make(db, boards, id="y")
    for at in range(6):
        twin.submit(f"p{at}", 600_000 + at)
    drain()
    db.client.put_item(TableName=db.tables.counters, Item={**node_key("~growing", name), **mark})
    mark_growing(db, twin.standings)
    grow_all(db, boards)
    [(node, _)] = load_tree(db, twin.board, twin.standings, 0).values()
    assert node.grown


def test_a_board_that_cannot_be_read_stops_no_other(db: Database, boards: Boards, drain: Drain) -> None:
    broken, sound = Twin.make(db, boards), Twin.make(db, boards)
    broken.submit("p", 1)
    sound.submit("p", 1)
    db.client.update_item(
        TableName=db.tables.boards,
        Key={"board": {"S": broken.board.id}},
        UpdateExpression="REMOVE #definition",
        ExpressionAttributeNames={"#definition": "definition"},
    )
    drain()
    assert read_size(db, sound.board, sound.standings) == 1


def test_a_node_whose_edges_are_missing_stops_no_other_board(
    db: Database, boards: Boards, drain: Drain, monkeypatch: pytest.MonkeyPatch
) -> None:
    grower = Grower.make(monkeypatch, drain, grow_at=3, inner=4)
    broken, sound = Twin.make(db, boards), Twin.make(db, boards)
    for at in range(6):
        broken.submit(f"p{at}", 600_000 + at)
    assert grower.grow(broken) == 2
    for item in db.client.scan(TableName=db.tables.counters)["Items"]:
        if item["node"]["S"].startswith("edges"):
            db.client.delete_item(
                TableName=db.tables.counters, Key={name: item[name] for name in ("standings", "node")}
            )
    db.cache(CounterCache).trees.clear()
    broken.submit("q", 600_003)
    sound.submit("p", 1)
    drain()
    assert read_size(db, sound.board, sound.standings) == 1
