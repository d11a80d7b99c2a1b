"""What stands at a place, and what a score would be worth, against a plain sorted list."""

import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from core.boards import Boards
from core.counters.cache import CounterCache
from core.domain.board import ComponentInput
from core.domain.buckets import find_bucket
from core.domain.errors import InvalidInput, InvalidScore
from core.domain.model import RankStrategy, SortOrder
from core.moderation.moderate import hide_entry
from core.ranking import ladder
from core.ranking.distribution import distribution
from core.ranking.pages import entries
from core.ranking.ranks import rank_of
from core.ranking.seek import entry_at, entry_to_reach
from core.storage.database import Database, metered
from tests.support.distributions import DISTRIBUTIONS
from tests.support.growing import Grower
from tests.support.oracle import compare_scores
from tests.support.twin import ALL_TIME, EXACT, LONG_AGO, Twin, put_entries, written_score

Drain = Callable[[], int]
MANY = 1_500


def worth(twin: Twin, score: Sequence[int]) -> tuple[int, int]:
    """Return the rank that a new entry with a score would take, and the size with it, by the oracle."""
    shown = twin.oracle.ranked()
    better = sum(compare_scores(twin.oracle.orders, each.score, score) < 0 for each in shown)
    return better + 1, len(shown) + 1


@pytest.mark.parametrize("order", SortOrder)
@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_every_distribution(db: Database, boards: Boards, drain: Drain, name: str, order: SortOrder) -> None:
    components, draw = DISTRIBUTIONS[name]
    twin = Twin.make(db, boards, components=components(order), peak_writes_per_second=1)
    chance = random.Random(7)
    for number in range(60):
        twin.submit(f"p{number}", *draw(chance), at=number % 3)
    twin.hide("p3")
    drain()
    order_now = [each.participant for each in twin.oracle.ranked()]
    found = [entry_at(db, twin.board, ALL_TIME, place) for place in range(1, len(order_now) + 2)]
    assert [entry and entry.participant_id for entry in found] == [*order_now, None]
    for score in [*(draw(chance) for _ in range(5)), *(each.score for each in twin.oracle.ranked()[:3])]:
        texts = written_score(twin.board, score)
        for strategy in EXACT:
            rank = rank_of(db, twin.board, ALL_TIME, texts, strategy)
            assert (rank.rank, rank.total, rank.exact, rank.position) == (*worth(twin, score), True, None)
            assert rank.bucket == twin.board.rank_buckets[0] or rank.rank > 1
    for place in (1, 10, 59):
        reached = entry_to_reach(db, twin.board, ALL_TIME, rank=place)
        assert reached is not None
        assert reached.participant_id == order_now[place - 1]
    for percent, place in ((0.1, 1), (10, 6), (50, 30), (100, 59)):
        reached = entry_to_reach(db, twin.board, ALL_TIME, top_percent=percent)
        assert reached is not None
        assert reached.participant_id == order_now[place - 1]
    bins = distribution(db, twin.board, ALL_TIME, 8)
    assert 1 <= len(bins) <= 8
    assert sum(each.count for each in bins) == len(order_now)


