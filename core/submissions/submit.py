"""Submitting scores: one, or many at once, each to every period of its board."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from core.domain.entry_item import TEXTS, check_texts, entry_key
from core.domain.errors import (
    EntryRemoved,
    InvalidInput,
    InvalidScore,
    LeaderboardClosed,
    LeaderboardError,
    SubmissionConflict,
)
from core.domain.keys import split_standings
from core.domain.limits import MAX_SUBMISSIONS
from core.domain.model import Board, CounterMode, PeriodKind, ScorePolicy, SubmitResult
from core.domain.periods import periods_reached
from core.domain.scores import parse_score
from core.domain.text import check_id
from core.records.flags import NO_FLAGS, ModerationFlags, read_flags
from core.storage.database import Database, batch_get
from core.storage.parallel import run_all
from core.submissions.attempt import Attempt, Sequenced
from core.submissions.per_period import Known, attempt_apart, attempt_best, attempt_together, repeat
from core.submissions.receipts import Request

if TYPE_CHECKING:
    from core.entries.write import Item

# A clock may run a little fast, but a score from the future would hold its place against honest ones.
MAX_CLOCK_SKEW = timedelta(minutes=5)
# Lasting, and one submission's own: they leave the participant's next ones alone.
_REFUSALS = (InvalidScore, InvalidInput, LeaderboardClosed, EntryRemoved, SubmissionConflict)


@dataclass(frozen=True, slots=True)
class Submission:
    """A participant's score for one board, as a client sends it.

    `metadata` is JSON text. A display name or metadata left out stays as it was; with a submission that is
    not accepted nothing changes. With a `submission_id` a retry changes nothing, for as long as the board's
    retention says. `sequence` is (source, number) of an ordered source such as an import: a number that an
    entry has seen from that source changes nothing (SUM and LATEST; BEST needs no such care).
    """

    participant_id: str
    score: Sequence[str]
    achieved_at: datetime | None = None
    display_name: str | None = None
    metadata: str | None = None
    submission_id: str | None = None
    sequence: Sequenced | None = None

    @property
    def texts(self) -> dict[str, str]:
        """Return the entry's texts that came with it, by attribute."""
        texts = ((one.name, getattr(self, one.name)) for one in TEXTS)
        return {name: text for name, text in texts if text is not None}


def submit_score(db: Database, board: Board, submission: Submission, *, now: datetime) -> SubmitResult:
    """Submit a score; the board's policy decides what stands afterwards in each period.

    Raises:
        LeaderboardClosed: the board takes no submissions; nothing is stored.
        InvalidScore: naming the component and the rule; nothing is stored.
        InvalidInput: another field breaks a rule; nothing is stored.
        EntryRemoved: the participant was removed after the score was achieved; nothing is stored.
        SubmissionConflict: the submission id came with another submission before; nothing is stored.
        Throttled: too many writers on one entry. With a submission id, or where sums are added, nothing is
            stored; else perhaps in some periods, and submitting again completes the others.

    Costs for each period, with entries under 1 KB: BEST is one conditional UpdateItem: 1 write unit on the
    table and, if the rank key moved, 2 on the index; 1 if refused. SUM and LATEST read first: a read unit
    more, and a failed write of 1 unit for each time that another writer was faster. In one transaction, which
    is SUM over several periods and all that has an id, the table's units are doubled; an id is 1 read unit
    and 2 write units more. A retry with it only reads. Where there are periods that end, a read unit more
    tells whether the participant is hidden or was removed.
    """
    if (
        submission.submission_id is None
        and board.policy is ScorePolicy.BEST
        and board.counter_mode is not CounterMode.TRANSACTIONAL
    ):
        checked = _check(db, board, submission, now)
        mark = _read_marks(db, board, [checked]).get(submission.participant_id, NO_FLAGS)
        if not mark.hidden:
            return attempt_best(checked.attempts(mark))
    (outcome,) = submit_scores(db, board, [submission], now=now)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def submit_scores(
    db: Database, board: Board, submissions: Sequence[Submission], *, now: datetime
) -> list[SubmitResult | Exception]:
    """Submit up to 100 scores to one board, each with an outcome of its own, in the order given.

    One that is refused leaves the others alone; but where one fails for a passing reason (Throttled, a lost
    connection), the same participant's later ones are not tried and fail likewise, so that their order is
    never broken.

    Raises:
        InvalidInput: too many at once; nothing is stored.

    Costs a read unit for each entry and each submission id, in one round trip, and then the writes of those
    that change an entry, side by side for different participants: as in `submit_score`, without its read.
    """
    if len(submissions) > MAX_SUBMISSIONS:
        raise InvalidInput(f"inputs: must be at most {MAX_SUBMISSIONS}, not {len(submissions)}")
    outcomes: dict[int, SubmitResult | Exception] = {}
    checked: dict[str, list[tuple[int, _Checked]]] = {}
    for at, submission in enumerate(submissions):
        try:
            one = _check(db, board, submission, now)
        except LeaderboardError as refusal:
            outcomes[at] = refusal
        else:
            checked.setdefault(submission.participant_id, []).append((at, one))
    every = [one for of_one in checked.values() for _, one in of_one]
    reads: list[Callable[[], Any]] = [
        partial(_read, db, board, every),
        partial(_read_marks, db, board, every),
    ]
    (entries, receipts), marks = run_all(reads)

    def take(participant_id: str) -> None:
        known = entries.get(participant_id, {})
        for at, one in checked[participant_id]:
            try:
                mark = marks.get(participant_id, NO_FLAGS)
                outcomes[at] = _submit(db, board, one, mark, known, receipts)
            except _REFUSALS as refusal:
                outcomes[at] = refusal
            except Exception as failure:  # the caller's to judge, and no reason to fail the others
                outcomes.update((later, failure) for later, _ in checked[participant_id] if later >= at)
                return

    run_all([partial(take, participant_id) for participant_id in checked])
    return [outcomes[at] for at in range(len(submissions))]


