"""What a scheduled Lambda does on AWS, a step at a time, in a thread."""

import logging
import threading

from core.boards import Boards
from core.maintenance import Maintenance
from core.storage.database import Database

_EVERY_SECONDS = 1.0
_STEP_SECONDS = 2.0

log = logging.getLogger(__name__)


def run(db: Database, boards: Boards, stop: threading.Event) -> None:
    """Do what is due, each second until `stop` is set."""
    maintenance = Maintenance(db, boards)
    while not stop.wait(_EVERY_SECONDS):
        try:
            maintenance.run(_STEP_SECONDS)
        except Exception as error:
            log.warning("maintenance failed, trying again: %r", error)
