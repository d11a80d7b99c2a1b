"""Lambda: ticks. Each tells one order's participants of their new rank buckets."""

import logging
from collections.abc import Mapping
from functools import partial
from typing import Any

from core.boards import Boards
from core.domain.keys import split_standings
from core.notifications.notifier import Again, notify
from core.storage.parallel import run_all
from resolvers.notify_queue import NotifyQueue, read_request
from resolvers.observability import configure_logging, emit_metrics, request, traced
from resolvers.publisher import Publisher, signed
from resolvers.settings import Settings

configure_logging()
_settings = Settings.from_environment()
_db = _settings.connect()
_boards = Boards(_db)
_queue = NotifyQueue(_settings)
_publisher = Publisher(_settings.api_url, signed(_settings.region))

_RETRY = Again(5.0)

_log = logging.getLogger(__name__)


def handler(event: Mapping[str, Any], context: object) -> None:
    """Make the ticks that some messages ask for, and ask for those that have to follow.

    One that fails is asked for again, and keeps no other from being made.
    """
    with request(_settings, context, "notify"):
        looks: dict[str, int] = {}
        for standings, number in map(read_request, event["Records"]):
            looks[standings] = min(number, looks.get(standings, number))
        again = run_all([partial(_tick, standings, number) for standings, number in looks.items()])
        _queue.want((standings, one) for standings, one in zip(looks, again, strict=True) if one)
        counts = _publisher.take_counts()
        emit_metrics(
            _settings,
            {
                "RankChangesPublished": (counts["published"], "Count"),
                "RankChangesRefused": (counts["refused"], "Count"),
                "RankChangesFailed": (counts["failed"], "Count"),
            },
        )


def _tick(standings: str, looks: int) -> Again | None:
    board_id, _, generation = split_standings(standings)
    try:
        board = _boards.get_generation(board_id, generation)
        if board is None:
            return None
        return traced(notify, _db, board, standings, _publisher.publish, looks=looks)
    except Exception:
        _log.exception("the rank changes of %s could not be told, trying again", standings)
        return _RETRY
