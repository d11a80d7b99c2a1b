"""Count round trips: a wave of requests begins when none is under way."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from core.storage.database import Database

# Requests take so long that all of a wave have begun before the first one ends.
_SECONDS = 0.04

# Only requests of this context count, not those of background threads.
_counting: ContextVar["Waves | None"] = ContextVar("waves", default=None)


class Waves:
    """The operations of each wave."""

    def __init__(self) -> None:
        self.operations: list[list[str]] = []
        self._under_way = 0
        self._lock = Lock()

    def start(self, model: object, **_: object) -> None:
        if _counting.get() is not self:
            return
        with self._lock:
            if self._under_way == 0:
                self.operations.append([])
            self.operations[-1].append(getattr(model, "name", ""))
            self._under_way += 1
        time.sleep(_SECONDS)

    def end(self, **_: object) -> None:
        if _counting.get() is self:
            with self._lock:
                self._under_way -= 1


@contextmanager
def counted_waves(db: Database) -> Iterator[Waves]:
    """Count the waves of requests within the block."""
    waves, events = Waves(), db.client.meta.events
    token = _counting.set(waves)
    events.register("before-call.dynamodb", waves.start)
    events.register("after-call.dynamodb", waves.end)
    try:
        yield waves
    finally:
        _counting.reset(token)
        events.unregister("before-call.dynamodb", waves.start)
        events.unregister("after-call.dynamodb", waves.end)
