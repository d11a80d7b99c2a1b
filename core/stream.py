"""The consumer of the scores table's stream: from records to derived data.

records -> changes, order by order -> steps -> nodes of the counter tree
                                   -> top
"""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from core.boards import Boards
from core.counters.cache import REMEMBERED, CounterCache
from core.counters.growing import mark_growing
from core.counters.known_trees import Gone, Trees
from core.counters.nodes import add_steps, counts_of, drop_guards
from core.domain.entry_item import without_foreign_shard
from core.domain.keys import split_standings
from core.domain.model import Board, CounterMode
from core.domain.periods import is_expired
from core.notifications.movers import record_movers
from core.ranking.top import update_top
from core.storage.clock import now_ms
from core.storage.database import Database
from core.storage.parallel import run_all
from core.tree.changes import Change, MalformedRecord, read_change
from core.tree.node import Step, node_name
from core.tree.shape import GROW_AT, Path, capacity
from core.upkeep.rewrites import rewrite_late

_log = logging.getLogger(__name__)

_MARK_SECONDS = 30  # a leaf is noted again after so long, should it still be full


@dataclass(frozen=True, slots=True)
class BatchReport:
    """What became of a batch: records counted, records set aside, the newest one's time.

    `due` names the orders whose participants may have to be told of another rank bucket.
    """

    counted: int
    refused: int
    newest: datetime | None
    due: frozenset[str] = frozenset()


def process(db: Database, boards: Boards, shard_id: str, records: Sequence[Mapping[str, Any]]) -> BatchReport:
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
        except MalformedRecord as poison:
            refused += 1
            name = record.get("eventID") if isinstance(record, Mapping) else None
            _log.warning("record %s set aside: %s", name, poison)
            continue
        changes[change.standings].append(change)
        newest = max(newest or change.at, change.at)
    due: set[str] = set()
    with suppress(LookupError, TypeError, ValueError):  # the order whose board is broken will say so
        boards.get_many(split_standings(standings)[0] for standings in changes)  # at once, to be remembered
    refused += sum(
        run_all(
            [
                partial(_count_apart, db, boards, shard_id, standings, of_standings, due)
                for standings, of_standings in changes.items()
            ]
        )
    )
    return BatchReport(counted=len(records) - refused, refused=refused, newest=newest, due=frozenset(due))


def _count_apart(
    db: Database, boards: Boards, shard_id: str, standings: str, changes: Sequence[Change], due: set[str]
) -> int:
    """Count one order's changes; gives how many had to be set aside.

    What does not pass with time must not stop the other orders: this one's counters are then off until
    rebuilt, and `check` says so.
    """
    for last_try in (False, True):
        try:
            if _count(db, boards, shard_id, standings, changes):
                due.add(standings)
        except (ArithmeticError, AssertionError, AttributeError, Gone, LookupError, TypeError, ValueError):
            if last_try:
                _log.exception("%d record(s) of %r set aside; rebuild its counters", len(changes), standings)
                return len(changes)
            db.cache(CounterCache).forget(standings)  # should that be what is wrong
        else:
            break
    return 0


def _count(db: Database, boards: Boards, shard_id: str, standings: str, changes: Sequence[Change]) -> bool:
    """Count one order's changes; says whether someone may have to be told of another rank bucket."""
    board_id, period, generation = split_standings(standings)
    board = boards.get_generation(board_id, generation)
    # Late records of a board that is gone, or entries that go with their period: so do its counters.
    if board is None or is_expired(board, period, datetime.now(UTC)):
        return False
    changes = [
        replace(one, old=without_foreign_shard(board, one.old), new=without_foreign_shard(board, one.new))
        for one in changes
    ]
    calls: list[Callable[[], bool | None]] = [
        partial(record_movers, db, shard_id, board, standings, changes),
        partial(update_top, db, shard_id, board, standings, changes),
    ]
    trees = Trees(db)
    if board.counter_mode is CounterMode.STREAM:
        newest = max(change.at for change in changes)
        calls += [
            partial(_count_node, db, shard_id, board, standings, node, node_steps, newest)
            for node, node_steps in trees.steps(board, standings, changes).items()
        ]
    due = run_all(calls)[0]
    run_all([partial(rewrite_late, db, board, *late) for late in trees.late(board, standings, changes)])
    if board.counter_mode is not CounterMode.STREAM:
        _note_growing(db, standings, "")  # what other processes count is not seen here
    return bool(due)


def _count_node(
    db: Database,
    shard_id: str,
    board: Board,
    standings: str,
    node: tuple[int, Path],
    node_steps: Sequence[Step],
    newest: datetime,
) -> None:
    read_at = now_ms()
    item = add_steps(db, shard_id, board, standings, node_name(*node), node_steps, newest)
    drop_guards(db, standings, node_name(*node), item)
    trees = Trees(db)
    known = trees.learn(board, standings, *node, item, read_at)
    for child, count in counts_of(item).items():
        if (
            count > GROW_AT
            and child not in known.grown
            and count > capacity(board, *trees.stretch(board, standings, *node, child))
        ):
            _note_growing(db, standings, f"{node_name(*node)} {child}")


def _note_growing(db: Database, standings: str, leaf: str) -> None:
    marked = db.cache(CounterCache).marked
    if time.monotonic() > marked.get((standings, leaf), 0.0):
        mark_growing(db, standings)
        if len(marked) > REMEMBERED:
            marked.clear()
        marked[standings, leaf] = time.monotonic() + _MARK_SECONDS
