"""What is done in the background: growing trees, taking archives, deleting boards, forgetting people."""

import logging
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from core.archives.write import take_archive
from core.boards import Boards
from core.moderation.forget import erase_from_archives
from core.records.jobs import Chore, Item, done, left
from core.storage.database import Database
from core.upkeep.deletion import delete_rest
from core.upkeep.growth import grow_all
from core.upkeep.period_ends import archive_ended

# Periods have ended hours before their archive is due, so that it hardly matters when it is looked for them.
_LOOKED_EVERY = 300.0  # seconds

_log = logging.getLogger(__name__)


@dataclass
class Maintenance:
    """One process's background work; it remembers when it last looked for periods that have ended."""

    db: Database
    boards: Boards
    looked_at: float | None = None

    def run(self, seconds: float) -> tuple[int, int]:
        """Do what is due, for about so many seconds; gives the growing trees and the chores that are left.

        What fails stops nothing else, and is tried again the next time. With nothing to do it costs a read
        unit and a half; every five minutes what `archive_ended` says.
        """
        growing = grow_all(self.db, self.boards)
        now = time.monotonic()
        if self.looked_at is None or now > self.looked_at + _LOOKED_EVERY:
            self.looked_at = now
            archive_ended(self.db, self.boards, datetime.now(UTC))
        until = now + seconds
        unfinished = 0
        for chore, name, item in left(self.db):
            try:
                unfinished += not self._do(chore, name, item, max(0.0, until - time.monotonic()))
            except Exception:
                _log.exception("%s %s failed, trying again", chore, name)
                unfinished += 1
        return growing, unfinished

    def _do(self, chore: Chore, name: str, item: Item, seconds: float) -> bool:
        match chore:
            case Chore.ARCHIVE:
                archive = take_archive(self.db, name, seconds)
                if archive is None:  # its board is gone
                    self.db.client.transact_write_items(TransactItems=[done(self.db, chore, name)])
                return archive is None or archive.complete
            case Chore.DELETE:
                return delete_rest(self.db, name, item, seconds)
            case Chore.FORGET:
                return erase_from_archives(self.db, self.boards, name, item, seconds)
