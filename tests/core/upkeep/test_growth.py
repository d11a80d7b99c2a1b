"""A leaf that fills up grows, whatever is written, dies or is late meanwhile, and whatever clocks show."""

from collections.abc import Callable
from typing import Any

import pytest

from core.counters import growing_list
from core.counters.growing_list import growing, mark_growing
from core.counters.known_trees import ANNOUNCEMENT_LEAD, CACHE_TTL, MAX_CLOCK_SKEW
from core.counters.nodes import node_key
from core.domain.entry_item import entry_key
from core.domain.keys import rank_shard, shard_of
from core.domain.model import CounterMode, ScorePolicy
from core.domain.periods import ALL_TIME
from core.moderation.moderate import remove_entry
from core.storage import rank_index
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from core.upkeep import growth
from core.upkeep.checks import check
from core.upkeep.growth import grow, grow_all
from tests.support.deliveries import Records
from tests.support.histories import PARTICIPANTS, Life, small_leaves
from tests.support.interleaving import Process, instant
from tests.support.twin import LONG_AGO

MODES = list(CounterMode)
SOME_MODES = [MODES[0], *(pytest.param(mode, marks=pytest.mark.thorough) for mode in MODES[1:])]
FATES = ("before", "after")
Start = Callable[..., Life]


@pytest.fixture
def start(lean: Database, monkeypatch: pytest.MonkeyPatch) -> Start:
    """Return a function that makes a board whose leaves grow early, in a simulation of its own."""
    records = Records(lean)
    small_leaves(monkeypatch)

    def make(seed: int = 0, **definition: Any) -> Life:
        return Life.make(monkeypatch, lean, records, seed, peak_writes_per_second=1, **definition)

    return make


def fill(life: Life, count: int = 5, score: str = "1") -> None:
    """Fill up one leaf, and count the stream."""
    db, _ = life.world.connect()
    for at in range(count):
        submit_score(db, life.board, Submission(PARTICIPANTS[at], [score]), now=instant(life.world))
        life.world.now += 10
    life.drain()


def grow_fully(life: Life, steps: int = 40) -> None:
    """Grow the tree until no step is left."""
    db, _ = life.world.connect()
    for _ in range(steps):
        if not grow(db, life.board, life.standings):
            return
        life.world.now += ANNOUNCEMENT_LEAD
        life.drain()
    raise AssertionError("the tree does not stop growing")


# Deaths and races


@pytest.mark.parametrize("fates", [FATES, pytest.param(FATES[::-1], marks=pytest.mark.thorough)])
@pytest.mark.parametrize("mode", SOME_MODES)
def test_a_leaf_grows_and_settles_though_a_process_dies(
    start: Start, mode: CounterMode, fates: tuple[str, str]
) -> None:
    """At any of its requests, before or after it takes effect; another process goes on."""
    requests = die_at(start(counter_mode=mode), None)
    assert requests > 20
    for number in range(requests):
        die_at(start(counter_mode=mode), (number, fates[number % 2]))


def die_at(life: Life, dies_at: tuple[int, str] | None) -> int:
    """Grow a full leaf, dying once; return how many requests that took."""
    fill(life)
    grower = life.world.add("grower", life.grow_fully, dies_at=dies_at)
    life.world.add("consumer", life.deliveries.consume)
    life.world.run([grower])
    assert life.recount().unsettled == 0, dies_at
    assert life.calm_down() == [], dies_at
    assert life.recount().depth > 1
    return grower.requests


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 6))]
)
@pytest.mark.parametrize("mode", [CounterMode.TRANSACTIONAL, CounterMode.INLINE])
def test_two_processes_that_grow_a_tree_and_two_writers_agree(
    start: Start, mode: CounterMode, seed: int
) -> None:
    """In the modes in which writers count; `test_exactly_once` has STREAM."""
    life = start(seed, counter_mode=mode, policy=list(ScorePolicy)[seed % 3])
    fill(life, 8)
    life.pause, life.writes, life.clocks = 1.5, 14, [0, 0, -1_000, 1_000]
    awaited = life.start(consumers=1)
    for at in range(2):
        life.world.add(f"grower{at}", life.grow_forever, deaths=0.05)
    life.world.run(awaited)
    assert life.calm_down() == []
    assert life.recount().depth > 1


