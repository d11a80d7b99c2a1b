"""What ranks and tops cost, in the engine's own capacity units and in sequential round trips.

Figures are exact for a process that knows the shape of the tree, as any does from its first rank on.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from core.boards import Boards
from core.counters.cache import CounterCache
from core.counters.nodes import partitions
from core.domain.board import ComponentInput
from core.domain.model import CounterMode, Entry, Rank, RankStrategy
from core.ranking import ladder, ranks
from core.ranking.pages import entries
from core.ranking.queries import entries_of, entry, top
from core.storage.database import Database, metered
from core.tree import shape
from tests.support.graphql_api import Api
from tests.support.growing import Grower
from tests.support.twin import ALL_TIME, EXACT, NOW, Twin, put_entries, submit_to
from tests.support.waves import counted_waves

Drain = Callable[[], int]
INDEX, TREE, LADDER, AUTO = EXACT
SHARDS = 4  # of the index, at the default peak
ENTRY_BYTES = 250  # more than an entry of these tests takes on the index


@dataclass(frozen=True)
class Spent:
    """Read units, and the requests of each wave."""

    units: float
    waves: Sequence[Sequence[str]]


@pytest.fixture(autouse=True)
def _ladders_stay_warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a warm ladder warm for as long as a busy machine may take."""
    monkeypatch.setattr(ladder, "FRESH", 600)
    monkeypatch.setattr(ladder, "STALE", 600)


def spend(db: Database, call: Callable[[], Any]) -> Spent:
    with metered() as meter, counted_waves(db) as waves:
        call()
    assert meter.write_units == 0
    return Spent(meter.read_units, [sorted(wave) for wave in waves.operations])


def fill(twin: Twin, scores: Sequence[int]) -> None:
    """Let p0, p1 and so on submit these scores, many at a time."""
    with ThreadPoolExecutor(8) as threads:
        for number, score in enumerate(scores):
            participant, at = f"p{number}", NOW + timedelta(seconds=number % 5)
            twin.oracle.submit(participant, (score,), at)
            threads.submit(submit_to, twin.db, twin.board, participant, [score], at)


def bounded(highest: int) -> list[ComponentInput]:
    return [ComponentInput(min="0", max=str(highest))]


def find(twin: Twin, participant: str, strategy: RankStrategy, *, positions: bool) -> Rank:
    """Rank one participant as a query does: the entry, then its rank."""
    found = entry(twin.db, twin.board, ALL_TIME, participant)
    assert found is not None
    (rank,) = ranks.rank_entries(twin.db, twin.board, ALL_TIME, [found], strategy, positions=positions)
    place = twin.oracle.place(participant)
    assert rank is not None
    assert place is not None
    assert (rank.rank, rank.total, rank.percentile) == (place.rank, place.total, place.percentile)
    assert rank.position == place.position if positions else rank.position in (None, place.position)
    return rank


def second_page(twin: Twin, size: int) -> Sequence[Entry]:
    first = entries(twin.db, twin.board, ALL_TIME, size)
    return entries(twin.db, twin.board, ALL_TIME, size, first.next_token).items


# Where a leaf holds one score


@pytest.mark.parametrize(
    ("levels", "highest", "size"), [(1, 100, 1), (2, 10_000, 10**5), (3, 2_000_000, 10**7)]
)
def test_a_rank_reads_its_entry_and_a_node_a_level(
    db: Database, boards: Boards, drain: Drain, levels: int, highest: int, size: int
) -> None:
    """In the first, the middle and the last place; many tie on the best score, and on the worst."""
    twin = Twin.make(db, boards, components=bounded(highest), expected_size=size)
    fill(twin, [0] * 40 + [highest] * 40 + [(number * 7919) % (highest + 1) for number in range(40)])
    drain()
    order = [one.participant for one in twin.oracle.ranked()]
    find(twin, order[60], TREE, positions=False)
    for participant in (order[0], order[60], order[-1]):
        spent = spend(db, partial(find, twin, participant, TREE, positions=False))
        assert spent == Spent(0.5 + 0.5 + 0.5 * levels, [["GetItem"], ["BatchGetItem"]])
        by_default = spend(db, partial(find, twin, participant, AUTO, positions=False))
        assert by_default.units <= 4
        assert len(by_default.waves) <= 2


