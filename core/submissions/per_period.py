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
from core.entries.write import Item, write_entries, write_entry
from core.records.flags import NO_FLAGS, ModerationFlags
from core.storage.backoff import back_off
from core.storage.clock import now_ms
from core.storage.database import Database, batch_get
from core.storage.parallel import run_all
from core.submissions.attempt import Attempt, Decision
from core.submissions.receipts import IdentifiedSubmission, Receipt

_TRIES = 100
_BUSY = "too many submissions for one participant at once; nothing was stored, try again"


@dataclass(slots=True)
class Snapshot:
    """What was read of a participant: flags, and entries by period as they were last read or written."""

    flags: ModerationFlags = NO_FLAGS
    entries: dict[str, Item] = field(default_factory=dict)

    def item(self, attempt: Attempt) -> Item:
        """Return the item of an attempt's entry, empty if there is none."""
        return self.entries.get(attempt.period, {})


def submit_unread(db: Database, attempts: Sequence[Attempt], flags: ModerationFlags) -> SubmitResult:
    """Make each attempt of policy BEST in a write of its own, without reading its entry first.

    Raises:
        EntryRemoved: the participant was removed after the score was achieved.
        Throttled: other writers were faster too many times.

    Costs one conditional UpdateItem for each; more where an entry is hidden and `flags` do not say so.
    """
    decisions = run_all([partial(_make_unread, db, attempt, flags) for attempt in attempts])
    return _submit_result(attempts, decisions)


def submit_apart(db: Database, attempts: Sequence[Attempt], snapshot: Snapshot) -> SubmitResult:
    """Make each attempt in a write of its own, and keep the items after it in `snapshot`.

    Raises:
        InvalidScore: a sum leaves its component's bounds.
        EntryRemoved: the participant was removed after the score was achieved.
        Throttled: other writers were faster too many times.

    Costs a conditional UpdateItem for each entry that changes, and one for each time that it lost a race.
    """
    decisions = run_all(
        [partial(_make, db, attempt, snapshot.item(attempt), snapshot.flags) for attempt in attempts]
    )
    snapshot.entries |= _items_after(attempts, decisions)
    return _submit_result(attempts, decisions)


def submit_together(
    db: Database, attempts: Sequence[Attempt], snapshot: Snapshot, identified: IdentifiedSubmission | None
) -> SubmitResult:
    """Make all attempts or none in one transaction, and keep the items after it in `snapshot`.

    Raises:
        InvalidScore: a sum leaves its component's bounds in one of the periods.
        EntryRemoved: the participant was removed after the score was achieved.
        SubmissionConflict: the id is another submission's.
        Throttled: other writers were faster too many times.

    Costs two write units a KB for each entry that changes and for the receipt.
    """
    board = attempts[0].board
    periods = tuple(attempt.period for attempt in attempts)
    for number in range(_TRIES):
        now = now_ms()
        decisions = [attempt.decide(snapshot.item(attempt), snapshot.flags, now) for attempt in attempts]
        result = _submit_result(attempts, decisions)
        receipt = Receipt(result.accepted, result.previous_score, periods)
        also = identified.put(db, receipt) if identified else None
        writes = {period: made.write for period, made in zip(periods, decisions, strict=True) if made.write}
        failed = write_entries(db, board, list(writes.values()), also)
        if failed is None:
            snapshot.entries |= _items_after(attempts, decisions)
            return result
        if identified and failed[-1] is not None:
            return repeat(db, board, attempts[0].participant_id, identified.read(failed[-1]))
        found = zip(writes, failed, strict=False)  # without the receipt, which is last
        snapshot.entries |= {period: item for period, item in found if item is not None}
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


def _make_unread(db: Database, attempt: Attempt, flags: ModerationFlags) -> Decision:
    write = attempt.write_if_better(flags, now_ms())
    before, found = write_entry(db, attempt.board, write)
    if found is not None:
        return _make(db, attempt, found, flags)
    if before is None:  # what stood before is lost with the answer
        key = entry_key(attempt.board, attempt.period, attempt.participant_id)
        answer = db.client.get_item(TableName=db.tables.scores, Key=key, ConsistentRead=True)
        return Decision({}, answer.get("Item", {}), write, accepted=True)
    return attempt.decision(write, before)


def _make(db: Database, attempt: Attempt, item: Item, flags: ModerationFlags) -> Decision:
    """Decide on `item` and write if the entry is unchanged; on conflict decide again on the item found."""
    for number in range(_TRIES):
        decision = attempt.decide(item, flags, now_ms())
        if decision.write is None:
            return decision
        _, found = write_entry(db, attempt.board, decision.write)
        if found is None:
            return decision
        item = found
        back_off(number)
    raise Throttled(_BUSY)


def _items_after(attempts: Sequence[Attempt], decisions: Sequence[Decision]) -> dict[str, Item]:
    return {attempt.period: decision.after for attempt, decision in zip(attempts, decisions, strict=True)}


def _submit_result(attempts: Sequence[Attempt], decisions: Sequence[Decision]) -> SubmitResult:
    previous = None
    entries = []
    for attempt, decision in zip(attempts, decisions, strict=True):
        entry = attempt.entry(decision.after)
        if entry:
            entries.append(entry)
        if attempt.period == ALL_TIME:
            before = attempt.entry(decision.before)
            previous = before.score if before else None
    return SubmitResult(
        accepted=any(decision.accepted for decision in decisions),
        duplicate=all(decision.duplicate for decision in decisions),
        entries=tuple(entries),
        previous_score=previous,
    )
