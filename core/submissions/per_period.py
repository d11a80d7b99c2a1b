"""All the attempts of one submission: one to each period that it reaches, made apart or all together.

apart      each entry in a write of its own. A death in between leaves some periods without it, but then the
           caller has had no answer, and submitting again completes them: neither BEST nor LATEST minds.
together   all or none, with the receipt if there is one, in a transaction at twice the units: what a sum
           needs, that cannot be added again, and what a submission id promises.
"""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from core.domain.entry_item import entry_from_item, entry_key
from core.domain.errors import Throttled
from core.domain.keys import split_standings
from core.domain.model import Board, SubmitResult
from core.domain.periods import ALL_TIME
from core.entries.write import EntryWrite, Item, write_together
from core.storage.backoff import back_off
from core.storage.database import Database, batch_get
from core.storage.parallel import run_all
from core.submissions.attempt import ATTEMPTS, Attempt, Sequenced, Written
from core.submissions.receipts import Receipt, Request

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

Known = dict[str, Item]  # by period, one participant's entries as they were read or written last


def attempt_best(attempts: Sequence[Attempt]) -> SubmitResult:
    """Make each attempt without reading first; as `Attempt.submit_best`."""
    return _result(attempts, run_all([attempt.submit_best for attempt in attempts]))


def attempt_apart(attempts: Sequence[Attempt], sequence: Sequenced | None, known: Known) -> SubmitResult:
    """Make each attempt on what is known of its entry, and note what stands then; as `submit_on_version`."""
    made = run_all(
        [partial(attempt.submit_on_version, sequence, known.get(attempt.period, {})) for attempt in attempts]
    )
    known.update((attempt.period, written.after) for attempt, written in zip(attempts, made, strict=True))
    return _result(attempts, made)


def attempt_together(
    db: Database,
    attempts: Sequence[Attempt],
    sequence: Sequenced | None,
    known: Known,
    request: Request | None,
) -> SubmitResult:
    """Make all attempts or none on what is known of the entries, and note what stands then.

    Raises:
        InvalidScore: a sum leaves its component's bounds in one of the periods.
        SubmissionConflict: the id is another submission's.
        Throttled: other writers were faster too many times.

    Costs two write units a KB for each entry that changes and, with a `request`, for its receipt.
    """
    board = attempts[0].board
    for number in range(ATTEMPTS):
        steps = [attempt.decide(known.get(attempt.period, {}), sequence) for attempt in attempts]
        writing = [
            (attempt, step)
            for attempt, step in zip(attempts, steps, strict=True)
            if isinstance(step, EntryWrite)
        ]
        made = [
            attempt.done(step, step.before or {}) if isinstance(step, EntryWrite) else step
            for attempt, step in zip(attempts, steps, strict=True)
        ]
        result = _result(attempts, made)
        refused = write_together(
            db, board, [write for _, write in writing], _receipt(db, request, result, attempts)
        )
        if refused is None:
            known.update(
                (attempt.period, written.after) for attempt, written in zip(attempts, made, strict=True)
            )
            return result
        if request and refused[-1] is not None:
            return repeat(db, board, attempts[0].participant_id, request.read(refused[-1]))
        for (attempt, _), stands in zip(writing, refused, strict=False):
            if stands is not None:
                known[attempt.period] = stands
        back_off(number)
    raise Throttled("too many submissions for one participant at once; nothing was stored, try again")


def repeat(db: Database, board: Board, participant_id: str, receipt: Receipt) -> SubmitResult:
    """Answer a submission that has been made before: a read unit for each period that it reached."""
    keys = [entry_key(board, period, participant_id) for period in receipt.periods]
    found = {
        split_standings(item["standings"]["S"])[1]: item
        for item in batch_get(db, db.tables.scores, keys, consistent=True)
        if "rank_key" in item
    }
    return SubmitResult(
        accepted=receipt.accepted,
        duplicate=True,
        entries=tuple(
            entry_from_item(board, period, found[period]) for period in receipt.periods if period in found
        ),
        previous_score=receipt.previous_score,
    )


def _receipt(
    db: Database, request: Request | None, result: SubmitResult, attempts: Sequence[Attempt]
) -> "TransactWriteItemTypeDef | None":
    if request is None:
        return None
    periods = tuple(attempt.period for attempt in attempts)
    return {"Put": request.put(db, Receipt(result.accepted, result.previous_score, periods))}


def _result(attempts: Sequence[Attempt], made: Sequence[Written]) -> SubmitResult:
    """Tell the client what became of the submission."""
    previous = None
    entries = []
    for attempt, written in zip(attempts, made, strict=True):
        entry = attempt.entry(written.after)
        if entry:
            entries.append(entry)
        if attempt.period == ALL_TIME:
            before = attempt.entry(written.before) if written.accepted else entry
            previous = before.score if before else None
    return SubmitResult(
        accepted=any(written.accepted for written in made),
        duplicate=all(written.duplicate for written in made),
        entries=tuple(entries),
        previous_score=previous,
    )
