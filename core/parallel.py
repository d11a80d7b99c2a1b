"""Independent calls to the database, side by side."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

T = TypeVar("T")

# Only leaf calls to the database run here, never work that waits for more of the pool: it cannot lock up.
_pool = ThreadPoolExecutor(max_workers=32, thread_name_prefix="dynamodb")


def run_all(calls: Iterable[Callable[[], T]]) -> list[T]:
    """Run the calls at once and give their results in order; the first failure is raised."""
    calls = list(calls)
    if len(calls) == 1:
        return [calls[0]()]
    return [future.result() for future in [_pool.submit(copy_context().run, call) for call in calls]]
