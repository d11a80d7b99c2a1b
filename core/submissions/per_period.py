"""Write one submission to every period that it reaches: one attempt for each, apart or together.

apart      each entry in a write of its own. A death in between leaves some periods without the score, but
           then the caller has no answer, and submitting again completes them: BEST and LATEST allow that.
together   all entries or none, with the receipt if there is one, in a transaction at twice the units: for
           a sum, which must not be added again, and for a submission id.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from core.domain.entry_item import entry_from_item, entry_key
from core.domain.errors import Throttled
from core.domain.keys import split_standings
from core.domain.model import Board, SubmitResult
from core.domain.periods import ALL_TIME
from core.entries.write import EntryWrite, Item, write_entries, write_entry
from core.records.flags import NO_FLAGS, ModerationFlags
from core.storage.backoff import back_off
from core.storage.clock import now_ms
from core.storage.database import Database, batch_get
from core.storage.parallel import run_all
from core.submissions.attempt import Attempt, AttemptResult
from core.submissions.receipts import IdentifiedSubmission, Receipt

_TRIES = 100
_BUSY = "too many submissions for one participant at once; nothing was stored, try again"


@dataclass(slots=True)
class Known:
    """What was read of a participant: flags, and entries by period as they were last read or written."""

    flags: ModerationFlags = NO_FLAGS
    entries: dict[str, Item] = field(default_factory=dict)


def submit_unread(db: Database, attempts: Sequence[Attempt], flags: ModerationFlags) -> SubmitResult:
    """Make each attempt of policy BEST without reading its entry first.

    Raises:
        EntryRemoved: the participant was removed after the score was achieved.
        Throttled: other writers were faster too many times.

    Costs one conditional UpdateItem for each; more where an entry is hidden and `flags` do not say so.
    """
    return _submit_result(
        attempts, run_all([partial(_make_unread, db, attempt, flags) for attempt in attempts])
    )


def submit_apart(db: Database, attempts: Sequence[Attempt], known: Known) -> SubmitResult:
    """Make each attempt in a write of its own, and note in `known` what stands then.

    Raises:
        InvalidScore: a sum leaves its component's bounds.
        EntryRemoved: the participant was removed after the score was achieved.
        Throttled: other writers were faster too many times.

    Costs a conditional UpdateItem for each entry that changes, and one for each time that it lost a race.
    """
    results = run_all(
        [
            partial(_make, db, attempt, known.entries.get(attempt.period, {}), known.flags)
            for attempt in attempts
        ]
    )
    known.entries |= _items_after(attempts, results)
    return _submit_result(attempts, results)


def submit_together(
    db: Database, attempts: Sequence[Attempt], known: Known, identified: IdentifiedSubmission | None
) -> SubmitResult:
    """Make all attempts or none in one transaction, and note in `known` what stands then.

    Raises:
        InvalidScore: a sum leaves its component's bounds in one of the periods.
        EntryRemoved: the participant was removed after the score was achieved.
        SubmissionConflict: the id is another submission's.
        Throttled: other writers were faster too many times.

    Costs two write units a KB for each entry that changes and for the receipt.
    """
    board, participant_id = attempts[0].board, attempts[0].participant_id
    periods = tuple(attempt.period for attempt in attempts)
    for number in range(_TRIES):
        now = now_ms()
        steps = [
            attempt.decide(known.entries.get(attempt.period, {}), known.flags, now) for attempt in attempts
        ]
        writes = {
            period: step for period, step in zip(periods, steps, strict=True) if isinstance(step, EntryWrite)
        }
        results = [
            attempt.result(step, step.before or {}) if isinstance(step, EntryWrite) else step
            for attempt, step in zip(attempts, steps, strict=True)
        ]
        result = _submit_result(attempts, results)
        receipt = Receipt(result.accepted, result.previous_score, periods)
        also = identified.put(db, receipt) if identified else None
        failed = write_entries(db, board, list(writes.values()), also)
        if failed is None:
            known.entries |= _items_after(attempts, results)
            return result
        if identified and failed[-1] is not None:
            return repeat(db, board, participant_id, identified.read(failed[-1]))
        known.entries |= {
            period: item for period, item in zip(writes, failed, strict=False) if item is not None
        }
        back_off(number)
    raise Throttled(_BUSY)


def repeat(db: Database, board: Board, participant_id: str, receipt: Receipt) -> SubmitResult:
    """Return the answer to a retry: the receipt's, with the entries as they are now.

    Costs a read unit for each period that the submission reached.
    """
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


def _make_unread(db: Database, attempt: Attempt, flags: ModerationFlags) -> AttemptResult:
    result = _execute(db, attempt, attempt.write_if_better(flags, now_ms()))
    return result if result.accepted else _make(db, attempt, result.after, flags)


def _make(db: Database, attempt: Attempt, item: Item, flags: ModerationFlags) -> AttemptResult:
    """Decide on `item` and write if the entry is unchanged; on conflict decide again on the item found."""
    for number in range(_TRIES):
        step = attempt.decide(item, flags, now_ms())
        if isinstance(step, AttemptResult):
            return step
        result = _execute(db, attempt, step)
        if result.accepted:
            return result
        item = result.after
        back_off(number)
    raise Throttled(_BUSY)


def _execute(db: Database, attempt: Attempt, write: EntryWrite) -> AttemptResult:
    before, found = write_entry(db, attempt.board, write)
    if found is None:
        return attempt.result(write, before)
    # The AWS client sends a write again whose answer was lost: then it finds itself.
    return AttemptResult(write.before or {}, found, accepted=attempt.has_written(found))


def _items_after(attempts: Sequence[Attempt], results: Sequence[AttemptResult]) -> dict[str, Item]:
    return {attempt.period: result.after for attempt, result in zip(attempts, results, strict=True)}


def _submit_result(attempts: Sequence[Attempt], results: Sequence[AttemptResult]) -> SubmitResult:
    previous = None
    entries = []
    for attempt, result in zip(attempts, results, strict=True):
        entry = attempt.entry(result.after)
        if entry:
            entries.append(entry)
        if attempt.period == ALL_TIME:
            before = attempt.entry(result.before) if result.accepted else entry
            previous = before.score if before else None
    return SubmitResult(
        accepted=any(result.accepted for result in results),
        duplicate=all(result.duplicate for result in results),
        entries=tuple(entries),
        previous_score=previous,
    )
