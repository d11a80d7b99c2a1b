"""Correct an entry: up or down, under any policy, with its true place among ties, on the record."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.boards import Boards
from core.domain.board import ComponentInput
from core.domain.entry_item import PROJECTED, entry_key
from core.domain.errors import EntryNotFound, InvalidInput, InvalidScore
from core.domain.model import Board, CounterMode, PeriodKind, RankStrategy, ScorePolicy, SortOrder, TieBreak
from core.moderation.correct import correct_entry
from core.moderation.moderate import hide_entry
from core.ranking.queries import entry, size
from core.records.audit import AuditContext, all_records
from core.storage.database import Database, metered
from core.submissions.submit import Submission, submit_score
from core.upkeep.checks import check
from tests.support.dying import dying_at_each_request
from tests.support.twin import ALL_TIME, BY_OPERATOR, NOW, Twin, submit_to

Drain = Callable[[], int]
AUDIT = AuditContext("ops", NOW, "mistyped")
PERIODS = [PeriodKind.ALL_TIME, PeriodKind.DAILY, PeriodKind.WEEKLY]
TODAY, YESTERDAY, WEEK = "daily-2026-11-30", "daily-2026-11-29", "weekly-2026-W49"


def actions(db: Database, board: Board) -> list[str]:
    return [record.action.value for record in all_records(db, board.id)]


def scores(db: Database, board: Board, *periods: str) -> list[int | None]:
    """Return p's score in some periods."""
    found = [entry(db, board, period, "p") for period in periods]
    return [one.score[0] if one else None for one in found]


@pytest.mark.parametrize("policy", ScorePolicy)
@pytest.mark.parametrize("mode", CounterMode)
def test_a_score_is_corrected_up_and_down(
    db: Database, boards: Boards, drain: Drain, mode: CounterMode, policy: ScorePolicy
) -> None:
    twin = Twin.make(db, boards, counter_mode=mode, policy=policy, peak_writes_per_second=1)
    for number in range(6):
        twin.submit(f"p{number}", 2 ** (4 * number), at=number)
    for participant, score, at in (("p5", 1, None), ("p0", 2**21, 9), ("p3", -7, 2), ("p2", 256, 0)):
        twin.correct(participant, score, at=at)
        if mode is not CounterMode.STREAM:
            assert size(db, twin.board, ALL_TIME) == 6
            twin.check_ranks(twin.check_subset(list(twin.oracle.entries)), RankStrategy.TREE)
    drain()
    twin.check_strategies(page_sizes=(4,))
    report = check(db, twin.board, twin.standings, patience=0)
    assert [drift.where for drift in report.drifts] == []
    twin.submit("p5", 3, at=20)  # goes on from what was corrected
    drain()
    twin.check()


@pytest.mark.parametrize("tie_break", TieBreak)
def test_achieved_at_sets_the_place_among_ties(
    db: Database, boards: Boards, drain: Drain, tie_break: TieBreak
) -> None:
    twin = Twin.make(db, boards, tie_break=tie_break)
    for at, participant in enumerate("abcd"):
        twin.submit(participant, 9 if participant == "d" else 5, at=10 * at)
    twin.correct("d", 5)  # keeps its own: after a, b, c
    drain()
    twin.check()
    twin.correct("d", 5, at=15)
    twin.correct("a", 5, at=25)
    drain()
    twin.check()
    if tie_break is TieBreak.EARLIEST:
        assert [one.participant for one in twin.oracle.top(4)] == ["b", "d", "c", "a"]


@pytest.mark.parametrize("mode", CounterMode)
def test_a_hidden_entry_is_corrected_and_stays_hidden(
    db: Database, boards: Boards, drain: Drain, mode: CounterMode
) -> None:
    twin = Twin.make(db, boards, counter_mode=mode, peak_writes_per_second=1)
    twin.submit("p", 900)
    twin.submit("q", 5)
    twin.hide("p")
    twin.correct("p", 4)
    drain()
    twin.check()
    twin.restore("p")
    drain()
    twin.check()


