"""The time as items hold it: this machine's, corrected where DynamoDB's clock shows that it is wrong.

Which nodes of a counter tree count an entry follows from when it was written, so the clocks of all processes
must agree within seconds. Each answer of DynamoDB names the second in which it was written. From that follow
bounds of DynamoDB's time, seen from a clock of this machine that nobody can set. The time of day is trusted
within them; beyond them, the nearest bound is the time.
"""

import time
from collections import deque
from email.utils import mktime_tz, parsedate_tz
from threading import Lock

_ANSWERS = 8  # that bounds follow from: a single one may be written long after the second that it names
_TOLERANCE = 1.0  # seconds beyond the bounds
_JUMP = 1.0  # seconds by which the time of day may get ahead of the steady clock between two answers


def steady() -> float:
    """Return the seconds since this machine was started, including sleep where the system tells."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Clock:
    """Estimates DynamoDB's time. Threads may share it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._bounds: deque[tuple[float, float]] = deque(maxlen=_ANSWERS)  # of its time less steady time
        self._range = float("-inf"), float("inf")
        self._offset = float("inf")  # of the time of day from steady time, at the last answer
        self._date = "", 0

    def learn(self, date: str, sent: float, received: float, time_of_day: float) -> None:
        """Take in the date that an answer bears, and when, in steady time, it was asked for and received."""
        with self._lock:
            if date != self._date[0]:
                parsed = parsedate_tz(date)
                if parsed is None:
                    return
                self._date = date, mktime_tz(parsed)
            seconds = self._date[1]
            offset = time_of_day - received
            if offset > self._offset + _JUMP:  # this machine slept: the bounds are of before
                self._bounds.clear()
            self._offset = offset
            self._bounds.append((seconds - received, seconds + 1 - sent))
            low, high = (max(of_each) for of_each in zip(*self._bounds, strict=True))
            self._range = low - _TOLERANCE, high + _TOLERANCE

    def now(self, time_of_day: float, steady_time: float) -> float:
        """Return the time in seconds since 1970."""
        offset = time_of_day - steady_time
        if offset > self._offset + _JUMP:
            return time_of_day  # this machine slept, or its clock was set: the next answer tells
        low, high = self._range
        return steady_time + min(max(offset, low), high)


_CLOCK = Clock()


def learn(date: str | None, sent: float) -> None:
    """Take in the date that an answer of DynamoDB bears, and when, by `steady`, it was asked for."""
    if date is not None:
        _CLOCK.learn(date, sent, steady(), time.time())


def now_ms() -> int:
    """Return the time in milliseconds since 1970."""
    return int(_CLOCK.now(time.time(), steady()) * 1000)
