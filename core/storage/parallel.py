"""Run independent calls to the database at once."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from itertools import islice
from typing import TypeVar

T = TypeVar("T")

Pools = tuple[ThreadPoolExecutor, ...]


def new_pools(name: str) -> Pools:
    """Return thread pools for `run_all`: one for each depth, so that waiting calls do not block others."""
    return tuple(ThreadPoolExecutor(max_workers=32, thread_name_prefix=f"{name}-{depth}") for depth in (0, 1))


_pools: ContextVar[Pools] = ContextVar("pools", default=new_pools("dynamodb"))  # noqa: B039 - shared on purpose
_depth: ContextVar[int] = ContextVar("depth", default=0)


def run_in(pools: Pools, call: Callable[[], T]) -> T:
    """Run a call whose `run_all` uses these pools instead of the shared ones."""
    token = _pools.set(pools)
    try:
        return call()
    finally:
        _pools.reset(token)


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield the items in lists of `size`, the last of them perhaps shorter."""
    left = iter(items)
    while batch := list(islice(left, size)):
        yield batch


def run_all(calls: Iterable[Callable[[], T]]) -> list[T]:
    """Run the calls at once and return their results in order; the first error is raised.

    A call may use this itself; deeper than that, calls run one after another.
    """
    calls = list(calls)
    depth, pools = _depth.get(), _pools.get()
    if len(calls) == 1 or depth == len(pools):
        return [call() for call in calls]
    futures = [pools[depth].submit(copy_context().run, _deeper, call, depth) for call in calls]
    return [future.result() for future in futures]


def _deeper(call: Callable[[], T], depth: int) -> T:
    _depth.set(depth + 1)
    return call()