def test_a_tree_that_cannot_grow_stops_no_other(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    broken, sound = start(), start()
    read = rank_index.read_keys

    def fail(db: Database, board: Any, *arguments: Any) -> Any:
        if board == broken.board:
            raise RuntimeError
        return read(db, board, *arguments)

    monkeypatch.setattr(growth, "read_keys", fail)
    for life in (broken, sound):
        fill(life)
    db, boards = sound.world.connect()
    assert grow_all(db, boards) == 2
    sound.world.now += ANNOUNCEMENT_LEAD + CACHE_TTL
    for _ in range(9):
        grow_all(db, boards)
        sound.drain()
        sound.world.now += ANNOUNCEMENT_LEAD
    assert sound.recount().depth == 2
    assert grow_all(db, boards) == 1


def test_the_mark_of_a_deleted_board_is_removed(start: Start) -> None:
    life = start()
    fill(life)
    db, boards = life.world.connect()
    db.client.delete_item(TableName=db.tables.boards, Key={"board": {"S": life.board.id}})
    assert grow_all(db, boards) == 0
    assert not growing(db)


def test_marks_of_no_standings_stop_no_other(start: Start) -> None:
    life = start()
    fill(life)
    db, boards = life.world.connect()
    mark_growing(db, life.standings)
    for name in ("gone#all-time#0", "what"):
        db.client.put_item(TableName=db.tables.counters, Item=node_key(growing_list._GROWING, name))
    assert grow_all(db, boards) == 2
    assert sorted(growing(db)) == [life.standings, "what"]


def test_standings_that_are_marked_while_their_tree_grows_stay_marked(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = start()
    fill(life, 2)
    db, boards = life.world.connect()
    mark_growing(db, life.standings)

    def mark_again(*_: Any) -> bool:
        life.world.now += 1
        mark_growing(db, life.standings)
        return False

    with monkeypatch.context() as patch:
        patch.setattr(growth, "grow", mark_again)
        grow_all(db, boards)
    assert list(growing(db)) == [life.standings]
    grow_all(db, boards)
    assert not growing(db)


# Clocks


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", ["new", "moved"])
def test_an_entry_from_a_slow_clock_is_counted_in_a_settled_node(
    start: Start, mode: CounterMode, kind: str
) -> None:
    """As if a writer had taken the time long before its request arrived."""
    life = start(counter_mode=mode, policy=ScorePolicy.LATEST)
    fill(life)
    grow_fully(life)
    participant = "late" if kind == "new" else PARTICIPANTS[1]
    slow = life.world.add("slow", lambda process: submit_late(life, process, participant), skew=-3_600_000)
    life.world.run([slow])
    life.participants.add(participant)
    assert life.calm_down() == []


def submit_late(life: Life, process: Process, participant: str) -> None:
    submission = Submission(participant, ["1"], achieved_at=instant(life.world))
    submit_score(process.db, life.board, submission, now=instant(life.world))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("late_by", [0, 4_000, 9_000, 60_000])
def test_a_write_that_is_delayed_while_a_node_settles_is_counted_in_it(
    start: Start, mode: CounterMode, late_by: int
) -> None:
    """It was sent before the node was announced, and arrives after its birth, its rewrite, or later."""
    life = start(counter_mode=mode)
    fill(life)
    writer = life.world.add("writer", lambda process: submit_late(life, process, "late"))
    operation = "transact_write_items" if mode is CounterMode.TRANSACTIONAL else "update_item"
    life.world.hold(writer, operation, life.world.database.tables.scores)
    db, _ = life.world.connect()
    grow(db, life.board, life.standings)
    life.world.now += ANNOUNCEMENT_LEAD
    comes_at = life.world.now + late_by
    while life.world.now < comes_at:
        grow(db, life.board, life.standings)
        life.drain()
        life.world.now += 1_500
    life.world.run([writer])
    life.participants.add("late")
    assert life.calm_down() == []


@pytest.mark.parametrize(
    ("claimed", "waits"),
    [
        pytest.param(3_000, True, id="three seconds ahead"),
        pytest.param(MAX_CLOCK_SKEW - 100, True, id="almost too far ahead"),
        pytest.param(MAX_CLOCK_SKEW + 2_000, False, id="too far ahead"),
        pytest.param(3_600_000, False, id="an hour ahead"),
        pytest.param(10**14, False, id="in microseconds"),
        pytest.param("9.9E+125", False, id="in no unit"),
        pytest.param(-5, False, id="before 1970"),
        pytest.param("1.5", False, id="a fraction"),
        pytest.param(0.25, False, id="now and a fraction"),
        pytest.param(None, False, id="absent"),
        pytest.param({"S": "noon"}, False, id="a text"),
    ],
)
@pytest.mark.parametrize("grown", [False, True])
def test_an_entry_with_any_written_at_is_counted_soon_and_uncounted_once_removed(
    start: Start, claimed: Any, waits: bool, grown: bool
) -> None:
    life = start()
    fill(life)
    if grown:
        grow_fully(life)
    put(life, "foreign", claimed)
    before = life.world.now
    life.drain()
    assert life.world.now - before <= (MAX_CLOCK_SKEW if waits else 0)
    life.participants.add("foreign")
    assert life.recount().wrong == []
    db, _ = life.world.connect()
    remove_entry(db, life.board, "foreign", LONG_AGO)
    life.drain()
    assert life.calm_down() == []


def put(life: Life, participant: str, claimed: Any) -> None:
    """Put an entry whose `written_at` is so many milliseconds from now, or what else is claimed."""
    db, _ = life.world.connect()
    key = entry_key(life.board, ALL_TIME, PARTICIPANTS[0])
    item = db.client.get_item(TableName=db.tables.scores, Key=key)["Item"]
    length = len(PARTICIPANTS[0].encode())
    item["participant"] = {"S": participant}
    item["rank_key"] = {"B": item["rank_key"]["B"][:-length] + participant.encode()}
    item["rank_shard"] = {"S": rank_shard(life.standings, shard_of(life.board, participant))}
    del item["written_at"]
    if isinstance(claimed, int | float):
        item["written_at"] = {"N": str(life.world.now + claimed if claimed > 0 else claimed)}
    elif claimed is not None:
        item["written_at"] = claimed if isinstance(claimed, dict) else {"N": claimed}  # type: ignore[assignment]
    db.client.put_item(TableName=db.tables.scores, Item=item)


def test_a_leaf_full_of_entries_without_written_at_grows(start: Start) -> None:
    """As after an import by other tools."""
    life = start()
    fill(life, 1)
    for participant in PARTICIPANTS[1:9]:
        put(life, participant, None)
    life.drain()
    grow_fully(life)
    assert life.calm_down() == []
    assert life.recount().depth > 1


@pytest.mark.parametrize("mode", MODES)
def test_a_node_that_is_announced_too_late_never_settles(start: Start, mode: CounterMode) -> None:
    """Its announcement is delayed past its birth, which the tree assumes never to happen."""
    life = start(counter_mode=mode)
    fill(life)
    caching, boards = life.world.connect()  # a process that has cached the tree
    grower = life.world.add("grower", life.grow_fully)
    life.world.hold(grower, "transact_write_items", "edges")
    life.world.now += ANNOUNCEMENT_LEAD + 500
    submit_score(caching, life.board, Submission("early", ["1"]), now=instant(life.world))
    life.deliveries.drain(caching, boards)
    grower.go_on()
    db, _ = life.world.connect()
    remove_entry(db, life.board, "early", LONG_AGO)
    for _ in range(20):
        life.drain()
        grow(db, life.board, life.standings)
        life.world.now += ANNOUNCEMENT_LEAD
    assert life.recount().unsettled == 1
    assert check(db, life.board, life.standings, patience=0).drifts == ()
    grower.go_on("over")
