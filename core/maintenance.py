"""What is done in the background: growing trees, taking archives, deleting boards, forgetting people."""

import logging
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from core.archives.period_end import archive_ended_period
from core.archives.write import write_archive
from core.boards import Boards
from core.moderation.forget import erase_from_archives
from core.records.jobs import Item, Job, pending_jobs, remove_job
from core.storage.database import Database
from core.upkeep.deletion import delete_rest
from core.upkeep.growth import grow_all
from core.upkeep.period_ends import PeriodEndHook, call_period_end_hooks

# What happens at the end of each period, at least once. Rewards, leagues and events are added here.
PERIOD_END_HOOKS: tuple[PeriodEndHook, ...] = (archive_ended_period,)
# Late scores have hours of grace, so polling every five minutes is enough.
_POLL_SECONDS = 300.0

_log = logging.getLogger(__name__)


@dataclass
class Maintenance:
    """One process's background work; `polled_at` is when it last looked for periods that have ended."""

    db: Database
    boards: Boards
    polled_at: float | None = None

    def run(self, seconds: float) -> tuple[int, int]:
        """Do what is due, for about so many seconds; gives the growing trees and the jobs that are left.

        What fails stops nothing else, and is tried again the next time. With nothing to do it costs a read
        unit and a half; every five minutes what `call_period_end_hooks` says.
        """
        growing = grow_all(self.db, self.boards)
        now = time.monotonic()
        if self.polled_at is None or now > self.polled_at + _POLL_SECONDS:
            self.polled_at = now
            call_period_end_hooks(self.db, self.boards, datetime.now(UTC), PERIOD_END_HOOKS)
        until = now + seconds
        unfinished = 0
        for job, name, item in pending_jobs(self.db):
            try:
                unfinished += not self._do(job, name, item, max(0.0, until - time.monotonic()))
            except Exception:
                _log.exception("%s %s failed, trying again", job, name)
                unfinished += 1
        return growing, unfinished

    def _do(self, job: Job, name: str, item: Item, seconds: float) -> bool:
        match job:
            case Job.ARCHIVE:
                archive = write_archive(self.db, name, seconds)
                if archive is None:  # its board is gone
                    self.db.client.transact_write_items(TransactItems=[remove_job(self.db, job, name)])
                return archive is None or archive.complete
            case Job.DELETE:
                return delete_rest(self.db, name, item, seconds)
            case Job.FORGET:
                return erase_from_archives(self.db, self.boards, name, item, seconds)
