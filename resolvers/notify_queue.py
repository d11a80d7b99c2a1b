"""The queue of notification passes that are due."""

import json
import math
import time
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any

from botocore.session import Session

from core.notifications.notifier import NextPass
from resolvers.settings import Settings

_BATCH = 10  # messages a request
_INTERVAL = 1.0  # seconds between two passes over the same standings
_MAX_REMEMBERED = 2_000  # standings
_MARGIN = 0.2  # seconds by which a message may come early


class NotifyQueue:
    """Enqueues passes, at most one a second for each standings; one that is on its way spares later ones."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.notify_queue_url
        self._client: Any = Session().create_client("sqs", region_name=settings.region)
        self._enqueued: dict[str, tuple[float, float]] = {}  # when the last one was enqueued, and is due
        self._lock = Lock()

    def enqueue(self, passes: Iterable[tuple[str, NextPass]]) -> None:
        """Enqueue passes over some standings, ten in a request.

        Raises:
            ClientError: the queue cannot be reached, or does not take the request.
            RuntimeError: the queue does not take some of the messages.
        """
        entries: list[Any] = []
        for standings, next_pass in passes:
            delay = self._delay(standings, next_pass.after_seconds)
            if delay is not None:
                body = json.dumps({"standings": standings, "empty_passes": next_pass.empty_passes})
                entries.append({"Id": str(len(entries)), "MessageBody": body, "DelaySeconds": delay})
        for start in range(0, len(entries), _BATCH):
            some = entries[start : start + _BATCH]
            answer = self._client.send_message_batch(QueueUrl=self._url, Entries=some)
            if answer.get("Failed"):
                self._enqueued.clear()
                raise RuntimeError(f"the notify queue refused messages: {answer['Failed']}")

    def _delay(self, standings: str, after_seconds: float) -> int | None:
        """Return the delay in seconds of a pass; None if one is on its way that is due no later."""
        now = time.monotonic()
        with self._lock:
            enqueued, due = self._enqueued.get(standings, (-math.inf, -math.inf))
            if enqueued > now - _INTERVAL:
                after_seconds = max(after_seconds, _INTERVAL)
            delay = math.ceil(after_seconds)
            if now + _MARGIN < due <= now + delay:
                return None
            if len(self._enqueued) > _MAX_REMEMBERED:
                self._enqueued.clear()
            self._enqueued[standings] = now, now + delay
        return delay


def read_message(record: Mapping[str, Any]) -> tuple[str, int]:
    """Return the standings in a message, and how many passes over them in a row have come to nothing."""
    body = json.loads(record["body"])
    return body["standings"], body["empty_passes"]
