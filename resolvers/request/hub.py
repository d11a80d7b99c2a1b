"""Subscriptions within one process: what a publish mutation gives reaches those who asked for it.

AppSync's rules: an event reaches a subscription if each argument that the subscription was given equals the
event's field of that name. An argument left out matches all, null matches null alone.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")

# What may wait for one connection to take it, over all its subscriptions. Behind by more, it is given up:
# whoever reconnects and asks for the present state knows more than a late event tells.
MAX_WAITING = 1_000


class Reader:
    """One connection's measure of what waits to be sent to it; `too_slow` is done once that is too much."""

    def __init__(self, max_waiting: int) -> None:
        self.too_slow: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._max_waiting = max_waiting
        self._waiting = 0

    def take(self) -> bool:
        """Count one more event to be sent, if there is room."""
        if self._waiting >= self._max_waiting and not self.too_slow.done():
            self.too_slow.set_result(None)
        if self.too_slow.done():
            return False
        self._waiting += 1
        return True

    def sent(self, events: int = 1) -> None:
        """Count events that wait no longer."""
        self._waiting -= events


class Events(Generic[T]):
    """The events of one subscription, from when it was made until it is closed; an asynchronous iterator."""

    def __init__(self, reader: Reader, leave: Callable[["Events[T]"], None]) -> None:
        self._reader = reader
        self._leave = leave
        self._queue: asyncio.Queue[T] = asyncio.Queue()

    def attempt(self, event: T) -> None:
        """Let an event wait to be sent; one that finds no room is lost, and with it the connection."""
        if self._reader.take():
            self._queue.put_nowait(event)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        event = await self._queue.get()
        self._reader.sent()
        return event

    async def aclose(self) -> None:
        """Hear no more."""
        self._leave(self)
        self._reader.sent(self._queue.qsize())
        self._queue = asyncio.Queue()


# Which arguments a kind of subscription was given, and by their values, who gave these.
_Given = tuple[str, ...]
_Listening = dict[tuple[object, ...], set[Events[Any]]]


class Hub:
    """Who listens to what. It belongs to one event loop, and is used there alone."""

    def __init__(self) -> None:
        self._listening: defaultdict[tuple[type, _Given], _Listening] = defaultdict(dict)
        self._all: set[Events[Any]] = set()

    def subscribe(self, kind: type[T], arguments: Mapping[str, object], reader: Reader) -> Events[T]:
        """Listen to a kind of event from now on: to those whose fields equal the arguments."""
        given = tuple(sorted(arguments))
        values = tuple(arguments[name] for name in given)
        listening = self._listening[kind, given]

        def leave(events: Events[T]) -> None:
            self._all.discard(events)
            alike = listening.get(values, set())
            alike.discard(events)
            if not alike:
                listening.pop(values, None)

        events = Events[T](reader, leave)
        self._all.add(events)
        listening.setdefault(values, set()).add(events)
        return events

    def publish(self, event: object) -> None:
        """Attempt an event to all whose arguments it matches."""
        for (kind, given), listening in self._listening.items():
            if isinstance(event, kind):
                values = tuple(getattr(event, name) for name in given)
                for events in listening.get(values, ()):
                    events.attempt(event)

    def count(self) -> int:
        """Count the subscriptions; any thread may ask."""
        return len(self._all)