@dataclass(frozen=True, slots=True)
class _Checked:
    """A submission in which all is right but, perhaps, how late it comes: after its periods, or a closing."""

    participant_id: str
    made: Sequence[Attempt] | InvalidInput | LeaderboardClosed
    request: Request | None
    sequence: Sequenced | None

    def attempts(self, mark: ModerationFlags) -> Sequence[Attempt]:
        """Give an attempt to each period, of a participant with this mark.

        Raises:
            InvalidInput: it comes too late for one of them.
            LeaderboardClosed: the board takes no submissions.
        """
        if isinstance(self.made, LeaderboardError):
            raise self.made
        return self.made if mark == NO_FLAGS else [replace(attempt, mark=mark) for attempt in self.made]


def _submit(
    db: Database,
    board: Board,
    checked: _Checked,
    mark: ModerationFlags,
    known: Known,
    receipts: "Mapping[str, Item]",
) -> SubmitResult:
    """Submit on what is known of the participant's entries, and of the ids."""
    request = checked.request
    if request is not None and request.name in receipts:
        # First of all: what was taken once is not refused for what has changed since.
        return repeat(db, board, checked.participant_id, request.read(receipts[request.name]))
    attempts = checked.attempts(mark)
    if request is None and (board.policy is not ScorePolicy.SUM or len(attempts) == 1):
        return attempt_apart(attempts, checked.sequence, known)
    return attempt_together(db, attempts, checked.sequence, known, request)


def _read(
    db: Database, board: Board, checked: Sequence[_Checked]
) -> "tuple[dict[str, Known], dict[str, Item]]":
    """Read all entries in question, by participant and period, and the receipts that are there."""
    wanted = {
        (attempt.participant_id, attempt.period)
        for one in checked
        if not isinstance(one.made, LeaderboardError)
        for attempt in one.made
    }
    keys = [entry_key(board, period, participant_id) for participant_id, period in wanted]
    names = {one.request.name for one in checked if one.request}
    items, receipts = run_all(
        [
            partial(batch_get, db, db.tables.scores, keys, consistent=True),
            partial(
                batch_get,
                db,
                db.tables.receipts,
                [{"receipt": {"S": name}} for name in names],
                consistent=True,
            ),
        ]
    )
    entries: dict[str, Known] = {}
    for item in items:
        _, period, _ = split_standings(item["standings"]["S"])
        entries.setdefault(item["participant"]["S"], {})[period] = item
    return entries, {item["receipt"]["S"]: item for item in receipts}


def _read_marks(db: Database, board: Board, checked: Sequence[_Checked]) -> dict[str, ModerationFlags]:
    """Read what moderation has done to the participants: a read unit each.

    Only where a board has periods that end: an entry says it itself, and all time has but one.
    """
    if tuple(board.periods) == (PeriodKind.ALL_TIME,):
        return {}
    return read_flags(db, board, {one.participant_id for one in checked})


def _check(db: Database, board: Board, submission: Submission, now: datetime) -> _Checked:
    """Check a submission and make the attempts of it.

    Raises:
        InvalidScore: naming the component and the rule.
        InvalidInput: a field breaks a rule.
    """
    check_id("participantId", submission.participant_id)
    if submission.submission_id is not None:
        check_id("submissionId", submission.submission_id)
    check_texts(submission.texts)
    achieved_at = check_achieved_at(submission.achieved_at, now)
    score = parse_score(board.components, submission.score)
    made: Sequence[Attempt] | InvalidInput | LeaderboardClosed
    try:
        made = _offers(db, board, submission, score, achieved_at, now)
    except (InvalidInput, LeaderboardClosed) as too_late:
        made = too_late
    request = None
    if submission.submission_id is not None:
        # The time only if it was given: a retry that comes later is the same submission.
        given_at = submission.achieved_at and achieved_at.isoformat()
        body = (submission.participant_id, score, given_at, submission.texts)
        request = Request(board, submission.submission_id, body, now)
    return _Checked(submission.participant_id, made, request, submission.sequence)


def _offers(
    db: Database,
    board: Board,
    submission: Submission,
    score: tuple[int, ...],
    achieved_at: datetime,
    now: datetime,
) -> list[Attempt]:
    """Make an attempt to each period that a submission reaches.

    Raises:
        InvalidInput: one of them has been over for too long.
        LeaderboardClosed: the board takes no submissions.
    """
    if board.closed:
        raise LeaderboardClosed(f"leaderboardId: {board.id!r} takes no submissions until it is reopened")
    return [
        Attempt(
            db=db,
            board=board,
            period=period,
            participant_id=submission.participant_id,
            achieved_at=achieved_at,
            score=score,
            texts=submission.texts,
        )
        for period in periods_reached(board, achieved_at, now)
    ]


def check_achieved_at(achieved_at: datetime | None, now: datetime) -> datetime:
    """Give the instant that a score counts from: now, or what the caller says unless it lies ahead.

    Raises:
        InvalidInput: the instant has no offset, or lies in the future.
    """
    if achieved_at is None:
        return now.astimezone(UTC)
    if achieved_at.tzinfo is None:
        raise InvalidInput("achievedAt: must have an offset, such as 2026-11-30T12:00:00Z")
    if achieved_at > now + MAX_CLOCK_SKEW:
        raise InvalidInput(f"achievedAt: must not be more than {MAX_CLOCK_SKEW.seconds} s ahead of now")
    try:
        return achieved_at.astimezone(UTC)
    except OverflowError:
        raise InvalidInput("achievedAt: must be from year 1 on, in UTC") from None
