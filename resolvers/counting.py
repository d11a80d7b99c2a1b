"""What counting reports, as metrics."""

from collections.abc import Sequence
from datetime import UTC, datetime

from core.storage.database import Meter
from core.stream import BatchReport
from resolvers.observability import emit_metrics
from resolvers.settings import Settings


def measure(settings: Settings, reports: Sequence[BatchReport], meter: Meter) -> None:
    """Emit how much was counted, how late, and how well changes shared writes."""
    counted = sum(report.counted for report in reports)
    newest = max((report.newest for report in reports if report.newest), default=datetime.now(UTC))
    lag = (datetime.now(UTC) - newest).total_seconds()
    of_counting = {
        "CountingLag": (max(0.0, lag), "Seconds"),
        # How well changes coalesce into few counter writes.
        "RecordsPerWriteUnit": (counted / max(1.0, meter.write_units), "None"),
    }
    emit_metrics(
        settings,
        {
            "CountedRecords": (counted, "Count"),
            "HandedOnRecords": (sum(report.handed_on for report in reports), "Count"),
            "MalformedRecords": (sum(report.set_aside for report in reports), "Count"),
            **(of_counting if counted else {}),
        },
    )