def test_composite_scores_are_corrected_as_a_whole(db: Database, boards: Boards, drain: Drain) -> None:
    twin = Twin.make(
        db, boards, components=[ComponentInput("wins"), ComponentInput("time", order=SortOrder.ASCENDING)]
    )
    twin.submit("p", 3, 100)
    twin.submit("q", 3, 90)
    twin.correct("p", 3, 80)
    drain()
    twin.check()


def test_what_stands_already_is_neither_written_nor_recorded(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards, tie_break=TieBreak.PARTICIPANT)
    twin.submit("p", 5, at=1)
    for at in (None, 1):
        with metered() as meter:
            twin.correct("p", 5, at=at)
        assert meter.write_units == 0
    assert actions(db, twin.board) == []
    twin.correct("p", 5, at=2)  # the place stays, the time does not
    assert actions(db, twin.board) == ["CORRECT"]


def test_the_record_says_who_and_why(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards)
    twin.submit("p", 5)
    correct_entry(db, twin.board, "p", ["4"], AUDIT)
    (record,) = all_records(db, twin.board.id)
    assert (record.action.value, record.actor, record.at, record.participant_id, record.reason) == (
        "CORRECT",
        "ops",
        NOW,
        "p",
        "mistyped",
    )


# Periods


def in_periods(db: Database, boards: Boards) -> Board:
    """Return a board where p scored 10 yesterday, which was last week, and 20 today."""
    twin = Twin.make(db, boards, periods=PERIODS, policy=ScorePolicy.SUM)
    for days, score in ((1, "10"), (0, "20")):
        moment = NOW - timedelta(days=days)
        submit_score(db, twin.board, Submission("p", [score], moment), now=moment)
    return twin.board


def test_without_a_period_all_those_of_now_are_corrected(db: Database, boards: Boards) -> None:
    board = in_periods(db, boards)
    corrected = correct_entry(db, board, "p", ["7"], AUDIT)
    assert [one.period for one in corrected] == [ALL_TIME, TODAY, WEEK]
    assert scores(db, board, ALL_TIME, TODAY, WEEK, YESTERDAY) == [7, 7, 7, 10]
    assert [one.submissions for one in corrected] == [2, 1, 1]


def test_with_achieved_at_all_periods_that_hold_it_are_corrected(db: Database, boards: Boards) -> None:
    board = in_periods(db, boards)
    yesterday = NOW - timedelta(days=1, hours=2)
    corrected = correct_entry(db, board, "p", ["7"], AUDIT, achieved_at=yesterday)
    assert {one.period: one.achieved_at for one in corrected} == dict.fromkeys(
        [ALL_TIME, YESTERDAY, "weekly-2026-W48"], yesterday
    )
    assert scores(db, board, ALL_TIME, TODAY, WEEK, YESTERDAY) == [7, 20, 20, 7]


@pytest.mark.parametrize("period", [YESTERDAY, "weekly-2026-W48", ALL_TIME, "daily"])
def test_with_a_period_it_alone_is_corrected(db: Database, boards: Boards, period: str) -> None:
    board = in_periods(db, boards)
    (corrected,) = correct_entry(db, board, "p", ["7"], AUDIT, period=period)
    assert corrected.period == (TODAY if period == "daily" else period)
    every = [ALL_TIME, TODAY, WEEK, YESTERDAY, "weekly-2026-W48"]
    assert scores(db, board, *every).count(7) == 1


def test_an_ended_period_is_corrected_until_it_expires(db: Database) -> None:
    board = in_periods(db, Boards(db))
    later = replace(AUDIT, at=NOW + timedelta(days=30))
    (corrected,) = correct_entry(db, board, "p", ["7"], later, period=TODAY)
    assert corrected.score == (7,)
    expired = replace(AUDIT, at=NOW + timedelta(days=40))
    with pytest.raises(InvalidInput, match="period: daily-2026-11-30 is gone"):
        correct_entry(db, board, "p", ["8"], expired, period=TODAY)
    corrected, _ = correct_entry(db, board, "p", ["8"], expired, achieved_at=NOW)
    assert scores(db, board, ALL_TIME, TODAY, WEEK) == [8, 7, 8]  # the expired day is left alone


