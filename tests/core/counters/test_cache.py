"""Threads of one process share its caches: what one of them does to a cache must not mislead another."""

import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from core.boards import Boards
from core.counters import known_trees, nodes, root
from core.counters.cache import CounterCache, Recent
from core.counters.known_trees import Trees
from core.counters.nodes import TREES_NODE, node_key
from core.domain.model import RankStrategy
from core.domain.periods import ALL_TIME
from core.ranking import strategies
from core.ranking.queries import entry
from core.ranking.ranks import rank_entries
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from core.tree.changes import Change
from core.tree.rungs import make_rungs
from tests.support.deliveries import Records
from tests.support.histories import Life, small_leaves
from tests.support.interleaving import instant
from tests.support.twin import NOW, Twin

Drain = Callable[[], int]
_MAX_READS = 50  # more than any of these takes


def use_tree_1(db: Database, standings: str) -> None:
    """Change the directory as another process does at the end of a rebuild."""
    db.client.put_item(
        TableName=db.tables.counters,
        Item={
            **node_key(standings, TREES_NODE),
            "current": {"N": "1"},
            "born": {"M": {"1": {"N": "0"}}},
            "last": {"N": "1"},
            "revision": {"N": "1"},
        },
    )


@pytest.mark.parametrize("call", ["locate", "steps", "child_range"])
def test_a_tree_that_is_replaced_while_its_nodes_are_read_is_not_read_for_ever(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """On a board of two levels from the start, another thread reads the directory in between."""
    twin = Twin.make(db, boards, expected_size=100_000)
    trees = Trees(db, twin.board, twin.standings)
    assert trees.current() == 0
    use_tree_1(db, twin.standings)
    read = nodes.get_node
    reads: list[str] = []

    def slowly(of: Database, standings: str, name: str, *, consistent: bool = False) -> Any:
        reads.append(name)
        assert len(reads) < _MAX_READS, reads[-6:]
        if len(reads) == 1:
            trees.current()  # another thread
        return read(of, standings, name, consistent=consistent)

    monkeypatch.setattr(known_trees, "get_node", slowly)
    if call == "locate":
        assert trees.locate([b"\x80" * 8])[0] == 1
    elif call == "steps":
        image = {"rank_key": {"B": b"\x80" * 8}, "rank_shard": {"S": f"{twin.standings}#0"}}
        change = Change(1, NOW, twin.standings, "p", None, image)
        assert {tree for tree, _ in trees.steps([change])} <= {1}
    else:
        with pytest.raises(known_trees.TreeReplaced):
            trees.child_range(0, (0x78,), 3)


def test_a_reader_changes_over_to_a_new_tree_that_another_thread_has_cached(
    lean: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_leaves(monkeypatch)
    life = Life.make(monkeypatch, lean, Records(lean), 0, peak_writes_per_second=1)
    db, _ = life.world.connect()
    for at in range(12):
        submit_score(db, life.board, Submission(f"p{at:02}", [str(at)]), now=instant(life.world))
    assert life.calm_down() == []
    own = entry(db, life.board, ALL_TIME, "p03")
    assert own is not None

    def rank() -> tuple[int, int]:
        [found] = rank_entries(db, life.board, ALL_TIME, [own], RankStrategy.TREE)
        assert found is not None
        return found.rank, found.total

    assert rank() == (9, 12)
    rebuilder = life.world.add("rebuilder", life.rebuild)
    life.world.add("consumer", life.deliveries.consume)
    life.world.run([rebuilder])
    assert life.calm_down() == []
    read = nodes.get_nodes

    def meanwhile(*args: Any, **named: Any) -> Any:
        Trees(db, life.board, life.standings).current()  # another thread
        return read(*args, **named)

    monkeypatch.setattr(strategies, "get_nodes", meanwhile)
    assert rank() == (9, 12)


def test_a_cache_that_another_thread_empties_is_filled_again(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = Twin.make(db, boards)
    remember = root.remember_root

    def remember_and_clear(*args: Any) -> None:
        remember(*args)
        db.cache(CounterCache).roots.clear()

    monkeypatch.setattr(root, "remember_root", remember_and_clear)
    assert strategies.entries_at_most(db, twin.board, twin.standings, b"\xff") == 0


def test_an_entry_is_found_to_be_late_though_another_thread_has_emptied_the_cache(
    db: Database, boards: Boards
) -> None:
    """As it happens all the time where a consumer counts more standings than it caches."""
    twin = Twin.make(db, boards)
    use_tree_1(db, twin.standings)
    image = {"rank_key": {"B": b"\x80" * 8}, "rank_shard": {"S": f"{twin.standings}#0"}}
    change = Change(1, NOW, twin.standings, "p", None, {**image, "written_at": {"N": "1"}})
    db.client.update_item(
        TableName=db.tables.counters,
        Key=node_key(twin.standings, TREES_NODE),
        UpdateExpression="SET born.#1 = :born",
        ExpressionAttributeNames={"#1": "1"},
        ExpressionAttributeValues={":born": {"N": "1000"}},
    )
    trees = Trees(db, twin.board, twin.standings)
    trees.steps([change])
    assert trees.late_entries([change]) == [("p", b"\x80" * 8, 1000)]
    trees.steps([change])
    db.cache(CounterCache).trees.clear()
    assert trees.late_entries([change]) == [("p", b"\x80" * 8, 1000)]
    assert Trees(db, twin.board, twin.standings).late_entries([change]) == [("p", b"\x80" * 8, 1000)]


def test_the_cache_of_boards_is_limited(db: Database) -> None:
    boards = Boards(db, cache_seconds=0)
    definition = Twin.make(db, boards).board
    for at in range(3_000):
        boards._remember(replace(definition, id=f"b{at}"))
    assert len(boards._cache) <= 2_001


def test_the_nodes_of_a_replaced_tree_are_dropped(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards)
    trees = Trees(db, twin.board, twin.standings)
    trees.current()
    edges = {"edges": {"B": nodes.pack_edges([b"x"])}, "born": {"N": "7"}}
    node = trees.remember_node(0, (5,), {}, edges=edges)
    assert (node.edges, node.born) == ((b"x",), 7)
    assert trees.remember_node(0, (5,), {}) == node
    assert db.cache(CounterCache).trees_of(twin.standings).nodes == {0: {(5,): node}}
    use_tree_1(db, twin.standings)
    assert trees.current() == 1
    assert not db.cache(CounterCache).trees_of(twin.standings).nodes


def test_what_was_not_used_for_longest_leaves_a_full_cache() -> None:
    recent = Recent[str](100)
    for name in "abc":
        recent.put(name, name.upper(), 30)
    assert recent.get("a") == "A"
    recent.put("d", "D", 30)
    assert [recent.get(name) for name in "abcd"] == ["A", None, "C", "D"]
    recent.put("c", "C2", 60)
    assert [recent.get(name) for name in "acd"] == [None, "C2", "D"]
    recent.put("e", "E", 1_000)  # more than fits, but what was put last stays
    assert [recent.get(name) for name in "cde"] == [None, None, "E"]
    recent.pop("e")
    recent.pop("e")
    recent.put("f", "F", 100)
    recent.put("g", "G", 0)
    assert (recent.get("f"), recent.get("g")) == ("F", "G")


def test_the_memory_of_trees_and_ladders_is_bounded(db: Database, boards: Boards) -> None:
    """What the cache takes them to be is what they are, within a quarter."""
    board = Twin.make(db, boards).board
    limit = 1_000_000
    cache = CounterCache(Recent(limit), Recent(limit))
    db._caches[CounterCache] = cache
    edges = {"edges": {"B": nodes.pack_edges([b"%08d" % at for at in range(120)])}, "born": {"N": "7"}}
    born = {nodes.attribute(nodes.BIRTH, child): {"N": "1770000000000"} for child in range(20)}

    def fill(standings: str) -> None:
        trees = Trees(db, board, standings)
        trees.remember_node(0, (), {})
        for child in range(10):
            trees.remember_node(0, (5, child), born, edges=edges)

    def load(standings: str) -> None:
        leaves = [(b"%08d" % at, 50 + at) for at in range(2_000)]
        cache.put_ladder(standings, make_rungs(leaves, NOW, 0.0))

    for put in (fill, load):
        put("warm up")
        tracemalloc.start()
        try:
            for at in range(60):
                put(f"{board.id}#all-time#g{at}")
            used, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert 0.75 * limit < used < 1.25 * limit, put