@pytest.mark.parametrize("peak", [1, 1000], ids=["1 shard", "4 shards"])
def test_deep_in_a_tree_that_has_grown(
    db: Database, boards: Boards, drain: Drain, monkeypatch: pytest.MonkeyPatch, peak: int
) -> None:
    grower = Grower.make(monkeypatch, drain, grow_at=30, inner=12)
    twin = Twin.make(db, boards, peak_writes_per_second=peak)
    chance = random.Random(1)
    scores = {f"p{number}": chance.randrange(400) for number in range(MANY)}
    keys = sorted(put_entries(twin, scores))
    grower.grow(twin)
    for place in [1, 2, 100, 101, MANY // 2, MANY - 1, MANY, *chance.sample(range(1, MANY), 40)]:
        found = entry_at(db, twin.board, ALL_TIME, place)
        assert found is not None
        assert found.rank_key == keys[place - 1], place
    assert entry_at(db, twin.board, ALL_TIME, MANY + 1) is None
    for score in (0, 57, 200, 399, 1000):
        rank = rank_of(db, twin.board, ALL_TIME, [str(score)])
        better = sum(other > score for other in scores.values())
        assert (rank.rank, rank.total, rank.exact) == (better + 1, MANY + 1, True)
    bins = distribution(db, twin.board, ALL_TIME, 10)
    low = [int(each.worst) for each in bins]
    assert low == sorted(low)
    assert all(int(one.best) + 1 == int(other.worst) for one, other in pairwise(bins))
    better = 0
    for each in reversed(bins):
        inside = [score for score in scores.values() if int(each.worst) <= score <= int(each.best)]
        assert each.count == len(inside)
        places = range(better + 1, better + each.count + 1)
        named = (find_bucket(twin.board.rank_buckets, place, MANY)[0].name for place in places)
        assert each.buckets == tuple(dict.fromkeys(named))
        better += each.count
    assert better == MANY


def test_entries_that_left_and_are_still_counted(
    db: Database, boards: Boards, drain: Drain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every position up to the counted size has an entry, and none is further off than those that left."""
    grower = Grower.make(monkeypatch, drain, grow_at=30, inner=12)
    twin = Twin.make(db, boards, peak_writes_per_second=1)
    put_entries(twin, {f"p{number}": number for number in range(MANY)})
    grower.grow(twin)
    assert entry_at(db, twin.board, ALL_TIME, 800) is not None  # the ladder is warm
    left = [*range(20), *range(700, 720)]
    for number in left:
        hide_entry(db, twin.board, f"p{number}", LONG_AGO)
    for place in (1, 600, *range(770, 830), *range(1470, MANY + 1)):
        found = entry_at(db, twin.board, ALL_TIME, place)
        assert found is not None, place
        assert 0 <= abs(MANY - place - found.score[0]) <= 20, place
    assert entry_at(db, twin.board, ALL_TIME, MANY + 1) is None
    drain()
    db.cache(CounterCache).ladders.clear()
    last = entry_at(db, twin.board, ALL_TIME, MANY - len(left))
    assert last is not None
    assert last.participant_id == "p20"
    assert entry_at(db, twin.board, ALL_TIME, MANY - len(left) + 1) is None


def test_bins_of_a_small_board_are_of_equal_width(db: Database, boards: Boards, drain: Drain) -> None:
    twin = Twin.make(db, boards)
    scores = [0, 1, 2, 3, 10, 10, 11, 39]
    put_entries(twin, {f"p{number}": score for number, score in enumerate(scores)})
    drain()
    bins = distribution(db, twin.board, ALL_TIME, 4)
    assert [(each.worst, each.best, each.count) for each in bins] == [
        ("0", "9", 4),
        ("10", "19", 3),
        ("20", "29", 0),
        ("30", "39", 1),
    ]


def test_an_empty_board(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards)
    assert entry_at(db, twin.board, ALL_TIME, 1) is None
    assert entry_to_reach(db, twin.board, ALL_TIME, rank=1) is None
    assert entry_to_reach(db, twin.board, ALL_TIME, top_percent=1) is None
    assert distribution(db, twin.board, ALL_TIME, 20) == []
    rank = rank_of(db, twin.board, ALL_TIME, ["5"])
    assert (rank.rank, rank.total, rank.percentile, rank.bucket.name) == (1, 1, 0.0, "Top 1")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (partial(entry_at, position=0), "position: must be at least 1, not 0"),
        (entry_to_reach, "rank, topPercent: exactly one must be given"),
        (partial(entry_to_reach, rank=1, top_percent=1), "rank, topPercent: exactly one"),
        (partial(entry_to_reach, rank=-1), "rank: must be at least 1"),
        (partial(entry_to_reach, top_percent=0), "topPercent: must be above 0, at most 100, not 0"),
        (partial(entry_to_reach, top_percent=float("nan")), "topPercent: must be above 0"),
        (partial(distribution, bins=0), "bins: must be from 1 to 100, not 0"),
        (partial(distribution, bins=101), "bins: must be from 1 to 100, not 101"),
    ],
)
def test_wrong_questions(db: Database, boards: Boards, ask: Callable[..., Any], message: str) -> None:
    twin = Twin.make(db, boards)
    with pytest.raises(InvalidInput, match=message):
        ask(db, twin.board, ALL_TIME)
    with pytest.raises(InvalidScore):
        rank_of(db, twin.board, ALL_TIME, ["no"])


def test_what_it_costs(db: Database, boards: Boards, drain: Drain, monkeypatch: pytest.MonkeyPatch) -> None:
    """One leaf, and half a unit for each shard; the ladder where it is not warm."""
    monkeypatch.setattr(ladder, "FRESH", 600)
    monkeypatch.setattr(ladder, "STALE", 600)
    twin = Twin.make(db, boards, components=[ComponentInput(min="0", max="99999")], expected_size=MANY)
    put_entries(twin, {f"p{number}": number * 60 for number in range(MANY)})
    drain()
    middle = entries(db, twin.board, ALL_TIME, 1000).items[MANY // 2 - 1]
    entry_at(db, twin.board, ALL_TIME, MANY // 2)  # loads the ladder

    def cold_distribution() -> None:
        db.cache(CounterCache).ladders.clear()
        assert distribution(db, twin.board, ALL_TIME, 20)

    def cost(call: Callable[[], object]) -> float:
        with metered() as meter:
            call()
        return meter.read_units

    shards = twin.board.shards
    assert cost(lambda: entry_at(db, twin.board, ALL_TIME, MANY // 2)) <= 0.5 * shards + 5
    assert cost(lambda: entry_at(db, twin.board, ALL_TIME, 5)) == 0.5 * shards
    assert cost(lambda: entry_to_reach(db, twin.board, ALL_TIME, top_percent=50)) <= 0.5 * shards + 5
    assert 0 < cost(cold_distribution) <= 10
    ladder.ladder(db, twin.board, twin.standings)
    assert cost(lambda: distribution(db, twin.board, ALL_TIME, 20)) == 0
    score = [str(value) for value in middle.score]
    assert cost(lambda: rank_of(db, twin.board, ALL_TIME, score, RankStrategy.TREE)) <= 1.5 + shards + 5
