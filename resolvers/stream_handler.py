"""Lambda: count the scores table's stream, batch by batch; hand the changes of hot boards on."""

from collections.abc import Mapping
from typing import Any

from core.boards import Boards
from core.notifications.notifier import NextPass
from core.storage.database import metered
from core.stream import process
from resolvers.bookkeeper_queue import BookkeeperQueue
from resolvers.counting import measure
from resolvers.notify_queue import NotifyQueue
from resolvers.observability import configure_logging, request, traced
from resolvers.settings import Settings

configure_logging()
_settings = Settings.from_environment()
_db = _settings.connect()
_boards = Boards(_db)
_bookkeepers = BookkeeperQueue(_settings)
_queue = NotifyQueue(_settings)


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Count a batch of one stream shard, or send its changes to the bookkeepers of hot boards.

    The core sets malformed records aside. Any other failure is raised: Lambda halves the batch and delivers
    it again, and a record that is delivered again is still counted once.

    Raises:
        KeyError: the event does not name its shard; the event source mapping lacks a tumbling window.
    """
    records = event["Records"]
    with request(_settings, context, "stream"):
        if records:  # the last event of a window may have none
            with metered() as meter:
                report = traced(process, _db, _boards, event["shardId"], records, _bookkeepers.send)
            _queue.enqueue((standings, NextPass(0)) for standings in report.due)
            measure(_settings, [report], meter)
    return {"state": {}}  # required with a tumbling window; our state is in the tables
