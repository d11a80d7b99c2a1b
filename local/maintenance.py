"""What a scheduled Lambda does on AWS: growing counter trees a step at a time, in a thread."""

import logging
import threading

from core.boards import Boards
from core.database import Database
from core.growth import grow_all

_EVERY_SECONDS = 1.0

log = logging.getLogger(__name__)


def run(db: Database, boards: Boards, stop: threading.Event) -> None:
    """Take every tree that has something to grow a step further, each second until `stop` is set."""
    while not stop.wait(_EVERY_SECONDS):
        try:
            grow_all(db, boards)
        except Exception as error:
            log.warning("counter trees could not grow, trying again: %r", error)
