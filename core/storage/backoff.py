"""Exponential back-off with full jitter."""

import random
import time

BASE = 0.002  # seconds
LONGEST = 0.2


def delay(attempt: int, *, base: float = BASE, longest: float = LONGEST) -> float:
    """Return a random number of seconds, from 0 to `base` doubled `attempt` times, but not over `longest`."""
    return random.uniform(0, min(longest, base * 2 ** min(attempt, 32)))


def back_off(attempt: int, *, base: float = BASE, longest: float = LONGEST) -> None:
    """Sleep for the `delay` of this attempt."""
    time.sleep(delay(attempt, base=base, longest=longest))
