"""Counter modes: when the counters follow, what that costs, and that nothing is lost or counted twice."""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from core.boards import Boards
from core.counters import known_trees
from core.domain.errors import Throttled
from core.domain.model import CounterMode, RankStrategy, ScorePolicy
from core.moderation.moderate import remove_entry
from core.ranking.queries import entry, size
from core.storage import faults
from core.storage.clock import now_ms
from core.storage.connections import Answer
from core.storage.database import Database, metered
from core.upkeep import checks, growth, rebuilds
from core.upkeep.checks import check
from core.upkeep.entry_rewrites import rewrite
from core.upkeep.growth import grow
from core.upkeep.rebuilds import rebuild
from tests.support.growing import Grower
from tests.support.twin import ALL_TIME, LONG_AGO, NOW, Twin, standing_of, submit_to
from tests.support.wire import Request, cancelled, intercept, lose_answers, refused

Drain = Callable[[], int]
STREAM, TRANSACTIONAL, INLINE = (CounterMode.STREAM, CounterMode.TRANSACTIONAL, CounterMode.INLINE)
AT_ONCE = pytest.mark.parametrize("mode", [TRANSACTIONAL, INLINE])
PARTICIPANTS = [f"p{number:02}" for number in range(24)]


def check_at_once(twin: Twin) -> None:
    """Compare the counters with the oracle before the stream is counted."""
    assert size(twin.db, twin.board, ALL_TIME) == twin.oracle.size()
    twin.check_ranks(twin.check_subset(list(twin.oracle.entries)), RankStrategy.TREE)


def drifts(twin: Twin) -> list[str]:
    """Return what a recount of the entries finds wrong; the top follows the stream in every mode."""
    report = check(twin.db, twin.board, twin.standings, patience=0)
    assert report.counts > 0
    return [drift.where for drift in report.drifts if drift.where != "top"]


def live(twin: Twin, rng: random.Random, steps: int) -> Iterator[None]:
    """Submit and remove at random, a step at a time."""
    for at in range(steps):
        participant = rng.choice(PARTICIPANTS)
        if rng.random() < 0.15:
            twin.remove(participant)
        else:
            twin.submit(participant, rng.choice([-7, 0, 1, 2, 2**20 + rng.randint(0, 99)]), at=at)
        yield


# The same answers


@AT_ONCE
@pytest.mark.parametrize("policy", ScorePolicy)
def test_counters_are_right_after_each_write(
    db: Database, boards: Boards, drain: Drain, mode: CounterMode, policy: ScorePolicy
) -> None:
    twin = Twin.make(db, boards, counter_mode=mode, policy=policy, peak_writes_per_second=40)
    for _ in live(twin, random.Random(f"{mode} {policy}"), 30):
        check_at_once(twin)
    assert not drifts(twin)
    drain()
    check_at_once(twin)  # the stream is not counted
    twin.check_strategies(page_sizes=(5,), participants=PARTICIPANTS[:2])


@pytest.mark.parametrize("mode", CounterMode)
@pytest.mark.parametrize("policy", ScorePolicy)
def test_the_mode_changes_nothing_while_trees_grow(
    db: Database,
    boards: Boards,
    drain: Drain,
    monkeypatch: pytest.MonkeyPatch,
    mode: CounterMode,
    policy: ScorePolicy,
) -> None:
    grower = Grower.make(monkeypatch, drain, grow_at=3, inner=4)
    twin = Twin.make(db, boards, counter_mode=mode, policy=policy, peak_writes_per_second=100)
    for number, _ in enumerate(live(twin, random.Random(policy), 45)):
        if number % 8 == 7:
            drain()
            grow(db, twin.board, twin.standings)
            grower.clock.advance(known_trees.ANNOUNCEMENT_LEAD // 2)
            drain()
            check_at_once(twin)
    assert grower.grow(twin) >= 2
    twin.check_strategies(page_sizes=(5,), participants=PARTICIPANTS[:2])
    assert not drifts(twin)


# What it costs


@pytest.mark.parametrize("policy", ScorePolicy)
def test_an_update_within_a_leaf_costs_no_counter_write(
    db: Database, boards: Boards, policy: ScorePolicy
) -> None:
    """Scores above 2^20 and up to 2^21 share a leaf."""
    spent: dict[CounterMode, list[float]] = {}
    for mode in CounterMode:
        twin = Twin.make(db, boards, counter_mode=mode, policy=policy)
        twin.submit("p", 2**20 + 1)
        spent[mode] = []
        for score in (2**20 - 1, 2**22) if policy is ScorePolicy.SUM else (2**21, 2**22):
            with metered() as meter:
                twin.submit("p", score, at=1)
            spent[mode].append(meter.write_units)
    within, across = spent[STREAM]
    assert within == across == 3  # the entry, and its place on the index left and taken
    assert spent[TRANSACTIONAL] == [within, across + 1 + 2]  # the entry's own unit twice, as the node's
    assert spent[INLINE] == [within, across + 1]


# Many at once


@AT_ONCE
@pytest.mark.parametrize("peak", [40, 1000], ids=["1 counter shard", "many counter shards"])
def test_many_threads_on_one_hot_board_end_exact(
    db: Database, boards: Boards, drain: Drain, mode: CounterMode, peak: int
) -> None:
    twin = Twin.make(db, boards, counter_mode=mode, policy=ScorePolicy.LATEST, peak_writes_per_second=peak)

    def act(number: int) -> Any:
        participant = PARTICIPANTS[number * 7 % 24]
        if number % 9 == 0:
            return remove_entry(db, twin.board, participant, LONG_AGO)
        return submit_to(db, twin.board, participant, (2 ** (number % 13),), NOW + timedelta(seconds=number))

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(act, range(400)))
    # Who is left depends on the order. The counters must agree with that.
    for participant in PARTICIPANTS:
        if left := entry(db, twin.board, ALL_TIME, participant):
            twin.oracle.entries[participant] = standing_of(left)
    check_at_once(twin)
    assert not drifts(twin)