# Refusals


@pytest.mark.parametrize(
    ("change", "error", "rule"),
    [
        ({"score": ["101"]}, InvalidScore, "at most 100"),
        ({"score": ["-1"]}, InvalidScore, "at least 0"),
        ({"score": ["one"]}, InvalidScore, "whole number"),
        ({"score": []}, InvalidScore, "needs 1 value"),
        ({"achieved_at": NOW + timedelta(minutes=6)}, InvalidInput, "achievedAt: must not be more than"),
        ({"achieved_at": NOW.replace(tzinfo=None)}, InvalidInput, "achievedAt: must have an offset"),
        ({"achieved_at": NOW - timedelta(days=1), "period": TODAY}, InvalidInput, "achievedAt: must lie"),
        ({"period": "monthly"}, InvalidInput, "period: this board keeps no MONTHLY"),
        ({"period": "today"}, InvalidInput, "period: must be"),
        ({"period": YESTERDAY}, EntryNotFound, f"no entry in {YESTERDAY}"),
        ({"participant_id": "nobody"}, EntryNotFound, "participantId: 'nobody' has no entry"),
        ({"participant_id": ""}, InvalidInput, "participantId"),
        ({"audit": replace(AUDIT, reason="x" * 1_025)}, InvalidInput, "reason"),
        ({"audit": replace(AUDIT, reason="")}, InvalidInput, "reason: must not be empty"),
        (
            {"achieved_at": datetime(1, 1, 1, tzinfo=UTC)},
            InvalidInput,
            "achievedAt: is in daily-0001-01-01, which",
        ),
    ],
)
def test_what_breaks_a_rule_is_refused(
    db: Database, boards: Boards, change: dict[str, Any], error: type[Exception], rule: str
) -> None:
    board = Twin.make(
        db, boards, components=[ComponentInput(min="0", max="100")], periods=[PeriodKind.DAILY]
    ).board
    submit_score(db, board, Submission("p", ["5"], NOW), now=NOW)
    arguments = {"participant_id": "p", "score": ["6"], "audit": AUDIT, **change}
    with pytest.raises(error, match=rule):
        correct_entry(db, board, **arguments)
    assert scores(db, board, TODAY) == [5]
    assert actions(db, board) == []


def test_a_removed_participant_has_no_entry_to_correct(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards)
    twin.submit("p", 5)
    twin.remove("p", at=1)
    twin.correct("p", 6)  # the twin expects EntryNotFound
    assert actions(db, twin.board) == ["REMOVE"]


def test_a_closed_board_is_corrected(db: Database, boards: Boards, drain: Drain) -> None:
    twin = Twin.make(db, boards)
    twin.submit("p", 5)
    twin.board = boards.close(twin.board.id, AUDIT)
    twin.correct("p", 4)
    drain()
    twin.check()


# Races and deaths


@pytest.mark.parametrize("mode", CounterMode)
def test_no_submission_is_lost_to_a_correction_nor_the_other_way_round(
    db: Database, boards: Boards, drain: Drain, mode: CounterMode
) -> None:
    """Submissions add ones, corrections set multiples of 1,000: what was set last has only ones added."""
    board = Twin.make(db, boards, policy=ScorePolicy.SUM, counter_mode=mode, peak_writes_per_second=1).board
    submit_to(db, board, "p", [0], NOW)
    results: list[int] = []

    def act(number: int) -> None:
        if number % 5:
            submit_to(db, board, "p", [1], NOW + timedelta(seconds=number))
        else:
            (corrected,) = correct_entry(db, board, "p", [f"{1000 * (number + 1)}"], BY_OPERATOR)
            results.append(corrected.version)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(act, range(60)))
    found = entry(db, board, ALL_TIME, "p")
    assert found is not None
    assert (found.submissions, found.version) == (1 + 48, 1 + 60)
    assert len(set(results)) == 12
    # Each submission after the last correction added its one.
    assert found.score[0] % 1000 == found.version - max(results)
    drain()
    assert size(db, board, ALL_TIME) == 1
    report = check(db, board, f"{board.id}#{ALL_TIME}#{board.generation}", patience=0)
    assert [drift.where for drift in report.drifts] == []


