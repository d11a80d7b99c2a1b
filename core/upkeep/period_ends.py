"""Call hooks when a period of a board has ended.

    record_set          record_id   what
    ~periods#race#g1    DAILY       the last period of this kind whose hooks have all been called

A period has ended once late scores are refused too, so that its entries change no more. Hooks are called for
each board and kind in the order of the periods, at least once each: a process may die before it records a
call, so a hook must change nothing when it is called again. After a pause of maintenance, calls begin with
the oldest period that is still kept.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from core.archives.period_hook import archive_ended_period
from core.boards import Boards
from core.domain.keys import SEPARATOR
from core.domain.model import Board, PeriodKind
from core.domain.periods import is_expired, period_before, period_end, period_key
from core.records.table import record_key
from core.storage.database import Database

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

PeriodEndHook = Callable[[Database, Board, str, datetime], None]  # the period's key, and the time now

# Rewards, leagues and events are added here.
PERIOD_END_HOOKS: tuple[PeriodEndHook, ...] = (archive_ended_period,)

_log = logging.getLogger(__name__)

_INDEX_LAG = timedelta(minutes=5)  # how long the index may take to show scores of the last moment


def call_period_end_hooks(
    db: Database, boards: Boards, now: datetime, hooks: Sequence[PeriodEndHook] = PERIOD_END_HOOKS
) -> None:
    """Call the hooks for every period that has ended on any board; a board that fails stops no other.

    Costs half a read unit for each 4 KB of boards and for each kind of period of each board; where a period
    has ended, a write unit and what the hooks cost.
    """
    for board in boards.every():
        for kind in board.periods:
            try:
                _call_for_kind(db, board, kind, now, hooks)
            except Exception:
                _log.exception("a hook failed at the end of a %s period of %r, trying again", kind, board.id)


def period_ends_set(board: Board) -> str:
    """Return the record set that tells up to which period a board's hooks have been called."""
    return f"~periods{SEPARATOR}{board.id}{SEPARATOR}{board.generation}"


def _call_for_kind(
    db: Database, board: Board, kind: PeriodKind, now: datetime, hooks: Sequence[PeriodEndHook]
) -> None:
    if kind is PeriodKind.ALL_TIME:
        return
    key = record_key(period_ends_set(board), kind.value)
    item = db.client.get_item(TableName=db.tables.records, Key=key).get("Item")
    for period in reversed(list(_ended(board, kind, item["period"]["S"] if item else "", now))):
        for hook in hooks:
            hook(db, board, period, now)
        called: dict[str, AttributeValueTypeDef] = {**key, "period": {"S": period}}
        db.client.put_item(TableName=db.tables.records, Item=called)


def _ended(board: Board, kind: PeriodKind, last: str, now: datetime) -> Iterator[str]:
    """Yield the periods after `last` that are over, grace included, the latest first."""
    closed = now - timedelta(hours=board.retention.grace_hours) - _INDEX_LAG
    period = period_key(board, kind, closed)
    oldest = board.created_at - timedelta(hours=board.retention.grace_hours)
    while True:
        end = period_end(board, period)
        if end is None or end < oldest or period <= last or is_expired(board, period, now):
            return
        if end <= closed:  # the first one has not ended, unless a change of zone has made it shorter
            yield period
        period = period_before(period)
