"""A submission to every period of its board: what it costs, and what holds when it fails."""

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.boards import Boards
from core.domain.board import ComponentInput, define_board
from core.domain.errors import EntryNotFound, InvalidInput, InvalidScore
from core.domain.model import Board, CounterMode, Entry, PeriodKind, ScorePolicy, TieBreak
from core.entries.texts import update_entry
from core.moderation.moderate import hide_entry
from core.ranking.pages import entries
from core.ranking.queries import entry, size, top
from core.ranking.ranks import rank_entries
from core.records.audit import AuditContext
from core.records.flags import flag_hidden, flag_restored
from core.storage.database import Database, metered
from core.submissions.submit import Submission, submit_score, submit_scores
from tests.support.season import KEPT, Season
from tests.support.twin import EXACT

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
PERIODS = ["all-time", "daily-2026-11-30", "weekly-2026-W49", "monthly-2026-11"]
KINDS = list(PeriodKind)
Drain = Callable[[], int]


def make(boards: Boards, **definition: Any) -> Board:
    definition.setdefault("periods", KINDS)
    return boards.create(replace(define_board(id="board", now=NOW, **definition), retention=KEPT))


def submit(db: Database, board: Board, participant: str, score: int, **more: Any) -> None:
    submit_score(db, board, Submission(participant, [str(score)], **more), now=NOW)


def stored(db: Database, board: Board, participant: str = "ann") -> list[Entry | None]:
    return [entry(db, board, period, participant, lambda _: True) for period in PERIODS]


def scores(db: Database, board: Board) -> list[int | None]:
    return [found.score[0] if found else None for found in stored(db, board)]


# Costs in units: of entries under 1 KB on the table, and of what moves on the index


def spent(db: Database, board: Board, score: int, **more: Any) -> tuple[float, float]:
    with metered() as meter:
        submit(db, board, "ann", score, **more)
    return meter.read_units, meter.write_units


@pytest.mark.parametrize("kinds", [KINDS[:count] for count in (1, 2, 3, 4)])
def test_a_submission_costs_a_unit_and_what_moves_on_the_index_for_each_period(
    db: Database, boards: Boards, kinds: Sequence[PeriodKind]
) -> None:
    board, periods = make(boards, periods=kinds), len(kinds)
    flags = 1 if periods > 1 else 0  # moderation flags, which an all-time entry has itself
    assert spent(db, board, 5) == (flags, periods * (1 + 1))  # the index gets an item
    assert spent(db, board, 6) == (flags, periods * (1 + 2))  # and moves it


@pytest.mark.parametrize("policy", [ScorePolicy.BEST, ScorePolicy.SUM])
def test_an_id_costs_a_read_of_each_entry_and_a_transaction_and_a_retry_only_reads(
    db: Database, boards: Boards, policy: ScorePolicy
) -> None:
    board = make(boards, policy=policy)
    submit(db, board, "ann", 5)
    assert spent(db, board, 6, submission_id="1") == (4 + 1 + 1, 4 * (2 + 2) + 2)
    assert spent(db, board, 6, submission_id="1") == (4 + 1 + 1 + 4, 0)
    assert spent(db, board, 0, submission_id="0") == (4 + 1 + 1, 2)  # nothing changes


def test_a_sum_over_several_periods_is_one_transaction(db: Database, boards: Boards) -> None:
    board = make(boards, policy=ScorePolicy.SUM)
    submit(db, board, "ann", 5)
    assert spent(db, board, 6) == (4 + 1, 4 * (2 + 2))


@pytest.mark.parametrize(("mode", "read"), [(CounterMode.STREAM, (0, 0)), (CounterMode.INLINE, (1, 4))])
def test_a_best_score_of_a_hidden_participant_reads_the_flags_once_and_entries_to_count_from(
    db: Database, boards: Boards, mode: CounterMode, read: tuple[int, int]
) -> None:
    requests, units = read  # of the entries, from which INLINE counts
    board = make(boards, counter_mode=mode)
    submit(db, board, "ann", 5)
    hide_entry(db, board, "ann", AuditContext("tests", NOW))
    with metered() as meter:
        submit(db, board, "ann", 6)
    assert (meter.requests, meter.read_units, meter.write_units) == (1 + requests + 4, 1 + units, 4)
    assert [found and (found.score, found.hidden) for found in stored(db, board)] == [((6,), True)] * 4
    with metered() as meter:
        submit(db, board, "ann", 5)
    assert (meter.requests, meter.read_units) == (1 + (requests or 4), 1 + units)
    assert scores(db, board) == [6] * 4


# Flags and entries that disagree, as when a hiding or a restoring stops halfway


