"""AUTO takes the strategy that costs least, also where a node is spread over counter shards."""

from collections.abc import Callable

import pytest

from core.boards import Boards
from core.counters.cache import CounterCache
from core.domain.model import CounterMode, RankStrategy
from core.domain.periods import ALL_TIME
from core.ranking.queries import entries_of
from core.ranking.ranks import rank_entries
from core.storage.database import Database, metered
from core.submissions.submit import Submission, submit_scores
from tests.support.twin import NOW, Twin

Drain = Callable[[], int]


@pytest.mark.parametrize("mode", CounterMode)
def test_auto_costs_no_more_than_the_others_near_the_top(
    db: Database, boards: Boards, drain: Drain, mode: CounterMode
) -> None:
    board = Twin.make(db, boards, counter_mode=mode, expected_size=1_000_000).board
    for start in range(0, 140, 70):
        submissions = [Submission(f"p{at}", [str(10**6 - at)]) for at in range(start, start + 70)]
        submit_scores(db, board, submissions, now=NOW)
    drain()
    own = entries_of(db, board, ALL_TIME, ["p9"])
    units = {}
    for strategy in (RankStrategy.INDEX, RankStrategy.TREE, RankStrategy.AUTO):
        for _ in range(2):
            db.cache(CounterCache).asked.clear()
            with metered() as meter:
                [rank] = rank_entries(db, board, ALL_TIME, own, strategy, positions=False)
            assert rank is not None
            assert rank.rank == 10
            units[strategy] = meter.read_units
    assert units[RankStrategy.AUTO] <= min(units.values()), units
