"""Submit scores, one or many at once: check, read, and make an attempt for each period.

What is written to the periods, and whether apart or together, is in `per_period`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

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
from core.entries.write import Item
from core.records.flags import NO_FLAGS, ModerationFlags, read_flags
from core.storage.database import Database, batch_get
from core.storage.parallel import run_all
from core.submissions.attempt import Attempt, SourceNumber
from core.submissions.per_period import Snapshot, repeat, submit_apart, submit_together, submit_unread
from core.submissions.receipts import IdentifiedSubmission

# A clock may run a little fast, but a score from the future would hold its place against honest ones.
_MAX_CLOCK_SKEW = timedelta(minutes=5)
# Refusals that concern one submission alone, and would be the same again.
_REFUSALS = (InvalidScore, InvalidInput, LeaderboardClosed, EntryRemoved, SubmissionConflict)


@dataclass(frozen=True, slots=True)
class Submission:
    """A participant's score for one board, as a client sends it.

    `metadata` is JSON text. A display name or metadata left out stays as it was. A submission that is not
    accepted changes no metadata; its display name comes through unless an entry's own was given later. With
    a `submission_id` a retry changes nothing, for as long as the board's retention says. `sequence` is
    (source, number) of an ordered source such as an import: a number that an entry has seen from that source
    changes nothing (SUM and LATEST; BEST does not need it).
    """

    participant_id: str
    score: Sequence[str]
    achieved_at: datetime | None = None
    display_name: str | None = None
    metadata: str | None = None
    submission_id: str | None = None
    sequence: SourceNumber | None = None

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
    table and, if the rank key moved, 2 on the index; 1 if refused. SUM, LATEST and mode INLINE read first: a
    read unit more, and a failed write of 1 unit for each time that another writer was faster. A new display
    name with a refused score is a write more: 1 unit on the table and 1 on the index. In one transaction,
    which is SUM over several periods and all that has an id, the table's units are doubled; an id is 1 read
    unit and 2 write units more. A retry with it only reads. Where there are periods that end, a read unit
    more tells whether the participant is hidden or was removed.
    """
    checked = _check(board, submission, now)
    if (
        board.policy is ScorePolicy.BEST
        and board.counter_mode is CounterMode.STREAM  # the others count from the entry as it was read
        and checked.identified is None
    ):
        flags = _read_flags(db, board, {submission.participant_id})
        return submit_unread(db, checked.attempts, flags.get(submission.participant_id, NO_FLAGS))
    snapshots, receipts = _read(db, board, [checked])
    return _submit(db, board, checked, snapshots[submission.participant_id], receipts)


def submit_scores(
    db: Database, board: Board, submissions: Sequence[Submission], *, now: datetime
) -> list[SubmitResult | Exception]:
    """Submit up to 100 scores to one board, each with an outcome of its own, in the order given.

    A refused one leaves the others alone. But where one fails for a passing reason (Throttled, a lost
    connection), the same participant's later ones are not tried and fail likewise, so that their order is
    never broken.

    Raises:
        InvalidInput: too many at once; nothing is stored.

    Costs a read unit for each entry and each submission id, in one round trip, and then the writes of those
    that change an entry, side by side for different participants: as in `submit_score`, without its read.
    """
    if len(submissions) > MAX_SUBMISSIONS:
        raise InvalidInput(f"inputs: must have at most {MAX_SUBMISSIONS} submissions, not {len(submissions)}")
    outcomes: dict[int, SubmitResult | Exception] = {}
    by_participant: dict[str, list[tuple[int, _Checked]]] = {}
    for index, submission in enumerate(submissions):
        try:
            checked = _check(board, submission, now)
        except LeaderboardError as refusal:
            outcomes[index] = refusal
        else:
            by_participant.setdefault(submission.participant_id, []).append((index, checked))
    snapshots, receipts = _read(
        db, board, [checked for indexed in by_participant.values() for _, checked in indexed]
    )

    def submit_those_of(participant_id: str) -> None:
        for index, checked in by_participant[participant_id]:
            try:
                outcomes[index] = _submit(db, board, checked, snapshots[participant_id], receipts)
            except _REFUSALS as refusal:
                outcomes[index] = refusal
            except Exception as failure:  # for the caller to judge; other participants' go on
                outcomes.update((at, failure) for at, _ in by_participant[participant_id] if at >= index)
                return

    run_all([partial(submit_those_of, participant_id) for participant_id in by_participant])
    return [outcomes[index] for index in range(len(submissions))]


def check_submission(board: Board, submission: Submission, *, now: datetime) -> None:
    """Check a submission as `submit_score` does, without reading or storing anything.

    Raises:
        InvalidScore, InvalidInput, LeaderboardClosed: as `submit_score`.
    """
    _check(board, submission, now)


@dataclass(frozen=True, slots=True)
class _Checked:
    """A submission whose fields keep the rules. `refusal` is why one with an id has no attempts.

    It is refused for that only if there is no receipt: an earlier try may have been accepted in time.
    """

    participant_id: str
    attempts: Sequence[Attempt]
    identified: IdentifiedSubmission | None
    refusal: LeaderboardError | None