@pytest.mark.parametrize("policy", ScorePolicy)
@pytest.mark.parametrize("hidden", [False, True])
def test_an_entry_stays_hidden_or_visible_whatever_the_flags_say(
    db: Database, boards: Boards, policy: ScorePolicy, hidden: bool
) -> None:
    """The flags are for periods in which the participant has no entry yet."""
    board = make(boards, policy=policy, counter_mode=CounterMode.INLINE)
    submit(db, board, "ann", 5, achieved_at=NOW - timedelta(hours=20))
    if hidden:
        hide_entry(db, board, "ann", AuditContext("tests", NOW))
    flags = flag_restored(db, board, "ann", NOW) if hidden else flag_hidden(db, board, "ann")
    db.client.transact_write_items(TransactItems=[flags])
    submit(db, board, "ann", 7, achieved_at=NOW - timedelta(hours=1))
    old, new = hidden, not hidden
    assert [found and found.hidden for found in stored(db, board)] == [old, new, new, old]
    assert [size(db, board, period) for period in PERIODS] == [not old, not new, not new, not old]


# Failures


@pytest.mark.parametrize(
    ("mode", "submission_id"),
    [(CounterMode.STREAM, None), (CounterMode.TRANSACTIONAL, "1"), (CounterMode.INLINE, None)],
)
def test_a_sum_that_leaves_the_bounds_in_one_period_is_stored_in_none(
    lean: Database, boards: Boards, mode: CounterMode, submission_id: str | None
) -> None:
    board = make(boards, policy=ScorePolicy.SUM, components=[ComponentInput(max="10")], counter_mode=mode)
    yesterday = NOW - timedelta(hours=20)
    submit(lean, board, "ann", 8, achieved_at=yesterday)
    with pytest.raises(InvalidScore):
        submit(lean, board, "ann", 3, submission_id=submission_id)
    assert scores(lean, board) == [8, None, None, 8]
    submit(lean, board, "ann", 2, submission_id=submission_id)
    assert scores(lean, board) == [10, 2, 2, 10]


def test_a_sum_of_nothing_changes_nothing(lean: Database, boards: Boards) -> None:
    board = make(boards, policy=ScorePolicy.SUM)
    submit(lean, board, "ann", 5)
    result = submit_score(lean, board, Submission("ann", ["0"]), now=NOW)
    assert not result.accepted
    assert [found.submissions for found in result.entries] == [1] * 4


def test_a_score_that_comes_too_late_is_stored_nowhere(lean: Database, boards: Boards) -> None:
    board = make(boards)
    with pytest.raises(InvalidInput, match="achievedAt: is in daily-2026-11-28, which has been over"):
        submit(lean, board, "ann", 5, achieved_at=NOW - timedelta(days=2))
    assert stored(lean, board) == [None] * 4


def test_a_score_may_be_a_little_ahead_and_counts_tomorrow(lean: Database, boards: Boards) -> None:
    board, late = make(boards), datetime(2026, 11, 30, 23, 58, tzinfo=UTC)
    ahead = Submission("ann", ["1"], achieved_at=late + timedelta(minutes=4))
    result = submit_score(lean, board, ahead, now=late)
    assert [found.period for found in result.entries] == [
        "all-time",
        "daily-2026-12-01",
        "weekly-2026-W49",
        "monthly-2026-12",
    ]


def test_a_kind_that_is_added_starts_with_what_comes_and_one_that_is_dropped_takes_no_more(
    lean: Database, boards: Boards
) -> None:
    board = make(boards, periods=[PeriodKind.ALL_TIME])
    submit(lean, board, "ann", 5)
    board = boards.update("board", 1, periods=[PeriodKind.ALL_TIME, PeriodKind.DAILY])
    submit(lean, board, "bob", 4)
    assert [found.participant_id for found in entries(lean, board, PERIODS[1], 9).items] == ["bob"]
    board = boards.update("board", 2, periods=[PeriodKind.DAILY])
    result = submit_score(lean, board, Submission("bob", ["6"]), now=NOW)
    assert [found.period for found in result.entries] == [PERIODS[1]]
    assert result.previous_score is None  # there is no all-time any more


# What other multi-period leaderboards promise


@pytest.mark.parametrize("mode", CounterMode)
def test_reports_17_many_writers_at_once_lose_no_best_in_any_period(
    lean: Database, boards: Boards, drain: Drain, mode: CounterMode
) -> None:
    """The database compares, rather than a client that has read. Beyond 999,999 too."""
    season = Season.make(lean, Boards(lean, 0), NOW, counter_mode=mode)
    attempts = [(f"p{number % 3}", 999_990 + number * 7919 % 101) for number in range(90)]
    random.shuffle(attempts)
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(lambda attempt: submit(lean, season.board, *attempt, achieved_at=NOW), attempts))
    drain()
    for period in PERIODS:
        page = entries(lean, season.board, period, 9).items
        found = {best.participant_id: best.score[0] for best in page}
        assert found == {name: max(score for who, score in attempts if who == name) for name in found}
        assert len(found) == size(lean, season.board, period) == 3


