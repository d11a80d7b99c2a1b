"""Run background work: grow counter trees, call hooks of ended periods, and run jobs, each in slices."""

import logging
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from core.archives.write import write_archive
from core.boards import Boards
from core.moderation.forget import erase_from_archives
from core.records.jobs import Item, Job, pending_jobs, remove_job
from core.storage.database import Database
from core.upkeep.deletion import delete_rest
from core.upkeep.growth import grow_all
from core.upkeep.period_ends import call_period_end_hooks

_log = logging.getLogger(__name__)


@dataclass
class Maintenance:
    """One process's background work."""

    db: Database
    boards: Boards

    def run(self, seconds: float) -> tuple[int, int]:
        """Run one slice of everything that is due; return how many growing trees and jobs are left.

        The hooks of ended periods get half of about `seconds`, and each job what is left, but one step at
        least. A tree, hook or job that fails stops no other, and is tried again in the next slice. Costs two
        read units where nothing is due.
        """
        now = time.monotonic()
        growing = grow_all(self.db, self.boards)
        try:
            call_period_end_hooks(self.db, datetime.now(UTC), seconds / 2)
        except Exception:
            _log.exception("boards whose periods end could not be read, trying again")
        jobs = 0
        for job, name, item in pending_jobs(self.db):
            try:
                done = self._run_job(job, name, item, max(0.0, now + seconds - time.monotonic()))
            except Exception:
                _log.exception("%s %s failed, trying again", job, name)
                done = False
            jobs += not done
        return growing, jobs

    def _run_job(self, job: Job, name: str, item: Item, seconds: float) -> bool:
        """Run one slice of a job; return whether the job is done."""
        match job:
            case Job.ARCHIVE:
                archive = write_archive(self.db, name, seconds)
                if archive is None:  # its board has been deleted
                    self.db.client.transact_write_items(TransactItems=[remove_job(self.db, job, name)])
                return archive is None or archive.complete
            case Job.DELETE:
                return delete_rest(self.db, name, item, seconds)
            case Job.FORGET:
                return erase_from_archives(self.db, self.boards, name, item, seconds)