def test_writers_counters_are_read_from_each_counter_shard(db: Database, boards: Boards) -> None:
    """What is not counted is in the first one alone. The largest number of shards is read in one wave."""
    twin = Twin.make(
        db,
        boards,
        components=bounded(10_000),
        expected_size=10**5,
        counter_mode=CounterMode.TRANSACTIONAL,
        peak_writes_per_second=5000,
    )
    fill(twin, [number * 128 for number in range(79)])
    shards = len(partitions(twin.board, twin.standings))
    assert shards == 32
    find(twin, "p40", TREE, positions=False)
    spent = spend(db, partial(find, twin, "p40", TREE, positions=False))
    assert spent == Spent(0.5 + 0.5 + 0.5 * 2 * shards, [["GetItem"], ["BatchGetItem"]])
    found = [replace(one, place=None) for one in twin.check_pages(79)[0]]
    rank_all = partial(ranks.rank_entries, db, twin.board, ALL_TIME, found, TREE, positions=False)
    rank_all()
    assert len(spend(db, rank_all).waves) == 1


def test_a_page_within_one_tie_reads_no_entries(db: Database, boards: Boards, drain: Drain) -> None:
    twin = Twin.make(db, boards, components=bounded(100))
    fill(twin, [5] * 90)
    drain()
    rank_all = partial(
        ranks.rank_entries, db, twin.board, ALL_TIME, second_page(twin, 30), TREE, positions=False
    )
    rank_all()
    assert spend(db, rank_all) == Spent(1, [["BatchGetItem"]])


def test_a_warm_ladder_ranks_without_reading(db: Database, boards: Boards, drain: Drain) -> None:
    twin = Twin.make(db, boards, components=bounded(100))
    fill(twin, [0] * 40 + [number % 101 for number in range(80)])
    drain()
    found = [replace(one, place=None) for one in entries(db, twin.board, ALL_TIME, 1000).items]
    twin.check_ranks(found, LADDER)
    for strategy in (LADDER, RankStrategy.APPROXIMATE):
        rank_all = partial(ranks.rank_entries, db, twin.board, ALL_TIME, found, strategy, positions=False)
        assert spend(db, rank_all) == Spent(0, [])


@pytest.mark.parametrize(
    ("selection", "selects"),
    [
        ("rank exact bucket { name }", False),
        ("rank position", True),
        ("rank place: position", True),
        ("rank ...Where", True),
        ("rank position @skip(if: $yes)", False),
        ("rank ... @include(if: $yes) { position }", True),
    ],
)
def test_a_position_costs_more_only_if_selected(
    db: Database, boards: Boards, drain: Drain, selection: str, selects: bool
) -> None:
    twin = Twin.make(db, boards, components=bounded(100))
    fill(twin, [5] * 30)
    drain()
    variables = ", $yes: Boolean! = true" if "$yes" in selection else ""
    fragment = " fragment Where on Rank { position }" if "...Where" in selection else ""
    entry_with = f'entry(participantId: "p7") {{ rank(strategy: TREE) {{ {selection} }} }}'
    query = f"query ($id: ID! {variables}) {{ leaderboard(id: $id) {{ {entry_with} }} }} {fragment}"
    api = Api(db, boards)
    api.ask(query, id=twin.board.id)
    answer = api.ask(query, id=twin.board.id)
    rank = answer["data"]["leaderboard"]["entry"]["rank"]
    place = twin.oracle.place("p7")
    assert place is not None
    assert rank["rank"] == place.rank
    assert [rank[name] for name in ("position", "place") if name in rank] == [place.position] * selects
    # The board, the entry, the tree and its root; and the leaf on each shard of the index.
    assert answer["extensions"]["consumed"]["readUnits"] == 2 + 0.5 * SHARDS * selects


# Where leaves are wider


