"""Independent calls to the database, side by side."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

# Work that waits for more work has a pool of its own, so the two cannot wait for each other's threads.
_pools = tuple(ThreadPoolExecutor(max_workers=32, thread_name_prefix=f"dynamodb-{depth}") for depth in (0, 1))
_depth: ContextVar[int] = ContextVar("depth", default=0)


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Give items in lists of so many, the last of them perhaps shorter."""
    waiting = iter(items)
    while some := list(islice(waiting, size)):
        yield some


def run_all(calls: Iterable[Callable[[], T]]) -> list[T]:
    """Run the calls at once and give their results in order; the first failure is raised.

    Calls may use this themselves, one level deep; deeper ones run one after the other.
    """
    calls = list(calls)
    depth = _depth.get()
    if len(calls) == 1 or depth == len(_pools):
        return [call() for call in calls]
    futures = [_pools[depth].submit(copy_context().run, _deeper, call, depth) for call in calls]
    return [future.result() for future in futures]


def _deeper(call: Callable[[], T], depth: int) -> T:
    _depth.set(depth + 1)
    return call()
