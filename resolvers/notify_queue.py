"""The queue of ticks: which orders' participants may have to be told of another rank bucket, and when."""

import json
import math
import time
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any

from botocore.session import Session

from core.notifications.notifier import Again
from resolvers.settings import Settings

_BATCH = 10  # messages a request
_SECOND = 1.0
_REMEMBERED = 2_000  # standings
_MARGIN = 0.2  # seconds: a message may come a little early


class NotifyQueue:
    """Asks for ticks, at most one a second and order: one that is under way makes others needless."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.notify_queue_url
        self._client: Any = Session().create_client("sqs", region_name=settings.region)
        self._wanted: dict[str, tuple[float, float]] = {}  # when the last one was asked for, and is due
        self._lock = Lock()

    def want(self, wanted: Iterable[tuple[str, Again]]) -> None:
        """Ask for ticks of some orders; a message for ten of them.

        Raises:
            ClientError: the queue does not take them.
        """
        entries: list[Any] = []
        for standings, again in wanted:
            delay = self._delay(standings, again.after)
            if delay is not None:
                body = json.dumps({"standings": standings, "looks": again.looks})
                entries.append({"Id": str(len(entries)), "MessageBody": body, "DelaySeconds": delay})
        for start in range(0, len(entries), _BATCH):
            some = entries[start : start + _BATCH]
            answer = self._client.send_message_batch(QueueUrl=self._url, Entries=some)
            if answer.get("Failed"):
                self._wanted.clear()
                raise RuntimeError(f"the queue of ticks refused some: {answer['Failed']}")

    def _delay(self, standings: str, after: float) -> int | None:
        """Say how many seconds a tick is to wait; None where one is on its way that comes no later."""
        now = time.monotonic()
        with self._lock:
            asked, due = self._wanted.get(standings, (-math.inf, -math.inf))
            if asked > now - _SECOND:
                after = max(after, _SECOND)
            delay = math.ceil(after)
            if now + _MARGIN < due <= now + delay:
                return None
            if len(self._wanted) > _REMEMBERED:
                self._wanted.clear()
            self._wanted[standings] = now, now + delay
        return delay


def read_request(record: Mapping[str, Any]) -> tuple[str, int]:
    """Read a message: the order, and how many ticks in a row have come to nothing."""
    body = json.loads(record["body"])
    return body["standings"], body["looks"]