def test_a_rank_reads_what_its_leaf_holds_before_it(
    db: Database, boards: Boards, drain: Drain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All in one leaf, then in a tree of three levels, also by a process that only reads."""
    grower = Grower.make(monkeypatch, drain, grow_at=1000, inner=8)
    twin = Twin.make(db, boards)
    fill(twin, [600_000 + 7 * number for number in range(160)])
    drain()
    order = [one.participant for one in twin.oracle.ranked()]
    reader = replace(twin, db=Database(db.client, db.tables))
    reader.oracle = twin.oracle
    for grow_at in (1000, 12):
        monkeypatch.setattr(shape, "GROW_AT", grow_at)
        levels = grower.grow(twin)
        held = 160 if levels == 1 else grow_at
        in_leaf = 0.5 * SHARDS * (1 + held * ENTRY_BYTES // (SHARDS * 4096))
        for one in (twin, reader):
            one.db.cache(CounterCache).ladders.clear()
            for at in (0, 80, 159):
                for _ in range(levels):  # a process learns one more level from each
                    find(one, order[at], TREE, positions=True)
                by_tree = spend(db, partial(find, one, order[at], TREE, positions=True))
                assert by_tree.units <= 0.5 + 0.5 + 0.5 * levels + in_leaf
                assert by_tree.units <= 4 + in_leaf
                assert by_tree.waves[0] == ["GetItem"]
                assert len(by_tree.waves) == 2
                find(one, order[at], LADDER, positions=True)
                by_ladder = spend(db, partial(find, one, order[at], LADDER, positions=True))
                assert by_ladder.units <= 0.5 + in_leaf
                assert by_ladder.waves == [["GetItem"], ["Query"] * SHARDS]
    assert levels == 3


def test_a_page_of_100_is_ranked_in_few_requests(db: Database, boards: Boards, drain: Drain) -> None:
    """The tree's path and, on each shard, the leaf before the page: 5 requests for 100 ranks."""
    twin = Twin.make(db, boards)
    fill(twin, [600_000 + 7 * number for number in range(210)])
    drain()
    page = second_page(twin, 100)
    twin.check_ranks(page, TREE)
    spent = {
        strategy: spend(db, partial(ranks.rank_entries, db, twin.board, ALL_TIME, page, strategy))
        for strategy in (TREE, LADDER, AUTO, LADDER, RankStrategy.APPROXIMATE)
    }
    leaf = ["Query"] * SHARDS
    assert spent[TREE].waves == [["BatchGetItem", *leaf]]
    assert spent[LADDER].waves == [leaf]
    assert spent[AUTO].waves == [leaf]  # the ladder is warm
    assert spent[RankStrategy.APPROXIMATE].waves == []


# Friends


def rank_friends(twin: Twin, participants: Sequence[str]) -> None:
    """Rank a hundred friends as a query does: their entries, then their ranks."""
    found = entries_of(twin.db, twin.board, ALL_TIME, participants)
    assert len(found) == 100
    found_ranks = ranks.rank_entries(twin.db, twin.board, ALL_TIME, found, positions=False)
    for one, rank in zip(found, found_ranks, strict=True):
        place = twin.oracle.place(one.participant_id)
        assert rank is not None
        assert place is not None
        assert (rank.rank, rank.percentile) == (place.rank, place.percentile)


def test_a_hundred_friends_where_leaves_hold_one_score(db: Database, boards: Boards, drain: Drain) -> None:
    """In the tree of a board of 1,000,000 entries and 3,000 scores, anywhere on it."""
    twin = Twin.make(db, boards, components=bounded(2_999), expected_size=10**6)
    scores = {f"p{number}": number for number in range(3_000)}
    put_entries(twin, scores)
    for participant, score in scores.items():
        twin.oracle.submit(participant, (score,), NOW)
    drain()
    chosen = [f"p{number}" for number in range(0, 3_000, 30)]
    rank_friends(twin, chosen)
    db.cache(CounterCache).ladders.clear()
    cold = spend(db, partial(rank_friends, twin, chosen))
    assert cold.units <= 60
    assert sum(map(len, cold.waves)) <= 20
    assert spend(db, partial(rank_friends, twin, chosen)) == Spent(50, [["BatchGetItem"]])


def test_a_hundred_friends_near_one_another_share_reads(
    db: Database, boards: Boards, drain: Drain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where leaves are wider, in 20 leaves or so: neighbours are read at once."""
    grower = Grower.make(monkeypatch, drain, grow_at=12, inner=8)
    twin = Twin.make(db, boards)
    fill(twin, [600_000 + 7 * number for number in range(210)])
    assert grower.grow(twin) == 3
    order = [one.participant for one in twin.oracle.ranked()]
    rank_friends(twin, order[-200::2])
    db.cache(CounterCache).ladders.clear()
    cold = spend(db, partial(rank_friends, twin, order[-200::2]))
    assert cold.units <= 60 + 4  # the tree's nodes are tiny here, and eight
    assert sum(map(len, cold.waves)) <= 20


def test_the_index_is_counted_in_one_wave(db: Database, boards: Boards, drain: Drain) -> None:
    """Near the top, where AUTO chooses it: half a unit for each shard, one for the size, and the entry."""
    twin = Twin.make(db, boards)
    fill(twin, [600_000 + 7 * number for number in range(60)])
    drain()
    find(twin, "p1", AUTO, positions=True)
    spent = spend(db, partial(find, twin, "p1", AUTO, positions=True))
    assert spent == Spent(0.5 + 1 + 0.5 * SHARDS, [["GetItem"], ["BatchGetItem", *["Query"] * SHARDS]])
    by_index = spend(db, partial(find, twin, "p1", INDEX, positions=True))
    assert len(by_index.waves) == 2


def test_the_top_is_one_item(db: Database, boards: Boards, drain: Drain) -> None:
    twin = Twin.make(db, boards)
    fill(twin, list(range(40)))
    drain()
    assert spend(db, partial(top, db, twin.board, ALL_TIME, 10)) == Spent(0.5, [["GetItem"]])
    ranked = partial(ranks.rank_entries, db, twin.board, ALL_TIME, twin.check_top(10), TREE)
    ranked()
    assert spend(db, ranked).waves == [["BatchGetItem"]]  # for the size: their places are known
