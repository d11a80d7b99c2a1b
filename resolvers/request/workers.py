"""The threads in which core runs. Submissions have their own, so that they cannot use up those of reads."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar, copy_context
from functools import partial
from typing import ParamSpec, TypeVar

from core.domain.errors import Throttled
from core.storage.parallel import new_pools, run_in
from resolvers.observability import traced

P = ParamSpec("P")
T = TypeVar("T")

WORKERS = 8
WAIT_SECONDS = 2.0
READS_AT_ONCE = 3  # of one request; asyncio's pool has at least 5 threads

_turns: ContextVar[asyncio.Semaphore | None] = ContextVar("turns", default=None)


@contextmanager
def sharing_workers() -> Iterator[None]:
    """Let the block's request run `READS_AT_ONCE` operations at once, so that others get threads too."""
    token = _turns.set(asyncio.Semaphore(READS_AT_ONCE))
    try:
        yield
    finally:
        _turns.reset(token)


async def run_operation(operation: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run an operation of core, which blocks, in a thread. All resolvers but those of submissions use it."""
    async with _turns.get() or nullcontext():
        return await asyncio.to_thread(partial(traced, operation, *args, **kwargs))


class SubmissionWorkers:
    """Runs a limited number of submissions at once; refuses one that waits too long for a worker."""

    def __init__(self, workers: int = WORKERS, wait_seconds: float = WAIT_SECONDS) -> None:
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="submissions")
        self._calls = new_pools("submission-calls")  # a batch of slow writes must not hold up reads
        self._workers = workers
        self._wait_seconds = wait_seconds

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run a blocking call in the caller's context and return its result.

        Raises:
            Throttled: all workers were busy for too long; the call has not begun, so nothing is stored.
        """
        work = self._pool.submit(copy_context().run, run_in, self._calls, partial(call, *args, **kwargs))
        result = asyncio.wrap_future(work)
        done, _ = await asyncio.wait([result], timeout=self._wait_seconds)
        if not done and work.cancel():  # a call that has begun cannot be cancelled
            raise Throttled(
                f"too many submissions at once: none of {self._workers} workers was free for "
                f"{self._wait_seconds:g} seconds; nothing is stored, submit again later"
            )
        return await result


SHARED = SubmissionWorkers()
