"""Lambda: count the bundles of hot boards, as the queue delivers them."""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from core.boards import Boards
from core.notifications.notifier import NextPass
from core.storage.database import metered
from core.storage.parallel import run_all
from core.stream import BatchReport, count_bundles
from resolvers.bookkeeper_queue import BATCH, BookkeeperQueue, read_bundle
from resolvers.counting import measure
from resolvers.notify_queue import NotifyQueue
from resolvers.observability import configure_logging, request, traced
from resolvers.settings import Settings

configure_logging()
_log = logging.getLogger(__name__)
_settings = Settings.from_environment()
_db = _settings.connect()
_boards = Boards(_db)
_queue = BookkeeperQueue(_settings)
_notify_queue = NotifyQueue(_settings)


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Count the bundles of each bookkeeper; return those that have to come again.

    The queue delivers nothing more of a bookkeeper until its bundles here are counted. A bookkeeper that
    fails stops no other.
    """
    groups: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for record in event["Records"]:
        groups[record["attributes"]["MessageGroupId"]].append(record)
    with request(_settings, context, "bookkeeper"):
        with metered() as meter:
            # Where ten of a group have come, more are waiting.
            found = run_all([partial(_count, group, wait=len(group) < BATCH) for group in groups.values()])
        failed = [
            record
            for group, report in zip(groups.values(), found, strict=True)
            if report is None
            for record in group
        ]
        reports = [report for report in found if report is not None]
        _notify_queue.enqueue((standings, NextPass(0)) for report in reports for standings in report.due)
        if failed:
            _queue.retry_soon(failed)
        measure(_settings, reports, meter)
    return {"batchItemFailures": [{"itemIdentifier": record["messageId"]} for record in failed]}


def _count(records: Sequence[Mapping[str, Any]], *, wait: bool) -> BatchReport | None:
    """Count one bookkeeper's bundles, in order; None if that failed."""
    try:
        return traced(count_bundles, _db, _boards, [read_bundle(record) for record in records], wait=wait)
    except Exception:
        _log.exception("%d bundle(s) could not be counted, trying again", len(records))
        return None
