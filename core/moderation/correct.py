"""Correct a participant's score and when it was achieved, under any policy: what the operator says stands.

As in `moderate`, the audit record comes first, then each entry. If a process dies in between, doing the same
again completes it.
"""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from core.domain import rank_key
from core.domain.entry_item import PREVIOUS, entry_from_item, entry_key, is_entry
from core.domain.errors import EntryNotFound, InvalidInput
from core.domain.keys import split_standings
from core.domain.model import Board, Entry
from core.domain.periods import is_expired, periods_holding, resolve_period
from core.domain.scores import parse_score
from core.domain.text import check_id
from core.entries.write import Item
from core.moderation.moderate import change_entry, update_unchanged
from core.records.audit import AuditAction, AuditContext, check_reason, record
from core.storage.clock import now_ms
from core.storage.database import Database, batch_get
from core.submissions.submit import instant_achieved

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef


def correct_entry(
    db: Database,
    board: Board,
    participant_id: str,
    score: Sequence[str],
    audit: AuditContext,
    *,
    achieved_at: datetime | None = None,
    period: str | None = None,
) -> list[Entry]:
    """Set a participant's score, and `achieved_at` if given, whatever the policy. Return the entries.

    In one period, also one that has ended; or without it in every period that holds `achieved_at`; or
    without that too, in those of now. `achieved_at` sets the place among ties; left out, each entry keeps its
    own. A hidden entry stays hidden, and `submissions` stays. What stands already is neither written nor
    recorded. Closed boards are corrected too.

    Raises:
        EntryNotFound: the participant has no entry in these periods.
        InvalidScore: naming the component and the rule.
        InvalidInput: the id, the reason, the period (unknown or expired) or `achieved_at` (in the future or
            outside the period).
        Throttled: too many submissions at once; do it again.

    Costs a read unit for each period, 4 write units for the audit record, and for each entry what a
    submission costs that changes it.
    """
    check_id("participantId", participant_id)
    if not audit.reason:
        raise InvalidInput("reason: must not be empty")
    check_reason(audit.reason)
    values = parse_score(board.components, score)
    if achieved_at is not None:
        achieved_at = instant_achieved(achieved_at, audit.at)
    periods = _periods(board, period, achieved_at, audit.at)
    keys = [entry_key(board, key, participant_id) for key in periods]
    items = [item for item in batch_get(db, db.tables.scores, keys, consistent=True) if is_entry(item)]
    decide = partial(_correct, board, values, achieved_at)
    if any(decide(item) for item in items):
        records = record(db, AuditAction.CORRECT, audit, board_id=board.id, participant_id=participant_id)
        db.client.transact_write_items(TransactItems=records)
    changed = (change_entry(db, board, item, decide)[1] for item in items)
    found = {split_standings(item["standings"]["S"])[1]: item for item in changed if is_entry(item)}
    if not found:
        raise EntryNotFound(f"participantId: {participant_id!r} has no entry in {' or '.join(periods)}")
    return [entry_from_item(board, key, found[key]) for key in periods if key in found]


def _periods(board: Board, period: str | None, achieved_at: datetime | None, now: datetime) -> list[str]:
    if period is None:
        periods = periods_holding(board, achieved_at or now)
        kept = [key for key in periods if not is_expired(board, key, now)]
        if not kept:
            raise InvalidInput(f"achievedAt: is in {' and '.join(periods)}, which is gone")
        return kept
    key = resolve_period(board, period, now)
    if achieved_at is not None and key not in periods_holding(board, achieved_at):
        raise InvalidInput(f"achievedAt: must lie within the period, {key}")
    return [key]


def _correct(
    board: Board, score: tuple[int, ...], achieved_at: datetime | None, item: Item
) -> tuple[dict[str, Any], Item] | None:
    if not is_entry(item):
        return None
    entry = entry_from_item(board, split_standings(item["standings"]["S"])[1], item)
    moment = entry.achieved_at if achieved_at is None else achieved_at
    if (score, moment) == (entry.score, entry.achieved_at):
        return None
    sets: dict[str, AttributeValueTypeDef] = {
        "rank_key": {"B": rank_key.encode(board, score, moment, entry.participant_id)},
        "achieved_at": {"N": str(rank_key.microseconds(moment))},
        "written_at": {"N": str(now_ms())},
    }
    # What stood before was wrong: a sum does not go back to it.
    expression = f"SET {', '.join(f'{name} = :{name}' for name in sets)}, version = version + :one"
    update = update_unchanged(
        item, f"{expression} REMOVE {PREVIOUS}", {f":{name}": value for name, value in sets.items()}
    )
    kept = {"rank_shard": item["rank_shard"]} if "rank_shard" in item else {}
    return update, {**sets, **kept}
