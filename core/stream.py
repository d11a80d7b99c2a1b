"""The consumer of the scores table's stream: from records to derived data.

records -> changes, order by order -> size, top
"""

import logging
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from core.boards import Boards
from core.database import Database
from core.deltas import Change, Poison, read_change
from core.growth import GROW_AT, mark_growing, rewrite_late
from core.keys import split_standings
from core.model import Board
from core.nodes import Trees, add_steps, counts_of, now_ms
from core.parallel import run_all
from core.scale import Path
from core.top import follow_top
from core.tree import Step, node_name

_log = logging.getLogger(__name__)

_MARK_SECONDS = 30  # growth is noted again after so long, should it still be due


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What became of a batch: records counted, records set aside, and the newest one's time."""

    counted: int
    refused: int
    newest: datetime | None


class Consumer:
    """Counts the stream's records into the derived data, with this process's memory of the trees."""

    def __init__(self, db: Database, boards: Boards) -> None:
        self._db = db
        self._boards = boards
        self._trees = Trees(db)
        self._marked: dict[str, float] = {}

    def process(self, shard_id: str, records: Sequence[Mapping[str, Any]]) -> BatchReport:
        """Bring all derived data up to a batch of one stream shard, in the order of the stream.

        A batch may come again, whole or in other pieces: what is counted is not counted twice. Whatever this
        raises is passing; the caller gives the same records again.

        Costs, for each order in the batch: a write unit a KB for each node of its tree whose counts moved,
        however many entries moved there; reading the top, and writing it if it changed.
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
        known = self._boards.get_many(split_standings(standings)[0] for standings in changes)
        run_all(
            [
                partial(
                    self._count, shard_id, known.get(split_standings(standings)[0]), standings, of_standings
                )
                for standings, of_standings in changes.items()
            ]
        )
        return BatchReport(counted=len(records) - refused, refused=refused, newest=newest)

    def _count(self, shard_id: str, board: Board | None, standings: str, changes: Sequence[Change]) -> None:
        if board is None or board.generation != split_standings(standings)[2]:
            return  # late records of a board that is gone
        newest = max(change.at for change in changes)
        by_node = self._trees.steps(board, standings, changes)
        run_all(
            [
                *(
                    partial(self._count_node, shard_id, board, standings, tree, path, node_steps, newest)
                    for (tree, path), node_steps in by_node.items()
                ),
                partial(follow_top, self._db, shard_id, board, standings, changes),
            ]
        )
        for change in self._trees.late(standings, changes):
            rewrite_late(self._db, change)

    def _count_node(
        self,
        shard_id: str,
        board: Board,
        standings: str,
        tree: int,
        path: Path,
        node_steps: Sequence[Step],
        newest: datetime,
    ) -> None:
        read_at = now_ms()
        item = add_steps(self._db, shard_id, standings, node_name(tree, path), node_steps, newest)
        if item is None:
            return
        node = self._trees.learn(board, standings, tree, path, item, read_at)
        full = any(count > GROW_AT and child not in node.grown for child, count in counts_of(item).items())
        if full and time.monotonic() > self._marked.get(standings, 0.0):
            mark_growing(self._db, standings)
            self._marked[standings] = time.monotonic() + _MARK_SECONDS
