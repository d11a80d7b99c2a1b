"""How far an import has come, noted in the stack now and then, so that the next run skips what is done.

It only saves work: without it every row is submitted again, and changes nothing. Rows are settled out of
order, by several workers; the note says up to which row all are. Those that were refused are named in it, for
the next run to refuse and tell again.

    archive           chunk       what
    ~import#race#g1   <source>    up to which row, and the refused ones among them
"""

import threading
import time
from collections import deque
from typing import Any

from core.domain.keys import SEPARATOR
from core.domain.model import Board
from core.records.table import record_key
from core.storage.database import Database
from core.storage.tables import TTL_ATTRIBUTE

PREFIX = "~import"
_NOTED_EVERY = 2.0  # seconds
_KEPT_SECONDS = 7 * 86_400
_MOST_REFUSED = 1_000  # named in a note; with more, it goes no further


class Checkpoint:
    """What is done of one source on one board. Its methods may be called from any thread."""

    def __init__(self, db: Database, board: Board, source: str) -> None:
        self._db = db
        self._key = record_key(SEPARATOR.join((PREFIX, board.id, board.generation)), source)
        item = db.client.get_item(TableName=db.tables.records, Key=self._key, ConsistentRead=True).get("Item")
        self._upto = int(item["upto"]["N"]) if item else 0
        self._refused = {int(number["N"]) for number in item["refused"]["L"]} if item else set()
        self._given: deque[int] = deque()
        self._settled: set[int] = set()
        self._noted_at = time.monotonic()
        self._lock = threading.Lock()

    def is_done(self, number: int) -> bool:
        """Say whether an earlier run has settled a row, and nothing is to be told of it."""
        return number <= self._upto and number not in self._refused

    def give(self, number: int) -> None:
        """Take note that a row is on its way; rows are given in their order."""
        with self._lock:
            self._given.append(number)

    def settle(self, number: int, *, refused: bool) -> None:
        """Take note that a row is settled, and write down how far all are, if it is time."""
        with self._lock:
            if refused:
                self._refused.add(number)
            self._settled.add(number)
            while self._given and self._given[0] in self._settled and len(self._refused) <= _MOST_REFUSED:
                first = self._given.popleft()
                self._settled.discard(first)
                self._upto = max(self._upto, first)
            due = time.monotonic() > self._noted_at + _NOTED_EVERY
            if due:
                self._noted_at = time.monotonic()
                self._note()

    def finish(self) -> None:
        """Forget the note: the import is through, and the same one later is looked at anew."""
        self._db.client.delete_item(TableName=self._db.tables.records, Key=self._key)

    def _note(self) -> None:
        refused: list[Any] = [{"N": str(number)} for number in sorted(self._refused) if number <= self._upto]
        self._db.client.put_item(
            TableName=self._db.tables.records,
            Item={
                **self._key,
                "upto": {"N": str(self._upto)},
                "refused": {"L": refused},
                TTL_ATTRIBUTE: {"N": str(int(time.time()) + _KEPT_SECONDS)},
            },
        )
