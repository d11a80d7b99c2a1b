"""Lambda: notification passes over standings, as the queue asks for them."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from core.boards import Boards
from core.notifications.notifier import run_pass
from core.storage.parallel import run_all
from resolvers.notify_queue import NotifyQueue, read_message
from resolvers.observability import configure_logging, emit_metrics, request, traced
from resolvers.publisher import Publisher, signed
from resolvers.settings import Settings

configure_logging()
_settings = Settings.from_environment()
_db = _settings.connect()
_boards = Boards(_db)
_queue = NotifyQueue(_settings)
_publisher = Publisher(_settings.api_url, signed(_settings.region))


def handler(event: Mapping[str, Any], context: object) -> None:
    """Run one pass over the standings in each message, and enqueue the passes that have to follow.

    A pass that fails is enqueued again and stops no other.
    """
    with request(_settings, context, "notify"):
        due: dict[str, int] = {}
        for standings, empty_passes in map(read_message, event["Records"]):
            due[standings] = min(empty_passes, due.get(standings, empty_passes))
        following = run_all(
            [
                partial(
                    traced, run_pass, _db, _boards, standings, _publisher.publish, empty_passes=empty_passes
                )
                for standings, empty_passes in due.items()
            ]
        )
        _queue.enqueue((standings, each) for standings, each in zip(due, following, strict=True) if each)
        counts = _publisher.take_counts()
        emit_metrics(
            _settings,
            {
                "RankChangesPublished": (counts["published"], "Count"),
                "RankChangesRefused": (counts["refused"], "Count"),
                "RankChangesFailed": (counts["failed"], "Count"),
            },
        )
