"""Run an import: submit the rows of a source, report each, and resume where an earlier run stopped."""

from collections.abc import Callable, Iterable, Iterator

from core.domain.errors import LeaderboardError
from core.domain.model import Board, SubmitResult
from core.storage.database import Database
from local.errors import StackError
from local.importing.checkpoint import Checkpoint
from local.importing.report import Report
from local.importing.rows import LeftOut, Refusal, Row
from local.importing.submit import ImportStoppedError, submit_rows

_ROWS_BETWEEN_PROGRESS = 100


def import_rows(
    db: Database,
    board: Board,
    rows: Iterable[Row | Refusal | LeftOut],
    report: Report,
    checkpoint: Checkpoint,
    *,
    workers: int,
    show_progress: Callable[[], object] = lambda: None,
) -> None:
    """Submit the rows of a source. Calls `show_progress` every hundred rows.

    Raises:
        StackError: a row failed for a reason that may pass. Run the same import again to resume it.
    """

    def unsettled() -> Iterator[Row]:
        for count, row in enumerate(rows):
            if count % _ROWS_BETWEEN_PROGRESS == 0:
                show_progress()
            if isinstance(row, Refusal):
                report.refuse(row)
            elif isinstance(row, LeftOut):
                report.leave_out(row)
            elif checkpoint.is_done(row.number):
                report.skip()
            else:
                checkpoint.start(row.number)
                yield row

    def settle(row: Row, outcome: SubmitResult | LeaderboardError) -> None:
        report.settle(row, outcome)
        checkpoint.settle(row.number, refused=isinstance(outcome, LeaderboardError))

    try:
        submit_rows(db, board, unsettled(), source=checkpoint.source, workers=workers, settle=settle)
    except ImportStoppedError as stop:
        raise StackError(
            f"the import stopped at line {stop.number}: {stop.cause}; run the same import again to resume it"
        ) from stop
    checkpoint.finish(changed=report.accepted + report.kept + report.repeated > 0)
