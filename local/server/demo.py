"""Loads the demo in a thread of the local server: one season race by race, to be watched, then the rest."""

import logging
import threading
import time
from datetime import UTC, datetime
from typing import Any

from core.boards import Boards
from core.storage.database import Database
from local.importing import f1
from local.importing.demo import SHOWN_YEAR, import_replay, replays
from local.importing.report import Report
from local.importing.rows import Row

_SECONDS_A_RACE = 1.2  # about as often as the top is published

log = logging.getLogger(__name__)


class Demo:
    """The demo's import, at most one at a time. A second run resumes a failed one, or changes nothing."""

    def __init__(self, db: Database, boards: Boards, seconds_a_race: float = _SECONDS_A_RACE) -> None:
        self._db = db
        self._boards = boards
        self._seconds_a_race = seconds_a_race
        self._lock = threading.Lock()
        self._state = "idle"
        self._message: str | None = None
        self._done = 0
        self._total = 0

    def start(self) -> None:
        """Start the import, unless it runs."""
        with self._lock:
            if self._state == "running":
                return
            self._state, self._message, self._done, self._total = "running", None, 0, 0
        threading.Thread(target=self._run, name="demo", daemon=True).start()

    def progress(self) -> dict[str, Any]:
        """Return the state (idle, running, done, failed), the rows done of all, and the board to watch."""
        return {
            "state": self._state,
            "message": self._message,
            "done": self._done,
            "total": self._total,
            "board": f"season-{SHOWN_YEAR}",
        }

    def _run(self) -> None:
        try:
            self._import()
        except Exception as error:
            log.warning("the demo was not loaded: %s", error)
            self._message, self._state = str(error), "failed"
        else:
            self._state = "done"

    def _import(self) -> None:
        archive = f1.load()
        years = sorted(archive.seasons(), key=lambda year: (year != SHOWN_YEAR, -year))
        shown, *others = replays(archive, years, datetime.now(UTC))
        self._total = len(shown.rows) + sum(len(replay.rows) for replay in others)
        report = Report()
        before = shown.rows[0]

        def race_by_race(row: Row) -> None:
            nonlocal before
            if row.achieved_at != before.achieved_at:
                time.sleep(self._seconds_a_race)
            before = row
            self._count(row)

        resumes = any(board.id == shown.board.id for board in self._boards.every())
        import_replay(self._db, self._boards, shown, report, self._count if resumes else race_by_race)
        for replay in others:
            import_replay(self._db, self._boards, replay, report, self._count)

    def _count(self, _: Row) -> None:
        self._done += 1
