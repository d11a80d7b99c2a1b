"""Consume the scores table's stream: bring everything that is derived from entries up to date.

records -> changes, by standings -> movers, top
        |                        -> steps -> nodes of the counter trees, in mode STREAM
        |                        -> late entries, written again
        -> bundles, of hot boards -> a queue -> their bookkeepers, which do the same
"""

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from core.boards import Boards
from core.counters.cache import MAX_STANDINGS, CounterCache
from core.counters.growing_list import mark_growing
from core.counters.known_trees import TreeReplaced, Trees
from core.counters.ledger import enter, read_ledger
from core.counters.nodes import add_steps, counts_of
from core.domain.entry_item import without_foreign_shard
from core.domain.errors import InvalidInput
from core.domain.keys import split_standings
from core.domain.model import Board, CounterMode
from core.domain.periods import is_expired
from core.notifications.movers import record_movers
from core.ranking.top import update_top
from core.storage.clock import now_ms
from core.storage.database import Database
from core.storage.parallel import run_all
from core.tree.bundle import Bundle, bookkeepers_of, bundle
from core.tree.changes import Change, MalformedRecord, read_change
from core.tree.node import Step, node_name
from core.tree.shape import GROW_AT, Path, capacity
from core.upkeep.entry_rewrites import rewrite_entry

_AT_RISK = timedelta(hours=23)  # a stream drops records after a day
_PASS_SECONDS = 1.0  # between two passes of a bookkeeper over many changes
_WORTH_WAITING = 32  # changes in a pass, from which on they probably share writes with the next ones
_MARK_SECONDS = 30  # a leaf that stays full is marked again after so long
# Errors that a retry of the batch does not fix.
_LASTING = (ArithmeticError, AssertionError, AttributeError, LookupError, TreeReplaced, TypeError, ValueError)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BatchReport:
    """How many records of a batch were counted, set aside and handed on, and the newest one's time.

    `due` are the standings whose participants may have to be notified.
    """

    counted: int
    set_aside: int
    newest: datetime | None
    due: frozenset[str] = frozenset()
    handed_on: int = 0


def process(
    db: Database,
    boards: Boards,
    shard_id: str,
    records: Sequence[Mapping[str, Any]],
    hand_on: Callable[[Sequence[Bundle]], object] | None = None,
) -> BatchReport:
    """Bring all derived data up to a batch of one stream shard, in the order of the stream.

    Changes of hot boards are passed to `hand_on`, if there is one, for their bookkeepers. A batch may come
    again, whole or in other pieces: no record counts twice. Whatever this raises is transient; the caller
    passes the same records again. Malformed records are set aside, and so are those of standings that cannot
    be counted.

    Costs, for all standings in the batch that are not handed on: a write unit a KB for each node whose counts
    change, however many entries change them; reading the top, and writing it if it changes.
    """
    changes: defaultdict[str, list[Change]] = defaultdict(list)
    newest: datetime | None = None
    for record in records:
        try:
            change = read_change(record)
        except MalformedRecord as error:
            name = record.get("eventID") if isinstance(record, Mapping) else None
            _log.warning("record %s set aside: %s", name, error)
            continue
        changes[change.standings].append(change)
        newest = max(newest or change.at, change.at)
    _report_late(changes)
    # Cache the boards in one round trip. A board that cannot be read is reported where it is needed.
    with suppress(LookupError, TypeError, ValueError):
        boards.get_many(split_standings(standings)[0] for standings in changes)
    bundles = [] if hand_on is None else _take_bundles(boards, shard_id, changes)
    if hand_on is not None and bundles:
        hand_on(bundles)
    due = run_all([partial(_count_or_set_aside, db, boards, shard_id, *item) for item in changes.items()])
    counted = sum(len(of) for of, is_due in zip(changes.values(), due, strict=True) if is_due is not None)
    to_notify = frozenset(standings for standings, is_due in zip(changes, due, strict=True) if is_due)
    handed_on = sum(len(each.changes) for each in bundles)
    return BatchReport(counted, len(records) - counted - handed_on, newest, to_notify, handed_on)


def _report_late(changes: Mapping[str, Sequence[Change]]) -> None:
    """Log an error if records are so old that the stream may have dropped others before they were read."""
    oldest = datetime.now(UTC) - _AT_RISK
    late = sorted(standings for standings, of in changes.items() if of[0].at < oldest)
    if late:
        _log.error("records nearly a day old: the stream may have dropped older ones; rebuild %s", late)


def _take_bundles(boards: Boards, shard_id: str, changes: dict[str, list[Change]]) -> list[Bundle]:
    """Take the changes of hot boards out of `changes`; return them in bundles.

    Which board is hot never changes. So a change is handed on each time that it comes, or never.
    """
    bundles: list[Bundle] = []
    for standings in list(changes):
        board = _board_of(boards, standings)
        if board is not None and bookkeepers_of(board):
            bundles += bundle(board, standings, shard_id, changes.pop(standings))
    return bundles


