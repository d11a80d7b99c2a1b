"""Hide, restore, remove: reversible, in every period, recorded, and idempotent."""

import random
import uuid
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from core.boards import Boards
from core.domain.board import define_board
from core.domain.entry_item import entry_key
from core.domain.errors import (
    EntryNotFound,
    EntryRemoved,
    InvalidInput,
    LeaderboardClosed,
)
from core.domain.model import Board, CounterMode, PeriodKind, ScorePolicy
from core.domain.periods import periods_reached
from core.entries.read import board_items
from core.moderation.moderate import hide_entry, remove_entry, restore_entry
from core.ranking.pages import entries
from core.ranking.queries import entry, size
from core.records.audit import AuditAction, AuditContext, all_records
from core.records.flags import NO_FLAGS, flagged_participants, read_flags
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score, submit_scores
from core.tree.changes import read_change
from tests.support.dying import dying_at_each_request
from tests.support.graphql_api import SUBMIT, Api
from tests.support.interleaving import Process, World, virtual
from tests.support.twin import ALL_TIME, LONG_AGO, NOW, Twin, submit_to

Drain = Callable[[], int]
AUDIT = AuditContext("ops", NOW, "cheats")


def at(seconds: int) -> AuditContext:
    return replace(AUDIT, at=NOW + timedelta(seconds=seconds))


