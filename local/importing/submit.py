"""Submit many rows to one board from worker threads. Submitting a source again applies no row twice.

All rows of a participant go to one worker, in order, each with its number as the submission's sequence. The
write that applies a row also stores its number in the entry. So a process killed at any point has applied,
for each participant, exactly the rows up to a number that the entry itself knows. One rule keeps this true:
never go past a row that failed for a reason that may pass.
"""

import contextvars
import queue
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime

from core.domain.errors import EntryRemoved, InvalidInput, InvalidScore, LeaderboardError, Throttled
from core.domain.limits import MAX_SUBMISSIONS
from core.domain.model import Board, SubmitResult
from core.storage.backoff import back_off
from core.storage.database import Database
from core.submissions.submit import Submission, submit_scores
from local.importing.rows import Row

_QUEUED_ROWS = 200  # a worker: enough to never wait for the reader, little memory
_THROTTLED_RETRIES = 10  # with delays of up to 10 s


class ImportStoppedError(Exception):
    """A row failed for a reason that may pass. It may be applied; no later row of its participant is."""

    def __init__(self, number: int, cause: Exception) -> None:
        super().__init__(f"row {number}: {cause}")
        self.number = number
        self.cause = cause


def submit_rows(
    db: Database,
    board: Board,
    rows: Iterable[Row],
    *,
    source: str,
    workers: int,
    settle: Callable[[Row, SubmitResult | LeaderboardError], object],
) -> None:
    """Submit rows, those of one participant in order, and call `settle` with the outcome of each.

    Calls `settle` from the workers' threads. The outcome of a refused row is an InvalidScore, InvalidInput or
    EntryRemoved.

    Raises:
        ImportStoppedError: a row failed for another reason; the same call again resumes there.
    """
    stopped = threading.Event()
    failures: list[ImportStoppedError] = []

    def work(assigned: "queue.Queue[Row | None]") -> None:
        while batch := _next_batch(assigned):
            if stopped.is_set():
                continue  # empty the queue, or the reader would block for ever
            try:
                for row, outcome in _submit(db, board, batch, source):
                    settle(row, outcome)
            except ImportStoppedError as failure:
                failures.append(failure)
                stopped.set()
            except Exception as error:
                failures.append(ImportStoppedError(batch[0].number, error))
                stopped.set()

    queues: list[queue.Queue[Row | None]] = [queue.Queue(_QUEUED_ROWS) for _ in range(workers)]
    threads = [
        # In a copy of the context, so that the caller's meter includes what the workers consume.
        threading.Thread(target=contextvars.copy_context().run, args=(work, assigned), daemon=True)
        for assigned in queues
    ]
    for thread in threads:
        thread.start()
    try:
        for row in rows:
            if stopped.is_set():
                break
            queues[zlib.crc32(row.participant_id.encode(errors="surrogatepass")) % workers].put(row)
    except BaseException:
        stopped.set()
        raise
    finally:
        for assigned in queues:
            assigned.put(None)
        for thread in threads:
            thread.join()
    if failures:
        raise min(failures, key=lambda failure: failure.number)


def _next_batch(assigned: "queue.Queue[Row | None]") -> list[Row]:
    """Wait for a row and return it with those queued behind it; empty at the end, which stays queued."""
    batch: list[Row] = []
    while len(batch) < MAX_SUBMISSIONS and not (batch and assigned.empty()):
        row = assigned.get()
        if row is None:
            assigned.put(None)
            break
        batch.append(row)
    return batch


def _submit(
    db: Database, board: Board, batch: Sequence[Row], source: str
) -> Iterator[tuple[Row, SubmitResult | LeaderboardError]]:
    """Submit rows; retry those that are throttled, which their sequence makes safe.

    Raises:
        ImportStoppedError: a row failed for a reason that may pass.
    """
    for attempt in range(_THROTTLED_RETRIES + 1):
        submissions = [
            Submission(
                row.participant_id,
                row.score,
                row.achieved_at,
                row.display_name,
                row.metadata,
                sequence=(source, row.number),
            )
            for row in batch
        ]
        outcomes = submit_scores(db, board, submissions, now=datetime.now(UTC))
        throttled = []
        failure: ImportStoppedError | None = None
        for row, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, SubmitResult | InvalidScore | InvalidInput | EntryRemoved):
                yield row, outcome
            elif isinstance(outcome, Throttled) and attempt < _THROTTLED_RETRIES:
                throttled.append(row)
            else:
                failure = failure or ImportStoppedError(row.number, outcome)
        if failure is not None:
            raise failure
        if not throttled:
            return
        batch = throttled
        back_off(attempt, base=0.1, longest=10.0)
