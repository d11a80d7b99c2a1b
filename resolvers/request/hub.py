"""Subscriptions within one process: an event that is published reaches the subscriptions that match it.

As on AppSync, an event matches if each argument given to the subscription equals the event's field of that
name. An omitted argument matches everything, null only null.
"""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from typing import Any, Generic, Self, TypeVar

T = TypeVar("T")

# Events that may wait to be sent over one connection, for all its subscriptions. A client with a longer
# backlog is disconnected: once it is back, the present state is worth more to it than late events.
MAX_WAITING = 1_000


class Reader:
    """Counts the events that wait to be sent over one connection; `too_slow` is done if too many do."""

    def __init__(self, max_waiting: int) -> None:
        self.too_slow: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._max_waiting = max_waiting
        self._waiting = 0

    def take(self) -> bool:
        """Count one more waiting event; return whether there is room for it."""
        if self._waiting >= self._max_waiting and not self.too_slow.done():
            self.too_slow.set_result(None)
        if self.too_slow.done():
            return False
        self._waiting += 1
        return True

    def sent(self, events: int = 1) -> None:
        """Count events as sent."""
        self._waiting -= events


class Events(Generic[T]):
    """An asynchronous iterator over the events of one subscription, until it is closed."""

    def __init__(self, reader: Reader, leave: Callable[["Events[T]"], None]) -> None:
        self._reader = reader
        self._leave = leave
        self._queue: asyncio.Queue[T] = asyncio.Queue()

    def put(self, event: T) -> None:
        """Queue an event to be sent. Without room for it the event is dropped, and the connection is too."""
        if self._reader.take():
            self._queue.put_nowait(event)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        event = await self._queue.get()
        self._reader.sent()
        return event

    async def aclose(self) -> None:
        """End the subscription."""
        self._leave(self)
        self._reader.sent(self._queue.qsize())
        self._queue = asyncio.Queue()


# The names of the arguments that subscriptions were given, and the subscriptions by the arguments' values.
_Names = tuple[str, ...]
_ByValues = dict[tuple[object, ...], set[Events[Any]]]


class Hub:
    """All subscriptions of a process. It belongs to one event loop, and is used only there."""

    def __init__(self) -> None:
        self._by_names: defaultdict[tuple[type, _Names], _ByValues] = defaultdict(dict)
        self._all: set[Events[Any]] = set()
        self._given: Counter[tuple[str, object]] = Counter()  # arguments, by how many subscriptions have them

    def subscribe(self, kind: type[T], arguments: Mapping[str, object], reader: Reader) -> Events[T]:
        """Subscribe to the events of a kind whose fields equal the arguments, from now on."""
        names = tuple(sorted(arguments))
        values = tuple(arguments[name] for name in names)
        by_values = self._by_names[kind, names]

        def leave(events: Events[T]) -> None:
            if events in self._all:
                self._all.remove(events)
                for argument in arguments.items():
                    self._given[argument] -= 1
                    if not self._given[argument]:
                        del self._given[argument]
            same = by_values.get(values, set())
            same.discard(events)
            if not same:
                by_values.pop(values, None)

        events = Events[T](reader, leave)
        self._all.add(events)
        self._given.update(arguments.items())
        by_values.setdefault(values, set()).add(events)
        return events

    def publish(self, event: object) -> None:
        """Queue an event for all subscriptions that it matches."""
        for (kind, names), by_values in self._by_names.items():
            if isinstance(event, kind):
                values = tuple(getattr(event, name) for name in names)
                for events in by_values.get(values, ()):
                    events.put(event)

    def is_given(self, name: str, value: object) -> bool:
        """Return whether a subscription was given an argument with this value; any thread may call this."""
        return self._given[name, value] > 0

    def count(self) -> int:
        """Return the number of subscriptions; any thread may call this."""
        return len(self._all)
