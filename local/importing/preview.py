"""Show the first rows of an import as they would be stored, and store nothing."""

from collections.abc import Iterable
from datetime import UTC, datetime

from rich.table import Table

from core.domain.errors import LeaderboardError
from core.domain.model import Board
from core.domain.scores import display, parse
from core.submissions.submit import Submission, check_submission
from local.importing.report import Report
from local.importing.rows import LeftOut, Refusal, Row

_SHOWN_ROWS = 10


def preview(board: Board, rows: Iterable[Row | Refusal | LeftOut], report: Report, now: datetime) -> Table:
    """Return a table of the first rows that would be submitted; report every row."""
    table = Table(title=f"The first rows for board {board.id!r}, as they would be stored")
    names = (component.name for component in board.components)
    for heading in ("line", "participantId", *names, "achievedAt", "displayName", "metadata"):
        table.add_column(heading, overflow="fold")
    for row in rows:
        if isinstance(row, Refusal):
            report.refuse(row)
        elif isinstance(row, LeftOut):
            report.leave_out(row)
        elif _is_refused(board, row, report, now):
            continue
        else:
            report.accept()
            if table.row_count < _SHOWN_ROWS:
                table.add_row(*_cells(board, row))
    return table


def _is_refused(board: Board, row: Row, report: Report, now: datetime) -> bool:
    submission = Submission(row.participant_id, row.score, row.achieved_at, row.display_name, row.metadata)
    try:
        check_submission(board, submission, now=now)
    except LeaderboardError as refusal:
        report.settle(row, refusal)
        return True
    return False


def _cells(board: Board, row: Row) -> list[str]:
    score = [
        display([component], [parse(component, text)])
        for component, text in zip(board.components, row.score, strict=True)
    ]
    achieved_at = row.achieved_at.astimezone(UTC).isoformat().replace("+00:00", "Z")
    return [
        str(row.number),
        row.participant_id,
        *score,
        achieved_at,
        row.display_name or "",
        row.metadata or "",
    ]