def count_bundles(
    db: Database, boards: Boards, bundles: Sequence[tuple[int, Bundle]], *, wait: bool = True
) -> BatchReport:
    """Count bundles of one bookkeeper, each with its number in the queue, in the order of these numbers.

    The same bundles may come again, under the same numbers or, where a batch of the stream has come again,
    under later ones: no record counts twice. With `wait`, a pass over many changes begins a second after the
    last one at the earliest, so that more changes share a write. What this raises is transient.

    Costs what `process` does, and reading and writing the ledger: a unit of each for each KB, 4 KB to read.
    """
    standings, bookkeeper = bundles[0][1].standings, bundles[0][1].bookkeeper
    board_id, _, generation = split_standings(standings)
    try:
        board = boards.get_generation(board_id, generation)
    except (*_LASTING, InvalidInput):
        count = sum(len(of.changes) for _, of in bundles)
        _log.exception("%d record(s) of %r set aside; rebuild its counters", count, standings)
        return BatchReport(0, count, None)
    if board is None:  # deleted
        return BatchReport(0, 0, None)
    ledger = read_ledger(db, standings, bookkeeper)
    counted: dict[str, int] = {}
    fresh: list[Change] = []
    for number, of in bundles:
        last = counted.setdefault(of.shard_id, ledger.counted(of.shard_id))
        fresh += [replace(change, sequence=number) for change in of.changes if change.sequence > last]
        counted[of.shard_id] = max(last, of.changes[-1].sequence)
    if not fresh:  # a pass may have died before it could ask for notifications
        return BatchReport(0, 0, None, frozenset([standings]))
    if wait and len(fresh) > _WORTH_WAITING:
        time.sleep(max(0.0, min(_PASS_SECONDS, (ledger.written_at - now_ms()) / 1000 + _PASS_SECONDS)))
    is_due = _count_or_set_aside(db, boards, f"bookkeeper{bookkeeper}", standings, fresh)
    enter(db, board, standings, bookkeeper, ledger, bundles[-1][0], counted)
    return BatchReport(
        counted=0 if is_due is None else len(fresh),
        set_aside=len(fresh) if is_due is None else 0,
        newest=max(change.at for change in fresh),
        due=frozenset([standings] if is_due else []),
    )


def _board_of(boards: Boards, standings: str) -> Board | None:
    """Return the board of some standings; None if it has been deleted, or cannot be read for good."""
    board_id, _, generation = split_standings(standings)
    try:
        return boards.get_generation(board_id, generation)
    except (*_LASTING, InvalidInput):
        return None


def _count_or_set_aside(
    db: Database, boards: Boards, shard_id: str, standings: str, changes: Sequence[Change]
) -> bool | None:
    """Count the changes of some standings; return whether they are due for notification, None if set aside.

    An error that lasts must not stop other standings. The counters of these are then wrong until rebuilt.
    """
    for last_try in (False, True):
        try:
            return _count(db, boards, shard_id, standings, changes)
        except _LASTING:
            if last_try:
                _log.exception("%d record(s) of %r set aside; rebuild its counters", len(changes), standings)
            db.cache(CounterCache).drop(standings)  # in case what it holds is wrong
    return None


def _count(db: Database, boards: Boards, shard_id: str, standings: str, changes: Sequence[Change]) -> bool:
    """Count the changes of some standings; return whether they are due for notification."""
    board_id, period, generation = split_standings(standings)
    board = boards.get_generation(board_id, generation)
    # Counters of a board that was deleted, or of a period that TTL deletes, are deleted too.
    if board is None or is_expired(board, period, datetime.now(UTC)):
        return False
    own = partial(without_foreign_shard, board)
    changes = [change.with_images(own(change.old), own(change.new)) for change in changes]
    calls: list[Callable[[], bool | None]] = [
        partial(record_movers, db, shard_id, board, standings, changes),
        partial(update_top, db, shard_id, board, standings, changes),
    ]
    trees = Trees(db, board, standings)
    if board.counter_mode is CounterMode.STREAM:
        newest = max(change.at for change in changes)
        calls += [
            partial(_count_in_node, db, shard_id, board, standings, node, steps, newest)
            for node, steps in trees.steps(changes).items()
        ]
    due, rechecks, *_ = run_all(calls)
    run_all([partial(rewrite_entry, db, board, standings, *late) for late in trees.late_entries(changes)])
    if board.counter_mode is not CounterMode.STREAM:
        _mark_growing(db, standings, "")  # some leaf may be full: writers count for themselves
    return bool(due or rechecks)  # a pass rechecks the top if no further change does


def _count_in_node(
    db: Database,
    shard_id: str,
    board: Board,
    standings: str,
    node: tuple[int, Path],
    steps: Sequence[Step],
    newest: datetime,
) -> None:
    name, read_at = node_name(*node), now_ms()
    item = add_steps(db, shard_id, board, standings, name, steps, newest)
    trees = Trees(db, board, standings)
    grown = trees.remember_node(*node, item, read_at=read_at).grown
    for child, count in counts_of(item).items():
        if count > GROW_AT and child not in grown:  # no leaf grows at less
            low, high = trees.child_range(*node, child)
            if count > capacity(board, low, high):
                _mark_growing(db, standings, f"{name} {child}")


def _mark_growing(db: Database, standings: str, leaf: str) -> None:
    """Mark standings as growing, unless they have been marked for this leaf a moment ago."""
    marked = db.cache(CounterCache).marked
    if time.monotonic() > marked.get((standings, leaf), 0.0):
        mark_growing(db, standings)
        if len(marked) > MAX_STANDINGS:
            marked.clear()
        marked[standings, leaf] = time.monotonic() + _MARK_SECONDS
