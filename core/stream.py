"""The consumer of the scores table's stream: from records to derived data.

records -> changes, order by order -> size, top
"""

import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from core.boards import Boards
from core.counters import count_size, follow_top
from core.database import Database
from core.deltas import Change, Poison, read_change
from core.keys import split_standings
from core.model import Board
from core.parallel import run_all

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What became of a batch: records counted, records set aside, and the newest one's time."""

    counted: int
    refused: int
    newest: datetime | None


def process(db: Database, boards: Boards, shard_id: str, records: Sequence[Mapping[str, Any]]) -> BatchReport:
    """Bring all derived data up to a batch of one stream shard, in the order of the stream.

    A batch may come again, whole or in other pieces: what is counted is not counted twice. Whatever this
    raises is passing; the caller gives the same records again.

    Costs, for each board in the batch: a write unit if its size moved; reading the top, and writing it if it
    changed.
    """
    changes: defaultdict[str, list[Change]] = defaultdict(list)
    newest: datetime | None = None
    refused = 0
    for record in records:
        try:
            change = read_change(record)
        except Poison as poison:
            refused += 1
            _log.warning("record %s set aside: %s", record.get("eventID"), poison)
            continue
        changes[change.standings].append(change)
        newest = max(newest or change.at, change.at)
    known = boards.get_many(split_standings(standings)[0] for standings in changes)
    run_all(
        [
            partial(_count, db, shard_id, known.get(split_standings(standings)[0]), standings, of_standings)
            for standings, of_standings in changes.items()
        ]
    )
    return BatchReport(counted=len(records) - refused, refused=refused, newest=newest)


def _count(
    db: Database, shard_id: str, board: Board | None, standings: str, changes: Sequence[Change]
) -> None:
    if board is None or board.generation != split_standings(standings)[2]:
        return  # late records of a board that is gone
    count_size(db, shard_id, standings, changes)
    follow_top(db, shard_id, board, standings, changes)
