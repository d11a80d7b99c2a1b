"""The maintenance thread: does what a scheduled Lambda does on AWS."""

import logging
import threading

from core.boards import Boards
from core.maintenance import Maintenance
from core.storage.database import Database
from local.stack.roles import acting_as

_EVERY_SECONDS = 1.0
_SLICE_SECONDS = 2.0

log = logging.getLogger(__name__)


def run(db: Database, boards: Boards, stop: threading.Event) -> None:
    """Run a slice of maintenance every second until `stop` is set."""
    maintenance = Maintenance(db, boards)
    while not stop.wait(_EVERY_SECONDS):
        try:
            with acting_as("maintenance"):
                maintenance.run(_SLICE_SECONDS)
        except Exception as error:
            log.warning("maintenance failed; retry in %.0f s: %r", _EVERY_SECONDS, error)
