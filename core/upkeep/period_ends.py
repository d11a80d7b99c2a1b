"""At the end of each period, and of the time that late scores have, its standings are archived.

    archive           chunk   what
    ~ended#race#g1    DAILY   the last period of this kind that has been seen to, by its key

A period that nobody stands in is passed over. If maintenance has not run for a while, it begins with the
oldest period that is still kept.
"""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from core.archives.write import begin_archive
from core.boards import Boards
from core.domain.keys import SEPARATOR
from core.domain.limits import MAX_BOARDS_PAGE
from core.domain.model import Board, PeriodKind
from core.domain.periods import is_expired, period_before, period_end, period_key
from core.records.table import archive_key
from core.storage.database import Database
from core.storage.rank_index import read_run

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

_log = logging.getLogger(__name__)

# What comes in at the last moment of grace has this long to show on the index.
_SETTLED = timedelta(minutes=5)


def archive_ended(db: Database, boards: Boards, now: datetime) -> int:
    """Ask for the archives that are due on every board; gives how many. A board that fails stops no other.

    Costs half a read unit for each 4 KB of boards and for each kind of period of each; where a period has
    ended, some ten units more.
    """
    asked = 0
    token: str | None = None
    while True:
        page = boards.page(MAX_BOARDS_PAGE, token)
        for board in page.items:
            try:
                asked += sum(_archive_kind(db, board, kind, now) for kind in board.periods)
            except Exception:  # none of the other boards' business
                _log.exception("periods of %r that ended were not archived, trying again", board.id)
        token = page.next_token
        if token is None:
            return asked


def ended_partition(board: Board) -> str:
    """Name the partition of what has been seen to on a board."""
    return f"~ended{SEPARATOR}{board.id}{SEPARATOR}{board.generation}"


def _archive_kind(db: Database, board: Board, kind: PeriodKind, now: datetime) -> int:
    if kind is PeriodKind.ALL_TIME:
        return 0
    key = archive_key(ended_partition(board), kind.value)
    item = db.client.get_item(TableName=db.tables.archives, Key=key).get("Item")
    seen_to = item["period"]["S"] if item else ""
    asked = 0
    for period in reversed(list(_ended(board, kind, seen_to, now))):
        if read_run(db, board, period, 1):
            begin_archive(db, board, period, now, ended=True)
            asked += 1
        last: dict[str, AttributeValueTypeDef] = {**key, "period": {"S": period}}
        db.client.put_item(TableName=db.tables.archives, Item=last)
    return asked


def _ended(board: Board, kind: PeriodKind, seen_to: str, now: datetime) -> Iterator[str]:
    """Name the periods that are over, grace included, and not seen to, the latest first."""
    closed = now - timedelta(hours=board.retention.grace_hours) - _SETTLED
    period = period_key(board, kind, closed)
    oldest = board.created_at - timedelta(hours=board.retention.grace_hours)
    while True:
        # The one that was running then may be shorter than the calendar says, after a change of zone.
        end = period_end(board, period)
        if end is None or end < oldest or period <= seen_to or is_expired(board, period, now):
            return
        if end <= closed:
            yield period
        period = period_before(period)
