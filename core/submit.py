"""Submitting scores: one, or many at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from core.database import Database, batch_get
from core.errors import EntryRemoved, InvalidInput, InvalidScore, LeaderboardClosed, LeaderboardError
from core.ids import check_id
from core.items import entry_key
from core.limits import MAX_SUBMISSIONS
from core.model import Board, CounterMode, ScorePolicy, SubmitResult
from core.offer import Offer, Sequenced
from core.parallel import run_all
from core.periods import ALL_TIME
from core.scores import parse_score
from core.texts import check_display_name, check_metadata

if TYPE_CHECKING:
    from core.entry_writes import Item

# A clock may run a little fast, but a score from the future would hold its place against honest ones.
MAX_CLOCK_SKEW = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Submission:
    """A participant's score for one board, as a client sends it.

    `metadata` is JSON text. A display name or metadata left out stays as it was; with a submission that is
    not accepted nothing changes. `sequence` is (source, number) of an ordered source such as an import: a
    number that the entry has seen from that source changes nothing (SUM and LATEST; BEST needs no such care).
    """

    participant_id: str
    score: Sequence[str]
    achieved_at: datetime | None = None
    display_name: str | None = None
    metadata: str | None = None
    sequence: Sequenced | None = None


def submit_score(db: Database, board: Board, submission: Submission, *, now: datetime) -> SubmitResult:
    """Submit a score; the board's policy decides what stands afterwards.

    Raises:
        LeaderboardClosed: the board takes no submissions; nothing is stored.
        InvalidScore: naming the component and the rule; nothing is stored.
        InvalidInput: another field breaks a rule; nothing is stored.
        EntryRemoved: the participant was removed after the score was achieved; nothing is stored.
        Throttled: too many writers on this one entry; nothing is stored.

    Costs, for entries under 1 KB: BEST is one conditional UpdateItem: 1 write unit on the table and, if the
    rank key moved, 2 on the index; 1 if refused. SUM and LATEST read first: a read unit more, and a failed
    write of 1 unit for each time that another writer was faster.
    """
    offer = _check(db, board, submission, now)
    if board.policy is ScorePolicy.BEST and board.counter_mode is not CounterMode.TRANSACTIONAL:
        return offer.result(offer.submit_best())
    return offer.result(offer.submit_on_version(submission.sequence))


def submit_scores(
    db: Database, board: Board, submissions: Sequence[Submission], *, now: datetime
) -> list[SubmitResult | Exception]:
    """Submit up to 100 scores to one board, each with an outcome of its own, in the order given.

    One that is refused leaves the others alone; but where one fails for a passing reason (Throttled, a lost
    connection), the same participant's later ones are not tried and fail likewise, so that their order is
    never broken.

    Raises:
        InvalidInput: too many at once; nothing is stored.

    Costs a read unit for each participant, in one round trip, and then the writes of those that change an
    entry, side by side for different participants: as in `submit_score`, without its read.
    """
    if len(submissions) > MAX_SUBMISSIONS:
        raise InvalidInput(f"inputs: must be at most {MAX_SUBMISSIONS}, not {len(submissions)}")
    outcomes: dict[int, SubmitResult | Exception] = {}
    offers: dict[str, list[tuple[int, Offer]]] = {}
    for at, submission in enumerate(submissions):
        try:
            offer = _check(db, board, submission, now)
        except LeaderboardError as refusal:
            outcomes[at] = refusal
        else:
            offers.setdefault(submission.participant_id, []).append((at, offer))
    keys = [entry_key(board, ALL_TIME, participant_id) for participant_id in offers]
    items = {
        item["participant"]["S"]: item for item in batch_get(db, db.tables.scores, keys, consistent=True)
    }

    def take(participant_id: str) -> None:
        known: Item = items.get(participant_id, {})
        for at, offer in offers[participant_id]:
            try:
                written = offer.submit_on_version(submissions[at].sequence, known)
                outcomes[at], known = offer.result(written), written.after
            except (InvalidScore, EntryRemoved) as refusal:
                outcomes[at] = refusal
            except Exception as failure:  # the caller's to judge, and no reason to fail the others
                outcomes.update((later, failure) for later, _ in offers[participant_id] if later >= at)
                return

    run_all([partial(take, participant_id) for participant_id in offers])
    return [outcomes[at] for at in range(len(submissions))]


def _check(db: Database, board: Board, submission: Submission, now: datetime) -> Offer:
    """Check a submission and make an offer of it.

    Raises:
        LeaderboardClosed: the board takes no submissions.
        InvalidScore: naming the component and the rule.
        InvalidInput: another field breaks a rule.
    """
    if board.closed:
        raise LeaderboardClosed(f"leaderboardId: {board.id!r} takes no submissions until it is reopened")
    check_id("participantId", submission.participant_id)
    if submission.display_name is not None:
        check_display_name(submission.display_name)
    if submission.metadata is not None:
        check_metadata(submission.metadata)
    texts = {"display_name": submission.display_name, "metadata": submission.metadata}
    return Offer(
        db=db,
        board=board,
        period=ALL_TIME,
        participant_id=submission.participant_id,
        achieved_at=check_achieved_at(submission.achieved_at, now),
        score=parse_score(board.components, submission.score),
        texts={name: text for name, text in texts.items() if text is not None},
    )


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