def test_scores_beyond_a_million_are_in_rank_order_in_each_period(
    lean: Database, boards: Boards, drain: Drain
) -> None:
    season = Season.make(lean, Boards(lean, 0), NOW)
    for number, score in enumerate((1_500_000, 1_000_000, 999_999, 2**63 - 1, -(2**63), 0, 10_000_000)):
        season.submit(f"p{number}", score, now=NOW)
    drain()
    season.check()


def test_a_percentile_is_right_where_counting_takes_more_than_one_page(
    lean: Database, boards: Boards, drain: Drain
) -> None:
    """A page of a query is 1 MB; with 1 KB of metadata each that is some 900 entries."""
    board = make(boards, periods=[PeriodKind.WEEKLY], peak_writes_per_second=1)
    metadata, week = f'"{"x" * 1000}"', PERIODS[2]
    many = [Submission(f"p{number:04}", [str(number)], NOW, metadata=metadata) for number in range(1000)]
    for start in range(0, 1000, 100):
        submit_scores(lean, board, many[start : start + 100], now=NOW)
    drain()
    for participant, worse in (("p0000", 0), ("p0010", 10), ("p0500", 500), ("p0999", 999)):
        found = entry(lean, board, week, participant)
        assert found is not None
        for strategy in EXACT:
            (rank,) = rank_entries(lean, board, week, [found], strategy)
            assert rank is not None
            assert (rank.rank, rank.total, rank.percentile) == (1000 - worse, 1000, worse / 10)


# What users of other leaderboards report


@pytest.mark.parametrize("policy", ScorePolicy)
def test_reports_1_who_reached_a_score_first_ranks_first_and_repeating_it_moves_nobody(
    lean: Database, boards: Boards, drain: Drain, policy: ScorePolicy
) -> None:
    season = Season.make(lean, Boards(lean, 0), NOW, policy=policy)
    for minute, (participant, score) in enumerate([("z", 5), ("a", 5), ("m", 5)]):
        season.submit(participant, score, now=NOW, at=NOW - timedelta(minutes=9 - minute))
    if policy is not ScorePolicy.SUM:
        season.submit("z", 5, now=NOW, at=NOW)
    drain()
    for period in PERIODS:
        assert [found.participant_id for found in top(lean, season.board, period, 9)] == ["z", "a", "m"]
    season.check()


def test_reports_8_zero_is_a_score_and_an_edit_leaves_score_and_time_alone(
    lean: Database, boards: Boards, drain: Drain
) -> None:
    season = Season.make(lean, Boards(lean, 0), NOW)
    season.submit("zero", 0, now=NOW)
    season.submit("minus", -1, now=NOW)
    season.submit("zero", -5, now=NOW)
    edited = update_entry(lean, season.board, "zero", now=NOW, metadata='{"hat": "red"}', display_name="Zero")
    assert (edited.period, edited.display_name) == ("all-time", "Zero")
    drain()
    season.check()
    for period in PERIODS:
        found = entry(lean, season.board, period, "zero")
        assert found is not None
        assert (found.display_name, found.metadata) == ("Zero", '{"hat": "red"}')
    later = NOW + timedelta(days=1)
    update_entry(lean, season.board, "zero", now=later, display_name=None)
    names = [found and found.display_name for found in stored(lean, season.board, "zero")]
    assert names == [None, "Zero", None, "Zero"]
    with pytest.raises(EntryNotFound):
        update_entry(lean, season.board, "nobody", now=NOW, display_name="X")
    for wrong in ([], ["null"], [""], ["NaN"]):
        with pytest.raises(InvalidScore):
            submit_score(lean, season.board, Submission("none", wrong), now=NOW)
    assert entry(lean, season.board, "all-time", "none") is None


@pytest.mark.parametrize(("mode", "tie_break"), [*zip(CounterMode, TieBreak, strict=True)])
def test_reports_10_a_submission_that_loses_moves_no_rank_and_writes_no_counter(
    db: Database, boards: Boards, drain: Drain, mode: CounterMode, tie_break: TieBreak
) -> None:
    season = Season.make(db, boards, NOW, counter_mode=mode, tie_break=tie_break)
    for number in range(6):
        season.submit(f"p{number}", number // 2, now=NOW)
    drain()
    with metered() as meter:
        season.submit("p5", 1, now=NOW)
        season.submit("p4", 0, now=NOW, submission_id="1")
    assert meter.write_units <= 4 + 2  # four refusals, and a receipt
    assert drain() == 0
    season.check(page_sizes=[4], participants=["p4"])
