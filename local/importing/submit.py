"""Submits many rows to one board over worker threads, so that running again adds nothing twice.

A participant's rows all go to one worker, in their order, each with its number as the submission's
sequence: the entry remembers the last number of a source in the same write that applies it. So a process
killed at any point leaves behind, for each participant, exactly the rows up to a number that the entry
itself knows. The one thing to keep is never to pass a row that failed for a passing reason.
"""

import contextvars
import queue
import random
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from core.domain.errors import EntryRemoved, InvalidInput, InvalidScore, LeaderboardError, Throttled
from core.domain.limits import MAX_SUBMISSIONS
from core.domain.model import Board, SubmitResult
from core.storage.database import Database
from core.submissions.submit import Submission, submit_scores

_QUEUED_ROWS = 200  # a worker: enough to never wait for the reader, little to hold in memory
_PATIENCE = 10  # waits on a throttled table, the last ones of up to 10 s


@dataclass(frozen=True, slots=True)
class Row:
    """One submission of a file. `number` rises within its source; `raw` is the row as it was read."""

    number: int
    participant_id: str
    score: tuple[str, ...]
    achieved_at: datetime
    display_name: str | None = None
    metadata: str | None = None
    raw: tuple[str, ...] = ()


class ImportStoppedError(Exception):
    """A row failed for a reason that may pass: perhaps applied, but no later one of its participant was."""

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
    """Submit rows, those of one participant in their order, and tell `settle` what became of each.

    `settle` is called from the workers' threads, with an InvalidScore, InvalidInput or EntryRemoved
    for a refused row.

    Raises:
        ImportStoppedError: a row failed for another reason; the same call again goes on from there.
    """
    stopped = threading.Event()
    failures: list[ImportStoppedError] = []

    def work(assigned: "queue.Queue[Row | None]") -> None:
        while batch := _next_batch(assigned):
            if stopped.is_set():
                continue  # only empty the queue, or the reader would wait for ever
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
        # A copy of the context, so that what the workers consume is metered as the caller's.
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
    """Wait for a row and take what else is there; empty at the end, which is left in the queue."""
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
    """Submit rows, with patience where the table is throttled: their sequence makes trying again safe.

    Raises:
        ImportStoppedError: a row failed for a reason that may pass.
    """
    for wait in range(_PATIENCE + 1):
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
        left = []
        failure: ImportStoppedError | None = None
        for row, outcome in zip(batch, outcomes, strict=True):
            if isinstance(outcome, SubmitResult | InvalidScore | InvalidInput | EntryRemoved):
                yield row, outcome
            elif isinstance(outcome, Throttled) and wait < _PATIENCE:
                left.append(row)
            else:
                failure = failure or ImportStoppedError(row.number, outcome)
        if failure is not None:
            raise failure
        if not left:
            return
        batch = left
        time.sleep(random.uniform(0, min(10.0, 0.1 * 2**wait)))