def _check(board: Board, submission: Submission, now: datetime) -> _Checked:
    """Check a submission and make its attempts.

    Raises:
        InvalidScore: naming the component and the rule.
        InvalidInput: a field breaks a rule, or it has no id and a period is over for too long.
        LeaderboardClosed: it has no id and the board takes no submissions.
    """
    check_id("participantId", submission.participant_id)
    if submission.submission_id is not None:
        check_id("submissionId", submission.submission_id)
    check_texts(submission.texts)
    achieved_at = instant_achieved(submission.achieved_at, now)
    score = parse_score(board.components, submission.score)
    attempts: Sequence[Attempt] = ()
    refusal = None
    try:
        attempts = _attempts(board, submission, score, achieved_at, now)
    except (InvalidInput, LeaderboardClosed) as error:
        if submission.submission_id is None:
            raise
        refusal = error
    identified = None
    if submission.submission_id is not None:
        # The time only if it was given: a retry that comes later is the same submission.
        given_at = submission.achieved_at and achieved_at.isoformat()
        body = (submission.participant_id, score, given_at, submission.texts)
        identified = IdentifiedSubmission(board, submission.submission_id, body, now)
    return _Checked(submission.participant_id, attempts, identified, refusal)


def _attempts(
    board: Board, submission: Submission, score: tuple[int, ...], achieved_at: datetime, now: datetime
) -> list[Attempt]:
    """Return an attempt for each period that a submission reaches.

    Raises:
        InvalidInput: one of them has been over for too long.
        LeaderboardClosed: the board takes no submissions.
    """
    if board.closed:
        raise LeaderboardClosed(f"leaderboardId: {board.id!r} takes no submissions until it is reopened")
    texts, sequence = submission.texts, submission.sequence
    return [
        Attempt(board, period, submission.participant_id, score, achieved_at, texts, sequence)
        for period in periods_reached(board, achieved_at, now)
    ]


def instant_achieved(achieved_at: datetime | None, now: datetime) -> datetime:
    """Return the instant that a score counts from, in UTC: now, or what the caller says.

    Raises:
        InvalidInput: it lies ahead of now or outside the calendar, or has no offset.
    """
    if achieved_at is None:
        return now.astimezone(UTC)
    if achieved_at.tzinfo is None:
        raise InvalidInput("achievedAt: must have an offset, such as 2026-11-30T12:00:00Z")
    if achieved_at > now + _MAX_CLOCK_SKEW:
        raise InvalidInput(f"achievedAt: must not be more than {_MAX_CLOCK_SKEW.seconds} s ahead of now")
    try:
        return achieved_at.astimezone(UTC)
    except OverflowError:
        raise InvalidInput("achievedAt: must be from year 1 on, in UTC") from None


def _read(
    db: Database, board: Board, submissions: Sequence[_Checked]
) -> tuple[dict[str, Snapshot], dict[str, Item]]:
    """Read each participant's snapshot, and the receipts that there are, in one round trip."""
    entry_keys = {
        (attempt.participant_id, attempt.period): entry_key(board, attempt.period, attempt.participant_id)
        for checked in submissions
        for attempt in checked.attempts
    }
    names = {checked.identified.name for checked in submissions if checked.identified}
    participants = {checked.participant_id for checked in submissions}
    reads: list[Callable[[], Any]] = [
        partial(batch_get, db, db.tables.scores, list(entry_keys.values()), consistent=True),
        partial(
            batch_get, db, db.tables.receipts, [{"receipt": {"S": name}} for name in names], consistent=True
        ),
        partial(_read_flags, db, board, participants),
    ]
    entries, receipts, flags = run_all(reads)
    snapshots = {participant: Snapshot(flags.get(participant, NO_FLAGS)) for participant in participants}
    for item in entries:
        _, period, _ = split_standings(item["standings"]["S"])
        snapshots[item["participant"]["S"]].entries[period] = item
    return snapshots, {item["receipt"]["S"]: item for item in receipts}


def _read_flags(db: Database, board: Board, participant_ids: Collection[str]) -> dict[str, ModerationFlags]:
    """Read moderation flags, a read unit each, where a board has periods in which entries may be missing.

    An all-time entry itself says whether it is hidden or was removed.
    """
    if tuple(board.periods) == (PeriodKind.ALL_TIME,):
        return {}
    return read_flags(db, board, participant_ids)


def _submit(
    db: Database, board: Board, checked: _Checked, snapshot: Snapshot, receipts: Mapping[str, Item]
) -> SubmitResult:
    """Answer a retry from its receipt, or make the attempts."""
    identified = checked.identified
    if identified is not None and identified.name in receipts:
        # Before any refusal: what was accepted once is not refused for what has changed since.
        return repeat(db, board, checked.participant_id, identified.read(receipts[identified.name]))
    if checked.refusal is not None:
        raise checked.refusal
    if identified is None and (board.policy is not ScorePolicy.SUM or len(checked.attempts) == 1):
        return submit_apart(db, checked.attempts, snapshot)
    return submit_together(db, checked.attempts, snapshot, identified)