# What AWS does and the local engine does not: conflicts and lost answers


def test_cancelled_transactions_are_tried_again_and_count_once(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = Twin.make(db, boards, counter_mode=TRANSACTIONAL, policy=ScorePolicy.SUM)
    rng = random.Random(3)
    refusals = 0

    def conflict(operation: str, body: Request) -> Any:
        nonlocal refusals
        if operation != "TransactWriteItems" or rng.random() < 0.4:
            return None
        refusals += 1
        at_fault = rng.randrange(len(body["TransactItems"]))  # the entry or a node
        reasons = ["None"] * len(body["TransactItems"])
        reasons[at_fault] = rng.choice(["TransactionConflict", "ThrottlingError"])
        return cancelled(*reasons)

    intercept(monkeypatch, db, conflict)
    for _ in live(twin, random.Random(4), 30):
        check_at_once(twin)
    assert refusals > 15
    assert not drifts(twin)


def test_a_write_waits_for_a_transaction_on_its_entry(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain write then fails with an error of its own, which the SDK does not retry by itself."""
    twin = Twin.make(db, boards, counter_mode=TRANSACTIONAL)
    twin.submit("p", 2**20 + 1)
    refusals = [refused("TransactionConflictException") for _ in range(3)]
    intercept(
        monkeypatch,
        db,
        lambda operation, _: refusals.pop() if operation == "UpdateItem" and refusals else None,
    )
    twin.submit("p", 2**20 + 2)
    assert not refusals
    check_at_once(twin)


@pytest.mark.parametrize("write", ["UpdateItem", "TransactWriteItems"])
def test_a_conflict_that_does_not_end_stores_nothing(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch, write: str
) -> None:
    monkeypatch.setattr(faults, "_CONFLICT_ATTEMPTS", 4)
    twin = Twin.make(db, boards, counter_mode=TRANSACTIONAL)
    twin.submit("p", 2**20 + 1)

    def refusal() -> Answer:
        if write == "UpdateItem":
            return refused("TransactionConflictException")
        return cancelled("None", "TransactionConflict")

    with monkeypatch.context() as patch:
        intercept(patch, db, lambda operation, _: refusal() if operation == write else None)
        with pytest.raises(Throttled):
            submit_to(db, twin.board, "p", (2**20 + 2 if write == "UpdateItem" else 2**30,), NOW)
    check_at_once(twin)
    assert not drifts(twin)


def test_a_transaction_that_is_invalid_is_not_retried(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = Twin.make(db, boards, counter_mode=TRANSACTIONAL)
    tries = []

    def refuse(operation: str, _: Request) -> Any:
        if operation != "TransactWriteItems":
            return None
        tries.append(operation)
        return cancelled("None", "ValidationError")

    intercept(monkeypatch, db, refuse)
    with pytest.raises(db.client.exceptions.TransactionCanceledException):
        submit_to(db, twin.board, "p", (1,), NOW)
    assert len(tries) == 1


@pytest.mark.parametrize("score", [2**30, None], ids=["submitting", "removing"])
@pytest.mark.parametrize("meanwhile", ["submit", "remove", "touch"])
def test_an_entry_that_changed_since_it_was_read_is_read_again(
    db: Database,
    boards: Boards,
    drain: Drain,
    monkeypatch: pytest.MonkeyPatch,
    score: int | None,
    meanwhile: str,
) -> None:
    """A transaction counts from the entry as it was read; a node born since then, once it is rewritten."""
    grower = Grower.make(monkeypatch, drain, grow_at=3, inner=4)
    twin = Twin.make(
        db, boards, counter_mode=TRANSACTIONAL, policy=ScorePolicy.LATEST, peak_writes_per_second=40
    )
    for number in range(9):
        twin.submit("p" if number == 4 else f"q{number}", 2**20 + number)
    drain()
    grow(db, twin.board, twin.standings)  # announces a node
    grower.clock.advance(known_trees.ANNOUNCEMENT_LEAD + known_trees.CACHE_TTL)
    found = entry(db, twin.board, ALL_TIME, "p")
    assert found is not None
    others: dict[str, Callable[[], object]] = {
        "submit": lambda: submit_to(db, twin.board, "p", (2**10,), NOW),
        "remove": lambda: remove_entry(db, twin.board, "p", LONG_AGO),
        "touch": lambda: rewrite(
            db, twin.board, twin.standings, found.rank_key, found.rank_key + b"\0", now_ms()
        ),
    }
    waiting = [others[meanwhile]]

    def another_is_faster(operation: str, _: Request) -> None:
        if operation == "TransactWriteItems" and waiting:
            waiting.pop()()

    intercept(monkeypatch, db, another_is_faster)
    change(twin, score)
    assert not waiting
    twin.oracle.remove("p")
    if left := entry(db, twin.board, ALL_TIME, "p"):
        twin.oracle.entries["p"] = standing_of(left)
    assert (left.score if left else None) == (score and (score,))
    grower.grow(twin)
    check_at_once(twin)
    assert not drifts(twin)


def test_a_tree_grows_while_its_nodes_are_written_to(
    db: Database, boards: Boards, drain: Drain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transaction that reads nodes to compare them then fails."""
    grower = Grower.make(monkeypatch, drain, grow_at=3, inner=4)
    twin = Twin.make(db, boards, counter_mode=TRANSACTIONAL, peak_writes_per_second=40)
    for number in range(9):
        twin.submit(f"p{number}", 2**20 + number)
    refusals = [cancelled("TransactionConflict", "None") for _ in range(3)]
    intercept(
        monkeypatch,
        db,
        lambda operation, _: refusals.pop() if operation == "TransactGetItems" and refusals else None,
    )
    assert grower.grow(twin) == 2
    assert not refusals
    check_at_once(twin)


@pytest.mark.parametrize("policy", ScorePolicy)
def test_a_transaction_whose_answer_is_lost_counts_once(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch, policy: ScorePolicy
) -> None:
    twin = Twin.make(db, boards, counter_mode=TRANSACTIONAL, policy=policy)
    lost = []

    def first_of_two(operation: str, body: Request) -> bool:
        token = body.get("ClientRequestToken")
        lost.append(token)
        return operation == "TransactWriteItems" and lost.count(token) == 1

    lose_answers(monkeypatch, db, first_of_two)
    for at, score in enumerate([1, 2**10, 2**20]):
        twin.submit("p", score, at=at)
        check_at_once(twin)
    assert not drifts(twin)


# Deaths in between


class Died(Exception):
    pass


def die_at_counting(monkeypatch: pytest.MonkeyPatch, twin: Twin) -> None:
    """Let the process die when it writes counters, whether or not it has written an entry before."""

    def die(operation: str, body: Request) -> None:
        written = [item[kind] for item in body.get("TransactItems", []) for kind in item] or [body]
        to_counters = any(request.get("TableName") == twin.db.tables.counters for request in written)
        if to_counters and operation in ("UpdateItem", "TransactWriteItems"):
            raise Died

    intercept(monkeypatch, twin.db, die)


@pytest.mark.parametrize("score", [2**30, None], ids=["submitting", "removing"])
def test_a_death_before_a_transaction_changes_nothing(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch, score: int | None
) -> None:
    twin = Twin.make(db, boards, counter_mode=TRANSACTIONAL)
    twin.submit("p", 1)
    with monkeypatch.context() as patch:
        die_at_counting(patch, twin)
        with pytest.raises(Died):
            change(twin, score)
    check_at_once(twin)
    assert not drifts(twin)


@pytest.mark.parametrize("score", [2**30, None], ids=["submitting", "removing"])
def test_a_death_before_counting_inline_is_found_and_repaired(
    db: Database,
    boards: Boards,
    drain: Drain,
    monkeypatch: pytest.MonkeyPatch,
    score: int | None,
) -> None:
    twin = Twin.make(db, boards, counter_mode=INLINE, policy=ScorePolicy.LATEST)
    for number, participant in enumerate(["p", "q", "r"]):
        twin.submit(participant, 1 + number)
    with monkeypatch.context() as patch:
        die_at_counting(patch, twin)
        with pytest.raises(Died):
            change(twin, score)
    left = entry(db, twin.board, ALL_TIME, "p")
    assert (left.score if left else None) == (score and (score,))
    twin.oracle.remove("p")
    if left:
        twin.oracle.entries["p"] = standing_of(left)
    assert drifts(twin)
    hasten(monkeypatch)
    assert not [drift for drift in rebuild(db, twin.board, twin.standings).drifts if drift.where != "top"]
    assert not drifts(twin)
    check_at_once(twin)
    twin.submit("p", 7, at=9)
    drain()
    twin.check_strategies(page_sizes=(5,))


def change(twin: Twin, score: int | None) -> None:
    if score is None:
        remove_entry(twin.db, twin.board, "p", LONG_AGO)
    else:
        submit_to(twin.db, twin.board, "p", (score,), NOW + timedelta(seconds=1))


def hasten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time that a rebuild waits for other processes: there are none."""
    for module in (known_trees, growth, rebuilds):
        monkeypatch.setattr(module, "ANNOUNCEMENT_LEAD", 400)
        monkeypatch.setattr(module, "CACHE_TTL", 200)
    monkeypatch.setattr(checks, "_PAUSE", 0.05)
