"""Runs notification passes in a thread, as a queue and a Lambda do on AWS."""

import threading
import time
from collections.abc import Iterable

from core.boards import Boards
from core.domain.keys import live_partition
from core.notifications.announced import ANNOUNCED_NODE
from core.notifications.events import Publish
from core.notifications.movers import MOVERS_PREFIX
from core.notifications.notifier import NextPass, run_pass
from core.storage.database import Database
from local.stack.roles import acting_as

_NOW = NextPass(0.0)


class Notifier:
    """Runs the passes that are due, at most one a second over the same standings."""

    def __init__(self, db: Database, boards: Boards, publish: Publish) -> None:
        self._db = db
        self._boards = boards
        self._publish = publish
        self._due: dict[str, tuple[float, int]] = {}  # when, by the monotonic clock, and the empty passes
        self._changed = threading.Condition()

    def schedule(self, standings: Iterable[str], next_pass: NextPass = _NOW) -> None:
        """Schedule a pass over each of some standings, unless one is due earlier."""
        at = time.monotonic() + next_pass.after_seconds
        with self._changed:
            for each in standings:
                if each not in self._due or at < self._due[each][0]:
                    self._due[each] = at, next_pass.empty_passes
            self._changed.notify()

    def run(self, stop: threading.Event) -> None:
        """Run passes until `stop` is set, first those that were due when the stack last ended."""
        self.schedule(_left_over(self._db))
        while not stop.is_set():
            due = self._next()
            if due is not None:
                standings, empty_passes = due
                with acting_as("notify"):
                    next_pass = run_pass(
                        self._db, self._boards, standings, self._publish, empty_passes=empty_passes
                    )
                if next_pass:
                    self.schedule([standings], next_pass)

    def _next(self) -> tuple[str, int] | None:
        """Wait a moment for a pass to be due; return its standings and empty passes."""
        with self._changed:
            if not self._due:
                self._changed.wait(0.2)
                return None
            standings = min(self._due, key=lambda each: self._due[each][0])
            at, empty_passes = self._due[standings]
            wait = at - time.monotonic()
            if wait > 0:
                self._changed.wait(min(wait, 0.2))
                return None
            del self._due[standings]
            return standings, empty_passes


def _left_over(db: Database) -> list[str]:
    """Return all standings that were ever announced or have movers, from a scan: on a laptop it is small."""
    pages = db.client.get_paginator("scan").paginate(
        TableName=db.tables.counters,
        FilterExpression="node = :announced OR begins_with(node, :movers)",
        ExpressionAttributeValues={":announced": {"S": ANNOUNCED_NODE}, ":movers": {"S": MOVERS_PREFIX}},
    )
    live = live_partition("")
    return [item["standings"]["S"].removesuffix(live) for page in pages for item in page["Items"]]
