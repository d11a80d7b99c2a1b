"""`asOf`: the time up to which the counts behind a rank are complete."""

import time
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from core.boards import Boards
from core.counters.cache import CounterCache
from core.domain.board import ComponentInput, define_board
from core.domain.entry_item import entry_key
from core.domain.model import Board, CounterMode, RankStrategy
from core.moderation.moderate import remove_entry
from core.ranking.queries import entry
from core.ranking.ranks import rank_entries
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from tests.support.twin import ALL_TIME, LONG_AGO, Twin

Drain = Callable[[], int]


def as_of(db: Database, board: Board, strategy: RankStrategy) -> datetime:
    db.cache(CounterCache).ladders.clear()
    found = entry(db, board, ALL_TIME, "p")
    assert found is not None
    (rank,) = rank_entries(db, board, ALL_TIME, [found], strategy)
    assert rank is not None
    return rank.as_of


def now() -> datetime:
    """Return the time in whole milliseconds, as entries store it."""
    return datetime.fromtimestamp(time.time_ns() // 1_000_000 / 1000, UTC)


@pytest.fixture(params=[RankStrategy.TREE, RankStrategy.LADDER])
def strategy(request: pytest.FixtureRequest) -> RankStrategy:
    found: RankStrategy = request.param
    return found


def submit(db: Database, board: Board, participant: str, score: int) -> tuple[datetime, datetime]:
    """Submit a score; return the times before and after."""
    before = now()
    submit_score(db, board, Submission(participant, [str(score)]), now=before)
    return before, now()


def test_counts_are_as_of_the_newest_change_in_them(
    db: Database, boards: Boards, drain: Drain, strategy: RankStrategy
) -> None:
    board = boards.create(define_board(id="b", now=now()))
    submit(db, board, "p", 1)
    assert as_of(db, board, strategy) == board.created_at  # nothing is counted yet
    submit(db, board, "q", 2)
    before, after = submit(db, board, "r", 3)
    drain()
    assert before <= as_of(db, board, strategy) <= after
    submit(db, board, "s", 4)
    assert before <= as_of(db, board, strategy) <= after
    before = now()
    remove_entry(db, board, "s", LONG_AGO)
    drain()
    # For a removed entry the stream has the time in whole seconds only.
    assert before.replace(microsecond=0) <= as_of(db, board, strategy) <= now()


def test_a_change_below_the_root_counts(
    db: Database, boards: Boards, drain: Drain, strategy: RankStrategy
) -> None:
    """It changes no count of the root: 128 scores share a child there."""
    scores = ComponentInput(min="0", max="10000")
    board = boards.create(define_board(id="b", components=[scores], expected_size=10**5, now=now()))
    submit(db, board, "p", 1)
    drain()
    before, after = submit(db, board, "p", 2)
    drain()
    assert before <= as_of(db, board, strategy) <= after


@pytest.mark.parametrize("mode", [CounterMode.TRANSACTIONAL, CounterMode.INLINE])
def test_counts_by_writers_are_as_of_the_read(
    db: Database, boards: Boards, strategy: RankStrategy, mode: CounterMode
) -> None:
    board = boards.create(define_board(id="b", counter_mode=mode, now=now()))
    _, after = submit(db, board, "p", 1)
    assert after <= as_of(db, board, strategy) <= datetime.now(UTC)


def test_an_entry_written_in_the_future_is_counted_and_corrected(
    db: Database, boards: Boards, drain: Drain
) -> None:
    twin = Twin.make(db, boards)
    twin.submit("p", 1)
    twin.submit("q", 2)
    drain()
    key = entry_key(twin.board, ALL_TIME, "p")
    year = 365 * 86_400_000
    db.client.update_item(
        TableName=db.tables.scores,
        Key=key,
        UpdateExpression="SET written_at = written_at + :year",
        ExpressionAttributeValues={":year": {"N": str(year)}},
    )
    drain()
    corrected = db.client.get_item(TableName=db.tables.scores, Key=key)["Item"]["written_at"]["N"]
    assert int(corrected) <= int(now().timestamp() * 1000)
    assert as_of(db, twin.board, RankStrategy.TREE) <= datetime.now(UTC)
    twin.check_strategies()
    twin.submit("p", 3)
    drain()
    twin.check_strategies()
