"""Call hooks when a period of a board has ended.

    record_set          record_id   what
    ~periods#race#g1    DAILY       the last period of this kind whose hooks have all been called

A period has ended once late scores are refused too, so that its entries change no more. Hooks are called for
each board and kind in the order of the periods, at least once each: a process may die before it records a
call, so a hook must change nothing when it is called again. After a pause of maintenance, calls begin with
the oldest period that is still kept.

A board's item says when its next period will have ended (`due_at`), so boards for which nothing is due are
not read. A board that was created or changed is due at once, which sets its time.
"""

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from core.archives.period_hook import archive_ended_period
from core.boards import LISTED, board_key
from core.domain.board import board_from_json
from core.domain.keys import SEPARATOR
from core.domain.model import Board, PeriodKind
from core.domain.periods import is_expired, next_end, period_before, period_end, period_key
from core.domain.rank_key import microseconds
from core.records.table import record_key
from core.storage.database import Database, query_all
from core.storage.tables import DUE_INDEX

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

PeriodEndHook = Callable[[Database, Board, str, datetime], None]  # the period's key, and the time now

# Rewards, leagues and events are added here.
PERIOD_END_HOOKS: tuple[PeriodEndHook, ...] = (archive_ended_period,)

_log = logging.getLogger(__name__)

_INDEX_LAG = timedelta(minutes=5)  # how long the index may take to show scores of the last moment


def call_period_end_hooks(
    db: Database, now: datetime, seconds: float, hooks: Sequence[PeriodEndHook] = PERIOD_END_HOOKS
) -> None:
    """Call the hooks for every period that has ended on any board; a board that fails stops no other.

    Ends after some `seconds` and one board at least; the next call goes on. Costs half a read unit for each
    4 KB of boards that are due; for each of them half a unit a kind of period, and four write units a KB;
    where a period has ended, one more, and what the hooks cost.
    """
    until = time.monotonic() + seconds
    for board in _due_boards(db, now):
        failed = False
        for kind in board.periods:
            try:
                _call_for_kind(db, board, kind, now, hooks)
            except Exception:
                _log.exception("a hook failed at the end of a %s period of %r, trying again", kind, board.id)
                failed = True
        if not failed:
            _put_off(db, board, _next_due(board, now))
        if time.monotonic() > until:
            return


def _due_boards(db: Database, now: datetime) -> Iterator[Board]:
    """Yield the boards with work that is due, the longest due first: half a read unit for each 4 KB."""
    items = query_all(
        db,
        TableName=db.tables.boards,
        IndexName=DUE_INDEX,
        KeyConditionExpression="listed = :listed AND due_at <= :now",
        ExpressionAttributeValues={":listed": {"S": LISTED}, ":now": {"N": str(microseconds(now))}},
    )
    return (board_from_json(item["definition"]["S"]) for item in items)


def _put_off(db: Database, board: Board, until: datetime | None) -> None:
    """Say when a board is due next, None for never; nothing if it was changed meanwhile: it is due then.

    Costs four write units a KB of the board's item, three of them for its indexes.
    """
    due = {} if until is None else {":due": {"N": str(microseconds(until))}}
    with suppress(db.client.exceptions.ConditionalCheckFailedException):
        db.client.update_item(
            TableName=db.tables.boards,
            Key=board_key(board.id),
            UpdateExpression="SET due_at = :due" if due else "REMOVE due_at",
            ConditionExpression="version = :version AND generation = :generation",
            ExpressionAttributeValues={
                ":version": {"N": str(board.version)},
                ":generation": {"S": board.generation},
                **due,
            },
        )


def _next_due(board: Board, now: datetime) -> datetime | None:
    """Return when the next period of a board will have ended, a minute from now at the earliest."""
    wait = timedelta(hours=board.retention.grace_hours) + _INDEX_LAG
    end = next_end(board, now - wait)
    return None if end is None else max(end + wait, now + timedelta(minutes=1))


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
