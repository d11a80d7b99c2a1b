"""What a queue and a Lambda do on AWS, in a thread: tells of new rank buckets when that is due."""

import logging
import threading
import time
from collections.abc import Iterable

from core.boards import Boards
from core.domain.keys import live_partition, split_standings
from core.notifications.events import Publish
from core.notifications.movers import ANNOUNCED_NODE, MOVERS
from core.notifications.notifier import Again, notify
from core.storage.database import Database

_AT_ONCE = Again(0.0)
_RETRY = Again(1.0)

log = logging.getLogger(__name__)


class Notifier:
    """Makes the ticks that are due, each order's at most once a second."""

    def __init__(self, db: Database, boards: Boards, publish: Publish) -> None:
        self._db = db
        self._boards = boards
        self._publish = publish
        self._due: dict[str, tuple[float, int]] = {}  # when, by the monotonic clock, and after how many looks
        self._changed = threading.Condition()

    def want(self, orders: Iterable[str], again: Again = _AT_ONCE) -> None:
        """Have orders' ticks made."""
        at = time.monotonic() + again.after
        with self._changed:
            for standings in orders:
                known = self._due.get(standings)
                if known is None or at < known[0]:
                    self._due[standings] = at, again.looks
            self._changed.notify()

    def run(self, stop: threading.Event) -> None:
        """Make ticks until `stop` is set, first those that were due when the stack last ended."""
        self.want(_left_over(self._db))
        while not stop.is_set():
            due = self._next()
            if due is not None:
                again = self._tick(*due)
                if again:
                    self.want([due[0]], again)

    def _next(self) -> tuple[str, int] | None:
        """Wait for what is due next, but not for long."""
        with self._changed:
            if not self._due:
                self._changed.wait(0.2)
                return None
            standings = min(self._due, key=lambda one: self._due[one][0])
            at, looks = self._due[standings]
            wait = at - time.monotonic()
            if wait > 0:
                self._changed.wait(min(wait, 0.2))
                return None
            del self._due[standings]
            return standings, looks

    def _tick(self, standings: str, looks: int) -> Again | None:
        board_id, _, generation = split_standings(standings)
        try:
            board = self._boards.get_generation(board_id, generation)
            return notify(self._db, board, standings, self._publish, looks=looks) if board else None
        except Exception as error:
            log.warning("rank changes of %s could not be told, trying again: %r", standings, error)
            return _RETRY


def _left_over(db: Database) -> list[str]:
    """Find the orders that may have something left to tell, in the whole table: on a laptop it is small."""
    pages = db.client.get_paginator("scan").paginate(
        TableName=db.tables.counters,
        FilterExpression="node = :told OR begins_with(node, :marks)",
        ExpressionAttributeValues={":told": {"S": ANNOUNCED_NODE}, ":marks": {"S": MOVERS}},
    )
    live = live_partition("")
    return [item["standings"]["S"].removesuffix(live) for page in pages for item in page["Items"]]
