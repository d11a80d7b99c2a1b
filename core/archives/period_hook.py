"""The hook that archives the standings of a period that has ended."""

from datetime import datetime

from core.archives.write import begin_archive
from core.domain.model import Board
from core.storage.database import Database
from core.storage.rank_index import read_run


def archive_ended_period(db: Database, board: Board, period: str, now: datetime) -> None:
    """Ask for the archive of an ended period, unless it has no entries. Idempotent.

    Costs half a read unit for each index shard, and some ten units if there are entries.
    """
    if read_run(db, board, period, 1):
        begin_archive(db, board, period, now, ended=True)
