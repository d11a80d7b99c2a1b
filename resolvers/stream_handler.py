"""Lambda: count the scores table's stream, batch by batch."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from core.boards import Boards
from core.notifications.notifier import NextPass
from core.storage.database import Meter, metered
from core.stream import BatchReport, process
from resolvers.notify_queue import NotifyQueue
from resolvers.observability import configure_logging, emit_metrics, request, traced
from resolvers.settings import Settings

configure_logging()
_settings = Settings.from_environment()
_db = _settings.connect()
_boards = Boards(_db)
_queue = NotifyQueue(_settings)


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Count a batch of one stream shard.

    The core sets malformed records aside. Any other failure is raised: Lambda halves the batch and delivers
    it again, and a record that is delivered again is still counted once.

    Raises:
        KeyError: the event does not name its shard; the event source mapping lacks a tumbling window.
    """
    records = event["Records"]
    with request(_settings, context, "stream"):
        if records:  # the last event of a window may have none
            with metered() as meter:
                report = traced(process, _db, _boards, event["shardId"], records)
            _queue.enqueue((standings, NextPass(0)) for standings in report.due)
            _measure(report, meter)
    return {"state": {}}  # required with a tumbling window; our state is in the tables


def _measure(report: BatchReport, meter: Meter) -> None:
    lag = (datetime.now(UTC) - report.newest).total_seconds() if report.newest else 0.0
    emit_metrics(
        _settings,
        {
            "CountedRecords": (report.counted, "Count"),
            "MalformedRecords": (report.set_aside, "Count"),
            "CountingLag": (max(0.0, lag), "Seconds"),
            # How well changes coalesce into few counter writes.
            "RecordsPerWriteUnit": (report.counted / max(1.0, meter.write_units), "None"),
        },
    )
