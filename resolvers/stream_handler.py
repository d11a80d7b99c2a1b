"""Lambda: the scores table's stream, counted batch by batch."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from core.boards import Boards
from core.notifications.notifier import Again
from core.storage.database import Meter, metered
from core.stream import BatchReport, process
from resolvers.notify_queue import NotifyQueue
from resolvers.observability import configure_logging, emit_metrics, request
from resolvers.settings import Settings

configure_logging()
_settings = Settings.from_environment()
_db = _settings.connect()
_boards = Boards(_db)
_queue = NotifyQueue(_settings)


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Count a batch of one stream shard.

    What is malformed is set aside by the core. What else fails a batch is raised: Lambda counts the error,
    halves the batch and gives it again, and a record that comes again is counted once.

    Raises:
        KeyError: the event does not name its shard, for want of a tumbling window on the mapping.
    """
    records = event["Records"]
    with request(_settings, context, "stream"):
        if records:  # none at the end of a window
            with metered() as meter:
                report = process(_db, _boards, event["shardId"], records)
            _queue.want((standings, Again(0)) for standings in report.due)
            _measure(report, meter)
    return {"state": {}}  # a window's consumer must give one; all of ours is in the tables


def _measure(report: BatchReport, meter: Meter) -> None:
    lag = (datetime.now(UTC) - report.newest).total_seconds() if report.newest else 0.0
    emit_metrics(
        _settings,
        {
            "CountedRecords": (report.counted, "Count"),
            "MalformedRecords": (report.refused, "Count"),
            "CountingLag": (max(0.0, lag), "Seconds"),
            # How many changes one unit of writing to the counters carries: what coalescing saves.
            "RecordsPerWriteUnit": (report.counted / max(1.0, meter.write_units), "None"),
        },
    )
