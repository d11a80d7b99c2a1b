"""An import's checkpoint: up to which row everything is settled, so that the next run skips those rows.

The checkpoint only saves work: without it, every row is submitted again and changes nothing. Workers settle
rows out of order; the checkpoint is the number up to which all rows are settled. It lists the refused rows
among them, so that the next run refuses and reports them again.

    record set        record id   attributes
    ~import#race#g1   <source>    `upto`: the row's number; `refused`: the refused rows up to it
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
_SAVE_EVERY_SECONDS = 2.0
_KEPT_SECONDS = 7 * 86_400
_MAX_REFUSED = 1_000  # in a checkpoint; with more, it stops rising


class Checkpoint:
    """The settled rows of one source on one board. Threads may share it."""

    def __init__(self, db: Database, board: Board, source: str) -> None:
        self._db = db
        self._key = record_key(SEPARATOR.join((PREFIX, board.id, board.generation)), source)
        item = db.client.get_item(TableName=db.tables.records, Key=self._key, ConsistentRead=True).get("Item")
        self._upto = int(item["upto"]["N"]) if item else 0
        self._refused = {int(number["N"]) for number in item["refused"]["L"]} if item else set()
        self._started: deque[int] = deque()
        self._settled: set[int] = set()
        self._saved_at = time.monotonic()
        self._lock = threading.Lock()

    def is_done(self, number: int) -> bool:
        """Return whether an earlier run settled this row without refusing it."""
        return number <= self._upto and number not in self._refused

    def start(self, number: int) -> None:
        """Register a row before it is submitted; rows are registered in their order."""
        with self._lock:
            self._started.append(number)

    def settle(self, number: int, *, refused: bool) -> None:
        """Register a row as settled. Saves the checkpoint every two seconds: a write unit a KB."""
        with self._lock:
            if refused:
                self._refused.add(number)
            self._settled.add(number)
            while self._started and self._started[0] in self._settled and len(self._refused) <= _MAX_REFUSED:
                first = self._started.popleft()
                self._settled.discard(first)
                self._upto = max(self._upto, first)
            due = time.monotonic() > self._saved_at + _SAVE_EVERY_SECONDS
            if due:
                self._saved_at = time.monotonic()
                self._save()

    def delete(self) -> None:
        """Delete the checkpoint of a complete import: running that again looks at every row."""
        self._db.client.delete_item(TableName=self._db.tables.records, Key=self._key)

    def _save(self) -> None:
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
