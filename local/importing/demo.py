"""Import the demo: a board for each Formula 1 season, one of fastest laps, one of pit stops."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from core.boards import Boards
from core.domain.errors import LeaderboardExists
from core.storage.database import Database
from local.importing import f1
from local.importing.checkpoint import Checkpoint
from local.importing.report import Report
from local.importing.rows import Row
from local.importing.run import import_rows

SHOWN_YEAR = 2008  # decided by one point, in the last corner
_WORKERS = 4


def replays(archive: f1.Archive, years: Sequence[int], now: datetime) -> list[f1.Replay]:
    """Return the boards of some seasons, and those of fastest laps and pit stops in them."""
    archive = archive.of(years)
    seasons = [f1.season(archive, year, now) for year in years]
    return [*seasons, f1.fastest_laps(archive, now), f1.pit_stops(archive, now)]


def import_replay(
    db: Database, boards: Boards, replay: f1.Replay, report: Report, before_row: Callable[[Row], object]
) -> None:
    """Create a board unless it exists, and submit its rows; call `before_row` before each.

    Raises:
        StackError: a row failed for a reason that may pass. Import it again to resume.
    """
    try:
        board = boards.create(replay.board)
    except LeaderboardExists:
        board = boards.get(replay.board.id)

    def rows() -> Iterator[Row]:
        for row in replay.rows:
            before_row(row)
            yield row

    checkpoint = Checkpoint(db, board, f1.SOURCE)
    import_rows(db, board, rows(), report, checkpoint, workers=_WORKERS)