@pytest.mark.parametrize("mode", [CounterMode.STREAM, CounterMode.TRANSACTIONAL])
def test_whenever_it_dies_doing_it_again_completes_it(
    db: Database, boards: Boards, drain: Drain, mode: CounterMode
) -> None:
    def begin() -> Twin:
        twin = Twin.make(db, boards, counter_mode=mode, periods=PERIODS[:2], peak_writes_per_second=1)
        submit_score(db, twin.board, Submission("p", ["5"], NOW), now=NOW)
        return twin

    def do(twin: Twin, mortal: Database) -> object:
        return correct_entry(mortal, twin.board, "p", ["3"], AUDIT)

    def compare(twin: Twin) -> None:
        drain()
        assert scores(db, twin.board, ALL_TIME, TODAY) == [3, 3]
        assert [size(db, twin.board, period) for period in (ALL_TIME, TODAY)] == [1, 1]
        assert set(actions(db, twin.board)) == {"CORRECT"}

    assert dying_at_each_request(db, begin, do, compare) >= 3


# A sum that goes back


def item(db: Database, board: Board) -> dict[str, Any]:
    found: dict[str, Any] = db.client.get_item(
        TableName=db.tables.scores, Key=entry_key(board, ALL_TIME, "p")
    )["Item"]
    return found


@pytest.mark.parametrize("mode", CounterMode)
def test_a_sum_of_ten_more_and_ten_less_keeps_its_place_among_ties(
    db: Database, boards: Boards, drain: Drain, mode: CounterMode
) -> None:
    twin = Twin.make(db, boards, policy=ScorePolicy.SUM, counter_mode=mode, peak_writes_per_second=1)
    twin.submit("p", 50, at=1)
    twin.submit("q", 50, at=2)
    twin.submit("p", 10, at=3)
    twin.submit("p", -10, at=4)
    assert [(one.participant, one.achieved_at) for one in twin.oracle.top(1)] == [
        ("p", NOW + timedelta(seconds=1))
    ]
    drain()
    twin.check()
    twin.submit("q", -10, at=5)
    twin.submit("q", 5, at=6)
    twin.submit("q", 5, at=7)  # in two steps: not covered
    drain()
    twin.check()
    assert twin.oracle.entries["q"].achieved_at == NOW + timedelta(seconds=7)


def test_a_sum_does_not_go_back_to_what_was_corrected(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards, policy=ScorePolicy.SUM)
    twin.submit("p", 50, at=1)
    twin.submit("p", 10, at=3)
    twin.correct("p", 40)
    assert "previous" not in item(db, twin.board)
    twin.submit("p", 10, at=5)
    assert twin.oracle.entries["p"].achieved_at == NOW + timedelta(seconds=5)


def test_what_a_sum_remembers_is_small_and_costs_nothing(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards, policy=ScorePolicy.SUM)
    twin.submit("p", 50, at=1)
    assert "previous" not in item(db, twin.board)
    with metered() as meter:
        twin.submit("p", 10, at=3)
    assert meter.write_units == 3  # the entry, and its place on the index left and taken
    assert len(bytes(item(db, twin.board)["previous"]["B"])) == 16
    assert "previous" not in PROJECTED
    hide_entry(db, twin.board, "p", AUDIT)
    twin.oracle.hidden.add("p")
    twin.submit("p", -10, at=4)
    assert twin.oracle.entries["p"].achieved_at == NOW + timedelta(seconds=1)
    other = Twin.make(db, boards, policy=ScorePolicy.LATEST)
    other.submit("p", 1, at=1)
    other.submit("p", 2, at=2)
    assert "previous" not in item(db, other.board)
