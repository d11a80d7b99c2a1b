"""A check finds every wrong count; a rebuild makes all of them right, whatever happens meanwhile."""

import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from core.boards import Boards
from core.counters import known_trees, nodes, root, whole_tree
from core.counters.known_trees import Trees
from core.counters.nodes import TREES_NODE, node_key
from core.domain.entry_item import entry_key
from core.domain.keys import rank_shard
from core.domain.model import CounterMode
from core.domain.periods import ALL_TIME
from core.moderation.moderate import remove_entry
from core.ranking.top import TOP_NODE
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from core.tree.node import node_name
from core.tree.shape import static_edges
from core.upkeep import checks, growth, rebuilds
from core.upkeep.checks import check
from core.upkeep.rebuilds import rebuild
from local.stack.stream_reader import StreamReader, connect_streams
from tests.support.deliveries import Records
from tests.support.histories import PARTICIPANTS, Life, small_leaves
from tests.support.interleaving import instant
from tests.support.twin import LONG_AGO, NOW, Twin, submit_to

MODES = list(CounterMode)
SOME_MODES = [MODES[0], *(pytest.param(mode, marks=pytest.mark.thorough) for mode in MODES[1:])]
Start = Callable[..., Life]


@pytest.fixture
def start(lean: Database, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Return a function that makes a board with some entries in a grown tree, in a simulation of its own."""
    records = Records(lean)
    small_leaves(monkeypatch)

    def make(seed: int = 0, entries: int = 12, **definition: Any) -> Life:
        life = Life.make(monkeypatch, lean, records, seed, peak_writes_per_second=1, **definition)
        db, _ = life.world.connect()
        for at in range(entries):
            submission = Submission(PARTICIPANTS[at], [str([1, 1, 2, 60][at % 4])])
            submit_score(db, life.board, submission, now=instant(life.world))
            life.world.now += 10
        assert life.calm_down() == []
        return life

    return make


def rebuilt(life: Life, **traits: Any) -> int:
    """Rebuild the counters; return how many requests that took."""
    rebuilder = life.world.add("rebuilder", life.rebuild, **traits)
    life.world.add("consumer", life.deliveries.consume)
    life.world.run([rebuilder])
    return rebuilder.requests


def trees_stored(life: Life) -> set[str]:
    """Return the numbers of the trees that have items."""
    names: set[str] = set()
    for partition in nodes.partitions(life.board, life.standings):
        for item in nodes.query_nodes(life.world.database, partition, ""):
            name = item["node"]["S"]
            if name.startswith(("tree", "edges")) and name != TREES_NODE:
                names.add(name.partition(":")[0].removeprefix("tree").removeprefix("edges"))
    return names


# What a check finds


@pytest.mark.parametrize("seed", range(5))
def test_a_check_finds_every_wrong_count_and_a_rebuild_corrects_it(start: Start, seed: int) -> None:
    life = start(seed)
    chance = random.Random(seed)
    whole = whole_tree.load_tree(life.world.database, life.board, life.standings, 0)
    expected = {}
    for child, count in chance.sample(whole_tree.children(whole), 4):
        by = chance.choice([-3, -1, 1, 200])
        add(life, node_name(0, child.path), f"c{child.number:02x}", by)
        expected[f"{node_name(0, child.path)} child {child.number}"] = (count + by, count)
    report = check(life.world.database, life.board, life.standings, patience=0)
    assert {drift.where: (drift.counted, drift.entries) for drift in report.drifts} == expected
    assert report.entries == 12
    rebuilt(life)
    assert life.calm_down() == []


def add(life: Life, name: str, attribute: str, by: int) -> None:
    life.world.database.client.update_item(
        TableName=life.world.database.tables.counters,
        Key=node_key(life.standings, name),
        UpdateExpression=f"ADD {attribute} :by",
        ExpressionAttributeValues={":by": {"N": str(by)}},
    )


def test_a_count_beyond_the_children_is_found_and_corrected(start: Start) -> None:
    life = start(entries=3)
    cuts = static_edges(life.board, ()) or ()
    add(life, node_name(0, ()), f"c{len(cuts) + 1:02x}", 7)
    [drift] = check(life.world.database, life.board, life.standings, patience=0).drifts
    assert (drift.where, drift.off) == ("tree0: beyond its children", 7)
    rebuilt(life)
    assert life.calm_down() == []


@pytest.mark.parametrize("how", ["an entry too few", "an entry too many", "no item"])
def test_a_wrong_top_is_found_and_corrected(start: Start, how: str) -> None:
    life = start()
    client, table = life.world.database.client, life.world.database.tables.counters
    key = node_key(life.standings, TOP_NODE)
    item = client.get_item(TableName=table, Key=key)["Item"]
    shown = item["entries"]["L"]
    if how == "no item":
        client.delete_item(TableName=table, Key=key)
    else:
        item["entries"]["L"] = shown[1:] if how == "an entry too few" else [shown[0], *shown]
        client.put_item(TableName=table, Item=item)
    report = check(life.world.database, life.board, life.standings, patience=0)
    assert [drift.where for drift in report.drifts] == [TOP_NODE]
    rebuilt(life)
    assert life.calm_down() == []


def test_a_foreign_item_on_the_index_is_reported_and_a_rebuild_gives_up(start: Start) -> None:
    """The item belongs to other standings but is on the index of these, whose counts cannot include it."""
    life = start()
    client, table = life.world.database.client, life.world.database.tables.scores
    item = client.get_item(TableName=table, Key=entry_key(life.board, ALL_TIME, PARTICIPANTS[0]))["Item"]
    client.put_item(
        TableName=table,
        Item={
            **item,
            "participant": {"S": "foreign"},
            "standings": {"S": "elsewhere#all-time#1"},
            "rank_shard": {"S": rank_shard(life.standings, 0)},
        },
    )
    life.drain()
    found = check(life.world.database, life.board, life.standings, patience=0).drifts
    assert {drift.off for drift in found if drift.where != TOP_NODE} == {-1}
    rebuilt(life)
    life.drain()
    assert life.tree_in_use() == 0  # the new counters were no better
    assert trees_stored(life) == {"0"}
    client.delete_item(
        TableName=table, Key={"participant": {"S": "foreign"}, "standings": {"S": "elsewhere#all-time#1"}}
    )
    assert life.calm_down() == []


@pytest.mark.parametrize("mode", [CounterMode.TRANSACTIONAL, CounterMode.INLINE])
@pytest.mark.parametrize("number", range(6))
def test_a_writer_that_dies_leaves_a_drift_in_mode_inline_at_most(
    start: Start, mode: CounterMode, number: int
) -> None:
    """INLINE counts after the write, so after a death between them only a rebuild corrects the count."""
    life = start(entries=4, counter_mode=mode)
    writer = life.world.add(
        "writer",
        lambda process: submit_score(
            process.db, life.board, Submission("p20", ["77"]), now=instant(life.world)
        ),
        dies_at=(number, "after"),
    )
    life.world.run([writer])
    wrong = life.calm_down()
    if mode is CounterMode.TRANSACTIONAL:
        assert wrong == []
    rebuilt(life)
    assert life.calm_down() == []


def test_the_drift_of_an_inline_writer_that_dies_between_write_and_count_is_found(start: Start) -> None:
    life = start(entries=4, counter_mode=CounterMode.INLINE)
    writer = life.world.add(
        "writer",
        lambda process: submit_score(
            process.db, life.board, Submission("p20", ["77"]), now=instant(life.world)
        ),
    )
    life.world.hold(writer, "update_item", life.world.database.tables.counters)
    life.world.run([])
    life.drain()
    found = check(life.world.database, life.board, life.standings, patience=0).drifts
    assert found
    assert {drift.off for drift in found} == {-1}


@pytest.mark.parametrize(
    ("comparisons", "wrong", "pending"),
    [
        pytest.param([(5, 12)] * 9, -7, 0, id="always off"),
        pytest.param([(5, 12), (9, 12), (11, 12), (11, 12)], -1, 0, id="off in the end"),
        pytest.param([(5, 12), (12, 12), (11, 12)], 0, 0, id="right once"),
        pytest.param([(at, 99) for at in range(30)], 0, 1, id="catching up"),
        pytest.param([(at, 1 + at) for at in range(30)], 0, 0, id="always one behind"),
        pytest.param([(at + 2, 1 + at) for at in range(30)], 1, 0, id="more than there ever were"),
        pytest.param([(at, 12 + at + at % 3) for at in range(30)], 0, 0, id="never the same"),
    ],
)
def test_a_check_compares_until_counts_are_right_or_wrong(
    start: Start,
    monkeypatch: pytest.MonkeyPatch,
    comparisons: list[tuple[int, int]],
    wrong: int,
    pending: int,
) -> None:
    """Each comparison is a count and the number of entries; the last one is repeated."""
    life = start(entries=0)
    left = list(comparisons)

    def compare(*_: Any) -> checks.CheckReport:
        counted, entries = left.pop(0) if len(left) > 1 else left[0]
        drifts = [checks.Drift("here", counted, entries)] if counted != entries else []
        return checks.CheckReport(entries, 1, tuple(drifts))

    monkeypatch.setattr(checks, "_compare", compare)
    report = check(life.world.database, life.board, life.standings, tree=0, patience=3)
    assert [drift.off for drift in report.drifts] == ([wrong] if wrong else [])
    assert report.pending == pending


# Rebuilds under deaths and load


@pytest.mark.parametrize("mode", SOME_MODES)
def test_a_rebuild_that_dies_anywhere_is_resumed_and_ends_exact(start: Start, mode: CounterMode) -> None:
    life = start(counter_mode=mode)
    add(life, node_name(0, ()), "c3f", 5)
    requests = rebuilt(life)
    assert life.calm_down() == []
    assert trees_stored(life) == {"1"}
    step = max(1, requests // (12 if mode is CounterMode.STREAM else 5))
    for number in range(0, requests, step):
        current = life.tree_in_use()
        add(life, node_name(current, ()), "c3f", 5)
        rebuilt(life, dies_at=(number, ("before", "after")[number // step % 2]))
        assert life.calm_down() == [], number
        assert len(trees_stored(life)) == 1


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in (1, 2, 3))])
@pytest.mark.parametrize("mode", [CounterMode.TRANSACTIONAL, CounterMode.INLINE])
def test_two_rebuilds_and_two_writers_end_exact(start: Start, mode: CounterMode, seed: int) -> None:
    """In the modes in which writers count, by what they have cached of the trees."""
    life = start(seed, counter_mode=mode)
    life.pause, life.writes, life.clocks = 4.0, 14, [0, 0, -1_000, 1_000]
    awaited = [
        *life.start(consumers=1),
        *(life.world.add(f"rebuilder{at}", life.rebuild, deaths=0.01) for at in range(2)),
    ]
    life.world.run(awaited)
    assert life.calm_down() == []
    assert len(trees_stored(life)) == 1


def test_a_rebuild_without_a_consumer_gives_up_and_changes_nothing(start: Start) -> None:
    life = start()
    db, _ = life.world.connect()
    report = rebuild(db, life.board, life.standings)
    assert report.drifts
    assert life.tree_in_use() == 0
    life.drain()
    assert trees_stored(life) == {"0"}
    assert life.calm_down() == []
    rebuilt(life)
    assert life.tree_in_use() == 2  # no number is ever given twice
    assert life.calm_down() == []


def test_a_reader_that_has_cached_the_old_tree_finds_the_new_one(start: Start) -> None:
    life = start()
    db, _ = life.world.connect()
    cuts = sorted(entry.key for entry in life.entries())
    trees = Trees(db, life.board, life.standings)
    assert trees.locate(cuts)[0] == 0
    rebuilt(life)
    [item] = nodes.get_nodes(db, life.board, life.standings, [TREES_NODE]).values()
    assert trees.is_replaced(0, item)
    assert not trees.is_replaced(1, item)
    assert not trees.is_replaced(1, {})  # an old read, from before the first rebuild
    number, leaves = trees.locate(cuts)
    assert number == 1
    assert len(leaves) == len(cuts)


@pytest.mark.parametrize("mode", MODES)
def test_a_board_that_is_deleted_and_created_again_has_counters_of_its_own(
    start: Start, mode: CounterMode
) -> None:
    """Whatever is still under way for the old one: stream records, growth, a rebuild."""
    life = start(counter_mode=mode)
    db, boards = life.world.connect()
    old = life.board, life.standings
    for participant in PARTICIPANTS[:3]:
        remove_entry(db, life.board, participant, LONG_AGO)
    rebuilder = life.world.add("rebuilder", lambda process: rebuild(process.db, *old))
    life.world.hold(rebuilder, "update_item", life.world.database.tables.scores)
    db.client.delete_item(TableName=db.tables.boards, Key={"board": {"S": life.board.id}})
    life.board = boards.create(
        replace(life.board, generation=life.board.generation + "x")  # as if created again a moment later
    )
    for at in range(5):
        submit_score(db, life.board, Submission(PARTICIPANTS[at], ["1"]), now=instant(life.world))
    assert life.calm_down() == []
    assert root.read_size(db, life.board, life.standings) == 5
    life.world.run([rebuilder])
    assert life.calm_down() == []


# In real time, on threads


@pytest.fixture
def short_lead(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (known_trees, growth, rebuilds):
        monkeypatch.setattr(module, "ANNOUNCEMENT_LEAD", 600)
        monkeypatch.setattr(module, "CACHE_TTL", 300)
    monkeypatch.setattr(checks, "_PAUSE", 0.1)


@pytest.fixture
def consumed(db: Database, boards: Boards) -> Iterator[None]:
    """Count the stream in a thread of its own."""
    stop = threading.Event()
    reader = StreamReader(db, boards, connect_streams(db))
    thread = threading.Thread(target=reader.run, args=(stop,))
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.mark.usefixtures("short_lead", "consumed")
def test_a_rebuild_while_threads_write_ends_exact(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards)
    for at in range(40):
        submit_to(db, twin.board, f"p{at}", (at,), NOW)
    stop = threading.Event()

    def write(seed: int) -> None:
        chance = random.Random(seed)
        while not stop.wait(0.02):
            submit_to(db, twin.board, f"p{chance.randrange(60)}", (chance.randrange(1000),), NOW)

    writers = [threading.Thread(target=write, args=(seed,)) for seed in range(3)]
    for writer in writers:
        writer.start()
    progress: list[int] = []
    try:
        rebuild(db, twin.board, twin.standings, progress.append)
    finally:
        stop.set()
        for writer in writers:
            writer.join()
    assert progress[-1] >= 40
    assert check(db, twin.board, twin.standings, patience=10).drifts == ()
    assert Trees(db, twin.board, twin.standings).current() == 1


@pytest.mark.usefixtures("consumed")
def test_a_check_waits_for_what_is_still_being_counted(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = Twin.make(db, boards)
    for at in range(30):
        submit_to(db, twin.board, f"p{at}", (at,), NOW)
    assert check(db, twin.board, twin.standings, patience=10).drifts == ()
