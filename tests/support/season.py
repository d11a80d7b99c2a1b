"""A board with periods, an oracle for each period, and what was answered to each submission.

The period of an instant is found with strftime. After a change of zone it follows from the rule: the running
period ends when it was to end, and the ones after it are later, in the new zone.
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from core.boards import Boards
from core.domain.board import define_board
from core.domain.errors import InvalidInput, InvalidScore, SubmissionConflict
from core.domain.model import Board, PeriodKind, Retention, SubmitResult
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score, submit_scores
from tests.support.oracle import OutOfBounds
from tests.support.twin import ALL_TIME, Twin, standing_of, written

FORMATS = {"DAILY": "daily-%Y-%m-%d", "WEEKLY": "weekly-%G-W%V", "MONTHLY": "monthly-%Y-%m"}
DAY = timedelta(days=1)
# So long that nothing of a test's fixed date has expired when the test is run.
KEPT = Retention(daily_days=36500, weekly_days=36500, monthly_days=36500)
_numbers = itertools.count()

Body = tuple[str, tuple[int, ...], datetime | None]


def key_in(kind: str, moment: datetime, zone: str) -> str:
    return moment.astimezone(ZoneInfo(zone)).strftime(FORMATS[kind]) if kind in FORMATS else ALL_TIME


def next_key(kind: str, key: str) -> str:
    """Return the calendar's next key after this one."""
    day = datetime.fromisoformat("2000-01-01T12:00+00:00") + timedelta(
        days=max(0, (int(key.split("-")[1]) - 2000) * 365 - 10)
    )
    while key_in(kind, day, "UTC") <= key:
        day += DAY
    return key_in(kind, day, "UTC")


@dataclass
class Season:
    """A board in the database, and what it must hold."""

    db: Database
    boards: Boards
    board: Board
    twins: dict[str, Twin] = field(default_factory=dict)
    answers: dict[str, tuple[Body, SubmitResult, list[str]]] = field(default_factory=dict)  # by submission id
    touched: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        zone = self.board.time_zone
        self.rules: dict[str, Callable[[datetime], str]] = {
            kind.value: partial(key_in, kind.value, zone=zone) for kind in PeriodKind
        }

    @classmethod
    def make(cls, db: Database, boards: Boards, now: datetime, **definition: Any) -> "Season":
        """Create a board whose entries never expire, by default of all four kinds of period."""
        definition.setdefault("id", f"season-{next(_numbers)}")
        definition.setdefault("periods", list(PeriodKind))
        board = replace(define_board(now=now, **definition), retention=KEPT)
        return cls(db, boards, boards.create(board))

    def twin(self, period: str) -> Twin:
        if period not in self.twins:
            self.twins[period] = Twin(self.db, self.boards, self.board, period)
        return self.twins[period]

    def keys(self, moment: datetime) -> list[str]:
        return [self.rules[kind.value](moment) for kind in self.board.periods]

    def accepts(self, at: datetime, now: datetime) -> bool:
        """Return whether no period of `at` ended before the grace began."""
        grace_start = now - timedelta(hours=self.board.retention.grace_hours)
        return all(key >= oldest for key, oldest in zip(self.keys(at), self.keys(grace_start), strict=True))

    # Writes

    def submit(
        self,
        participant: str,
        *score: int,
        now: datetime,
        at: datetime | None = None,
        submission_id: str | None = None,
        bulk: bool = False,
    ) -> None:
        """Submit a score; the result and the entries must be as expected, also for a repeated id."""
        body = (participant, score, at)
        submission = Submission(
            participant,
            [
                written(component.kind, value, component.decimals)
                for component, value in zip(self.board.components, score, strict=True)
            ],
            achieved_at=at,
            submission_id=submission_id,
        )

        def send() -> SubmitResult:
            if not bulk:
                return submit_score(self.db, self.board, submission, now=now)
            (outcome,) = submit_scores(self.db, self.board, [submission], now=now)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        if submission_id is not None and submission_id in self.answers:
            self._repeat(submission_id, body, send)
            return
        keys = self.keys(at or now)
        if not self.accepts(at or now, now):
            with pytest.raises(InvalidInput, match="achievedAt: is in"):
                send()
            return
        before = self.twin(ALL_TIME).oracle.entries.get(participant)
        twins = [self.twin(key) for key in keys]
        tried = [copy(twin.oracle) for twin in twins]
        for oracle in tried:
            oracle.entries, oracle.previous = dict(oracle.entries), dict(oracle.previous)
        try:
            accepted = [oracle.submit(participant, score, at or now) for oracle in tried]
        except OutOfBounds:
            with pytest.raises(InvalidScore):
                send()
            return
        for twin, oracle in zip(twins, tried, strict=True):
            twin.oracle = oracle
        self.touched.update(keys)
        result = send()
        assert result.accepted is any(accepted)
        assert not result.duplicate
        in_periods = ALL_TIME in keys
        assert result.previous_score == (before.score if before and in_periods else None)
        self._check_entries(result, participant, keys)
        if submission_id is not None:
            self.answers[submission_id] = (body, result, keys)

    def _repeat(self, submission_id: str, body: Body, send: Callable[[], SubmitResult]) -> None:
        first_body, first, keys = self.answers[submission_id]
        if body != first_body:
            with pytest.raises(SubmissionConflict, match="submissionId"):
                send()
            return
        result = send()
        assert result.duplicate
        assert (result.accepted, result.previous_score) == (first.accepted, first.previous_score)
        self._check_entries(result, body[0], keys)

    def _check_entries(self, result: SubmitResult, participant: str, keys: Sequence[str]) -> None:
        expected = {key: self.twin(key).oracle.entries.get(participant) for key in keys}
        assert [(entry.period, standing_of(entry)) for entry in result.entries] == [
            (key, expected[key]) for key in keys if expected[key] is not None
        ]

    def change_zone(self, zone: str, now: datetime) -> None:
        self.board = self.boards.update(self.board.id, self.board.version, time_zone=zone, now=now)
        for kind in FORMATS:
            self.rules[kind] = _changed(kind, self.rules[kind], zone, now + timedelta(minutes=1))

    def change_periods(self, periods: Sequence[PeriodKind]) -> None:
        self.board = self.boards.update(self.board.id, self.board.version, periods=periods)

    # Reads, compared

    def check_touched(self) -> None:
        """Compare every read in the periods that have changed since the last call."""
        touched, self.touched = self.touched, set()
        self.check(touched, page_sizes=[2], radii=[1])

    def check(self, periods: Iterable[str] | None = None, **how: Any) -> None:
        """Compare every read in some or all periods; the stream must have been counted."""
        for period in self.twins if periods is None else periods:
            self.twin(period).check(**how)


def _changed(
    kind: str, before: Callable[[datetime], str], zone: str, changed_at: datetime
) -> Callable[[datetime], str]:
    running = before(changed_at)
    first = next_key(kind, running)

    def key(moment: datetime) -> str:
        old = before(moment)
        return old if old <= running else max(key_in(kind, moment, zone), first)

    return key