@pytest.mark.parametrize("mode", CounterMode)
def test_reports_18_a_banned_user_leaves_the_board_and_a_lifted_ban_brings_them_back(
    db: Database, boards: Boards, drain: Drain, mode: CounterMode
) -> None:
    twin = Twin.make(db, boards, counter_mode=mode, peak_writes_per_second=1)
    for number in range(6):
        twin.submit(f"p{number}", number // 2, at=number)
    twin.hide("p4")
    drain()
    twin.check()
    twin.restore("p4")
    drain()
    twin.check()


def test_reports_18_an_unban_keeps_the_order_among_ties(db: Database, boards: Boards, drain: Drain) -> None:
    """The first to reach a score is first again, whatever came in while they were hidden."""
    twin = Twin.make(db, boards)
    twin.submit("first", 5, at=1)
    twin.hide("first")
    twin.submit("second", 5, at=2)
    twin.submit("first", 4, at=3)  # no better: it moves nothing
    twin.restore("first")
    drain()
    twin.check()
    assert [one.participant for one in twin.oracle.top(2)] == ["first", "second"]


@pytest.mark.parametrize("policy", ScorePolicy)
def test_submissions_of_a_hidden_participant_count_unseen(
    db: Database, boards: Boards, drain: Drain, policy: ScorePolicy
) -> None:
    twin = Twin.make(db, boards, policy=policy)
    twin.submit("p", 1, at=0)
    twin.submit("q", 2, at=0)
    twin.hide("p")
    twin.submit("p", 7, at=1)
    drain()
    twin.check()
    twin.restore("p")
    drain()
    twin.check()


@pytest.mark.parametrize("policy", ScorePolicy)
@pytest.mark.parametrize("mode", CounterMode)
def test_a_late_retry_does_not_bring_a_removed_participant_back(
    db: Database, boards: Boards, drain: Drain, mode: CounterMode, policy: ScorePolicy
) -> None:
    twin = Twin.make(db, boards, counter_mode=mode, policy=policy, peak_writes_per_second=1)
    twin.submit("p", 9, at=1)
    twin.remove("p", at=5)
    twin.submit("p", 9, at=1)
    twin.submit("p", 99, at=5)
    drain()
    twin.check()
    assert "p" not in twin.oracle.entries
    twin.submit("p", 3, at=6)  # a new one counts, from the first
    assert twin.oracle.entries["p"].submissions == 1
    twin.submit("p", 99, at=4)  # and still lets none from before in
    drain()
    twin.check()
    twin.submit("p", 4, at=7)
    drain()
    twin.check()


def test_only_submissions_from_before_a_removal_are_refused(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards)
    twin.submit("p", 9)
    twin.remove("p", at=5)
    attempts = [Submission("p", [f"{at}"], achieved_at=NOW + timedelta(seconds=at)) for at in (4, 6, 5, 7)]
    outcomes = submit_scores(db, twin.board, attempts, now=NOW + timedelta(days=1))
    assert [isinstance(one, EntryRemoved) for one in outcomes] == [True, False, True, False]
    found = entry(db, twin.board, ALL_TIME, "p")
    assert found
    assert (found.score, found.submissions) == ((7,), 2)


def test_a_tombstone_has_the_participants_id_and_expires(db: Database, boards: Boards, drain: Drain) -> None:
    twin = Twin.make(db, boards)
    submission = Submission("p", ["1"], NOW, display_name="Ann", metadata='{"a":1}', sequence=("file", 1))
    submit_scores(db, twin.board, [submission], now=NOW)
    remove_entry(db, twin.board, "p", at(5))
    key = entry_key(twin.board, ALL_TIME, "p")
    left = db.client.get_item(TableName=db.tables.scores, Key=key)["Item"]
    assert set(left) == {"participant", "standings", "version", "write_id", "removed_at", "expires_at"}
    assert int(left["expires_at"]["N"]) == int((NOW + timedelta(days=30, seconds=5)).timestamp())
    drain()
    gone = {"SequenceNumber": "9", "ApproximateCreationDateTime": 0, "Keys": key, "OldImage": left}
    assert read_change({"dynamodb": gone}).old is None  # as when TTL deletes it: no malformed record
    twin.submit("p", 2, at=6)
    assert "expires_at" not in db.client.get_item(TableName=db.tables.scores, Key=key)["Item"]


@pytest.mark.parametrize(
    "mode",
    [
        CounterMode.STREAM,
        *(pytest.param(mode, marks=pytest.mark.thorough) for mode in CounterMode if mode != "STREAM"),
    ],
)
@pytest.mark.parametrize("what", [hide_entry, restore_entry, remove_entry])
def test_moderating_again_completes_what_died_at_any_request(
    db: Database, boards: Boards, drain: Drain, mode: CounterMode, what: Callable[..., Any]
) -> None:
    def begin() -> Twin:
        twin = Twin.make(db, boards, counter_mode=mode, peak_writes_per_second=1)
        twin.submit("p", 1)
        twin.submit("q", 2)
        if what is restore_entry:
            twin.hide("p")
        return twin

    def do(twin: Twin, dying: Database) -> None:
        what(dying, twin.board, "p", at(5))

    def compare(twin: Twin) -> None:
        if what is hide_entry:
            twin.oracle.hidden.add("p")
        elif what is restore_entry:
            twin.oracle.hidden.discard("p")
        else:
            twin.oracle.remove("p", at(5).at)
        drain()
        # INLINE counts after the write: a death in between leaves a drift, as documented.
        if mode is not CounterMode.INLINE:
            twin.check(page_sizes=[1000], radii=[], participants=["p"])
        actions = [one.action for one in all_records(db, twin.board.id)]
        assert AuditAction[what.__name__.removesuffix("_entry").upper()] in actions

    assert dying_at_each_request(db, begin, do, compare) >= 3


def test_the_record_says_who_when_and_why_and_survives_the_entry(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards)
    twin.submit("p", 1)
    hide_entry(db, twin.board, "p", at(1))
    hide_entry(db, twin.board, "p", at(2))  # hidden already: nothing to record
    restore_entry(db, twin.board, "p", replace(at(3), actor="chief", reason=None))
    remove_entry(db, twin.board, "p", at(4))
    boards.close(twin.board.id, at(5))
    found = [(one.action.value, one.actor, one.at, one.reason) for one in all_records(db, twin.board.id)]
    assert found == [
        ("CLOSE", "ops", at(5).at, "cheats"),
        ("REMOVE", "ops", at(4).at, "cheats"),
        ("RESTORE", "chief", at(3).at, None),
        ("HIDE", "ops", at(1).at, "cheats"),
    ]
    assert {one.participant_id for one in all_records(db, twin.board.id)} == {"p", None}


def test_a_participant_who_is_not_on_the_board_cannot_be_hidden(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards, id="x")
    other = Twin.make(db, boards, id="x#y")  # another board, whose keys begin alike
    other.submit("p", 1)
    for what in (hide_entry, restore_entry):
        with pytest.raises(EntryNotFound):
            what(db, twin.board, "p", AUDIT)
        with pytest.raises(InvalidInput):
            what(db, twin.board, "", AUDIT)
    with pytest.raises(InvalidInput, match="reason"):
        hide_entry(db, other.board, "p", replace(AUDIT, reason="x" * 2000))
    assert not remove_entry(db, twin.board, "p", AUDIT)
    assert list(all_records(db, "x")) == []
    assert list(flagged_participants(db, twin.board)) == []
    other.check_own("p")


def test_a_reason_that_breaks_a_rule_is_refused_by_every_action(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards)
    twin.submit("p", 1)
    hide_entry(db, twin.board, "p", AUDIT)
    for reason in ("x" * 500_000, "x" * 1_025, "\ud800", "\0"):
        audit = replace(AUDIT, reason=reason)
        for deal in (boards.close, boards.reopen, boards.delete):
            with pytest.raises(InvalidInput, match="reason"):
                deal(twin.board.id, audit)
        for what in (hide_entry, restore_entry, remove_entry):
            with pytest.raises(InvalidInput, match="reason"):
                what(db, twin.board, "p", audit)
    assert [one.action.value for one in all_records(db, twin.board.id)] == ["HIDE"]


def test_reports_22_a_tournament_ends_early_and_a_board_reopens(
    db: Database, boards: Boards, drain: Drain
) -> None:
    """Closing needs no version, so that nobody's edit can get in its way."""
    twin = Twin.make(db, boards)
    twin.submit("p", 1)
    twin.board = boards.close(twin.board.id, AUDIT)
    with pytest.raises(LeaderboardClosed):
        submit_to(db, twin.board, "p", (2,), NOW)
    [outcome] = submit_scores(db, twin.board, [Submission("p", ["2"])], now=NOW)
    assert isinstance(outcome, LeaderboardClosed)
    twin.hide("p")
    twin.restore("p")
    twin.board = boards.reopen(twin.board.id, AUDIT)
    twin.submit("p", 2)
    drain()
    twin.check()


def test_over_graphql(db: Database, boards: Boards) -> None:
    api = Api(db, boards)
    api.board()
    api.submit("ann", "5")
    target = 'leaderboardId: "board", participantId: "ann"'
    hidden = api.data(f'mutation {{ hideEntry({target}, reason: "bot") {{ hidden rank {{ rank }} }} }}')
    assert hidden == {"hidden": True, "rank": None}
    restored = api.data(f"mutation {{ restoreEntry({target}) {{ hidden rank {{ rank }} }} }}")
    assert restored == {"hidden": False, "rank": {"rank": 1}}
    assert api.data('mutation { closeLeaderboard(id: "board") { closed version } }') == {
        "closed": True,
        "version": 2,
    }
    attempt = {"leaderboardId": "board", "participantId": "x", "score": ["1"]}
    assert api.refusal(SUBMIT, input=attempt)[0] == "LeaderboardClosed"
    assert api.data('mutation { reopenLeaderboard(id: "board") { closed version } }') == {
        "closed": False,
        "version": 3,
    }
    assert [(one.action.value, one.actor, one.reason) for one in all_records(db, "board")] == [
        ("REOPEN", "admin", None),
        ("CLOSE", "admin", None),
        ("RESTORE", "admin", None),
        ("HIDE", "admin", "bot"),
    ]


def test_an_id_that_only_looks_alike_is_not_moderated(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards)
    for name in ("é", "\u0435"):
        twin.submit(name, 1)
    twin.hide("é")
    twin.check_own("\u0435")  # Cyrillic
    assert list(flagged_participants(db, twin.board)) == ["é"]
    assert LONG_AGO.at < NOW


ON_PERIODS = [PeriodKind.ALL_TIME, PeriodKind.DAILY, PeriodKind.WEEKLY]


def standing(db: Database, twin: Twin, participant: str, when: datetime) -> dict[str, bool]:
    """Return by period whether each entry of a participant is hidden, as of a moment."""
    periods = periods_reached(twin.board, when, when)
    found = {period: entry(db, twin.board, period, participant, lambda _: True) for period in periods}
    return {period: one.hidden for period, one in found.items() if one}


@pytest.mark.parametrize("policy", ScorePolicy)
@pytest.mark.parametrize("mode", [CounterMode.STREAM, CounterMode.TRANSACTIONAL])
def test_a_hidden_participant_stays_hidden_in_periods_that_begin_later(
    db: Database, boards: Boards, drain: Drain, policy: ScorePolicy, mode: CounterMode
) -> None:
    twin = Twin.make(
        db, boards, periods=ON_PERIODS, policy=policy, counter_mode=mode, peak_writes_per_second=1
    )
    tomorrow = NOW + timedelta(days=1)
    submit_score(db, twin.board, Submission("p", ["5"], NOW), now=NOW)
    hide_entry(db, twin.board, "p", AUDIT)
    submit_score(db, twin.board, Submission("p", ["7"], tomorrow), now=tomorrow)
    assert standing(db, twin, "p", tomorrow) == {
        "all-time": True,
        "daily-2026-12-01": True,
        "weekly-2026-W49": True,
    }
    drain()
    for period in ("all-time", "daily-2026-11-30", "daily-2026-12-01", "weekly-2026-W49"):
        assert size(db, twin.board, period) == 0
        assert entries(db, twin.board, period, 10).items == []
    restore_entry(db, twin.board, "p", AUDIT)
    drain()
    assert set(standing(db, twin, "p", tomorrow).values()) == {False}
    assert [size(db, twin.board, period) for period in ("all-time", "daily-2026-12-01")] == [1, 1]


def test_a_late_retry_is_refused_in_periods_without_an_entry_to_remove(db: Database, boards: Boards) -> None:
    """A score of yesterday comes today for the first time, after the removal."""
    twin = Twin.make(db, boards, periods=ON_PERIODS)
    yesterday = NOW - timedelta(hours=13)
    submit_score(db, twin.board, Submission("p", ["5"], NOW), now=NOW)
    remove_entry(db, twin.board, "p", at(5))
    for attempts in (
        [Submission("p", ["9"], yesterday)],
        [Submission("p", ["9"], yesterday, submission_id="x")],
    ):
        [outcome] = submit_scores(db, twin.board, attempts, now=NOW + timedelta(seconds=9))
        assert isinstance(outcome, EntryRemoved)
    assert standing(db, twin, "p", yesterday) == {}
    assert standing(db, twin, "p", NOW) == {}


@pytest.mark.parametrize("seeds", [range(40), pytest.param(range(40, 400), marks=pytest.mark.thorough)])
def test_hiding_and_restoring_at_once_leaves_every_period_alike(
    lean: Database, monkeypatch: pytest.MonkeyPatch, seeds: range
) -> None:
    """As the flags say that were written last; a death on the way is made good by doing it again."""
    mixed = []
    for seed in seeds:
        with monkeypatch.context() as patch:
            world = World(lean, random.Random(seed))
            virtual(patch, world)
            board = Boards(lean).create(
                define_board(id=f"race-{uuid.uuid4().hex[:8]}", now=NOW, periods=list(PeriodKind))
            )
            submit_score(lean, board, Submission("p", ["5"], NOW), now=NOW)

            def operate(act: Callable[..., object], board: Board, process: Process) -> None:
                act(process.db, board, "p", AUDIT)

            operators = [
                world.add(f"operator {number}", partial(operate, act, board))
                for number, act in enumerate((hide_entry, restore_entry, hide_entry, restore_entry))
            ]
            hide_entry(lean, board, "p", AUDIT)
            world.run(operators)
            hidden = {
                item["standings"]["S"]: "rank_shard" not in item for item in board_items(lean, board, "p")
            }
            flags = read_flags(lean, board, ["p"]).get("p", NO_FLAGS)
            if set(hidden.values()) != {flags.hidden}:
                mixed.append(seed)
    assert mixed == []
