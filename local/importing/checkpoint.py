"""An import's checkpoint: up to which row everything is settled, so that the next run skips those rows.

The checkpoint only saves work: without it, every row is submitted again and changes nothing. Workers settle
rows out of order; the checkpoint is the number up to which all rows are settled. It lists the refused rows
among them, so that the next run refuses and reports them again.

What is left of it after a complete import is how the rows were read, so that the same rows are not read in
another way later, and the time of rows without one, so that a copy of the file has no other times.

    record set        record id   attributes
    ~import#race#g1   <source>    `upto`: the row's number; `refused`: the refused rows up to it;
                                  `reading`: options as JSON; `default_time`
"""

import json
import threading
import time
from collections import deque
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from core.domain.keys import SEPARATOR
from core.domain.model import Board
from core.records.table import record_key
from core.storage.database import Database
from core.storage.tables import TTL_ATTRIBUTE
from local.errors import StackError

PREFIX = "~import"
_SAVE_EVERY_SECONDS = 2.0
_KEPT_SECONDS = 7 * 86_400
_KEPT_COMPLETE_SECONDS = 400 * 86_400
_MAX_REFUSED = 1_000  # in a checkpoint; with more, it stops rising


class Checkpoint:
    """The settled rows of one source on one board. Threads may share it. Costs a read unit to open."""

    def __init__(self, db: Database, board: Board, source: str) -> None:
        self.source = source
        self._db = db
        self._key = record_key(SEPARATOR.join((PREFIX, board.id, board.generation)), source)
        item = db.client.get_item(TableName=db.tables.records, Key=self._key, ConsistentRead=True).get("Item")
        self._upto = int(item["upto"]["N"]) if item else 0
        self._refused = {int(number["N"]) for number in item["refused"]["L"]} if item else set()
        self._read_before: dict[str, Any] | None = (
            json.loads(item["reading"]["S"]) if item and "reading" in item else None
        )
        self.default_time = (
            datetime.fromisoformat(item["default_time"]["S"]) if item and "default_time" in item else None
        )
        self._reading: Mapping[str, Any] | None = None
        self._started: deque[int] = deque()
        self._settled: set[int] = set()
        self._saved_at = time.monotonic()
        self._lock = threading.Lock()

    def check_reading(self, reading: Mapping[str, Any]) -> None:
        """Check that the source is read as it was before.

        Raises:
            StackError: naming each option that differs.
        """
        before = self._read_before
        if before is None:
            return
        now = json.loads(json.dumps(reading))
        differences = [
            f"{name.replace('_', '-')} was {_shown(before.get(name))}, now {_shown(now.get(name))}"
            for name in sorted({*before, *now})
            if before.get(name) != now.get(name)
        ]
        if differences:
            raise StackError(
                f"nothing was imported: this source was imported before, with other options: "
                f"{'; '.join(differences)}. Accepted rows keep what was read then. Use the same options, "
                "import the corrected file that --refused wrote, or delete the board and import anew"
            )

    def begin(self, reading: Mapping[str, Any], default_time: datetime) -> None:
        """Store how the source is read, before its first row: a write unit."""
        self._reading, self.default_time = reading, default_time
        self._save(_KEPT_SECONDS)

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
                self._save(_KEPT_SECONDS)

    def finish(self, *, changed: bool) -> None:
        """Forget the settled rows of a complete import: running that again looks at every row.

        How the rows were read is kept if any of them `changed` the board, now or before.
        """
        if changed and self._reading is not None:
            self._upto, self._refused = 0, set()
            self._save(_KEPT_COMPLETE_SECONDS)
        else:
            self._db.client.delete_item(TableName=self._db.tables.records, Key=self._key)

    def _save(self, kept_seconds: int) -> None:
        refused: list[Any] = [{"N": str(number)} for number in sorted(self._refused) if number <= self._upto]
        item: dict[str, Any] = {
            **self._key,
            "upto": {"N": str(self._upto)},
            "refused": {"L": refused},
            TTL_ATTRIBUTE: {"N": str(int(time.time()) + kept_seconds)},
        }
        if self._reading is not None and self.default_time is not None:
            item["reading"] = {"S": json.dumps(self._reading)}
            item["default_time"] = {"S": self.default_time.isoformat()}
        self._db.client.put_item(TableName=self._db.tables.records, Item=item)


def _shown(value: object) -> str:
    return "not given" if value in (None, [], False) else json.dumps(value)[:64].strip('"')
