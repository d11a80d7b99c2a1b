"""Questions from the other side equal the sorted list at any size, at a price that does not grow with it."""

import random
from bisect import bisect_left

import pytest

from bench.distributions import DISTRIBUTIONS, Distribution
from bench.loading import Filled, engine_with
from core.counters.cache import CounterCache
from core.domain.limits import MAX_BINS
from core.domain.model import Board
from core.domain.periods import ALL_TIME
from core.domain.rank_key import decode_score, distance, just_above, score_bytes
from core.domain.scores import format_value, parse
from core.ranking.distribution import distribution
from core.ranking.ladder import ladder
from core.ranking.pages import entries
from core.ranking.ranks import rank_of
from core.ranking.seek import entry_at, entry_to_reach
from core.storage.database import Database, metered

SIZES = [1, 1_000, pytest.param(100_000, marks=pytest.mark.thorough)]
# Read units with a warm ladder, on four shards: half a leaf, and half a leaf that is one score's.
LEAF, TIED_LEAF = 6.0, 16.0
PLACES = 40


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("shape", DISTRIBUTIONS, ids=lambda shape: shape.name)
def test_every_question(shape: Distribution, size: int) -> None:
    filled = Filled(shape.board(size), shape.participants(size))
    board, order = filled.board, filled.order
    chance = random.Random(size)
    places = {1, size, *(chance.randrange(size) + 1 for _ in range(PLACES))}
    with engine_with([filled], lambda _: None) as db:
        check_distribution(db, filled)
        for place in places:
            key = order[place - 1]
            part = key[: score_bytes(board)]
            better, before_next = bisect_left(order, part), bisect_left(order, just_above(part))
            ladder(db, board, filled.standings)
            limit = TIED_LEAF if before_next - better > LEAF * 20 else LEAF
            with metered() as meter:
                found = entry_at(db, board, ALL_TIME, place)
            assert found is not None
            assert found.rank_key == key
            assert meter.read_units <= limit
            ladder(db, board, filled.standings)
            with metered() as meter:
                reached = entry_to_reach(db, board, ALL_TIME, top_percent=100 * place / size)
            assert reached is not None
            # A share of a place is rounded up, and may not be exact as a float.
            assert reached.rank_key in order[place - 1 : place + 1]
            assert meter.read_units <= limit
            with metered() as meter:
                page = entries(db, board, ALL_TIME, 5, position=place)
            assert [one.rank_key for one in page.items] == order[place - 1 : place + 4]
            assert meter.read_units <= limit + 0.5 * board.shards + 1
            if page.previous_token:
                before = entries(db, board, ALL_TIME, 5, page.previous_token)
                assert [one.rank_key for one in before.items] == order[max(0, place - 6) : place - 1]
            rank = rank_of(db, board, ALL_TIME, texts(board, key))
            assert (rank.rank, rank.total, rank.exact) == (better + 1, size + 1, True)
        assert entry_at(db, board, ALL_TIME, size + 1) is None


def check_distribution(db: Database, filled: Filled) -> None:
    """Check bins whose counts are read from upper nodes, and bins of the warm ladder."""
    first = filled.board.components[0]
    values = sorted(distance(first, decode_score(filled.board, key)[0]) for key in filled.order)
    for bins in (1, 20, MAX_BINS):
        for warm in (False, True):
            db.cache(CounterCache).ladders.clear()
            if warm:
                ladder(db, filled.board, filled.standings)
            with metered() as meter:
                found = distribution(db, filled.board, ALL_TIME, bins)
            assert meter.read_units <= (0 if warm and len(values) >= 1_000 else 10)
            assert 1 <= len(found) <= bins
            assert sum(each.count for each in found) == len(values)
            for each in found:
                worst, best = (distance(first, parse(first, text)) for text in (each.worst, each.best))
                assert each.count == bisect_left(values, worst + 1) - bisect_left(values, best)


def texts(board: Board, key: bytes) -> list[str]:
    """Return a rank key's score as it is submitted."""
    score = decode_score(board, key)
    return [format_value(*pair) for pair in zip(board.components, score, strict=True)]
