"""Writing entries again as they are, so that counters which are younger than they count them too."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from core.counters.known_trees import AHEAD
from core.domain.keys import rank_shard, shard_of, split_standings
from core.domain.model import Board, CounterMode
from core.entries.write import EntryWrite, write_entry
from core.storage.clock import now_ms
from core.storage.database import Database
from core.storage.parallel import run_all
from core.storage.rank_index import read_participants
from core.tree.changes import Change

if TYPE_CHECKING:
    from core.counters.nodes import Item
    from core.domain.entry_item import Key

_AT_ONCE = 512

Progress = Callable[[int, int], None]  # done, of how many


def rewrite(
    db: Database,
    board: Board,
    standings: str,
    low: bytes,
    high: bytes | None,
    born: int,
    progress: Progress = lambda _done, _of: None,
) -> None:
    """Touch the entries of a stretch that were written before `born`.

    Costs reading the stretch from the index, and a write unit for each entry; one that has moved or been
    written since is left alone.
    """
    entries = read_participants(db, board, split_standings(standings)[1], low, high)
    for start in range(0, len(entries), _AT_ONCE):
        some = entries[start : start + _AT_ONCE]
        run_all([partial(_touch, db, board, standings, participant, key, born) for participant, key in some])
        progress(start + len(some), len(entries))


def rewrite_late(db: Database, board: Board, change: Change, born: int) -> None:
    """Touch an entry that came too late to be counted in a node (see `Trees.late`): a write unit."""
    if change.new is not None:
        key = bytes(change.new["rank_key"]["B"])
        _touch(db, board, change.standings, change.participant, key, born)


def _touch(db: Database, board: Board, standings: str, participant: str, key: bytes, born: int) -> None:
    """Write an entry again as it is, if it was written before `born` or claims to be from far ahead."""
    entry: Key = {"participant": {"S": participant}, "standings": {"S": standings}}
    before: Item | None = None
    if board.counter_mode is not CounterMode.STREAM:
        answer = db.client.get_item(TableName=db.tables.scores, Key=entry, ConsistentRead=True)
        before = answer.get("Item", {})
        if "rank_key" not in before or bytes(before["rank_key"]["B"]) != key:
            return
    now = now_ms()
    written = {"N": str(now)}
    write = EntryWrite(
        entry,
        {
            "UpdateExpression": "SET written_at = :now",
            "ConditionExpression": "rank_key = :key AND attribute_exists(rank_shard)"
            " AND (attribute_not_exists(written_at) OR NOT written_at BETWEEN :born AND :ahead)",
            "ExpressionAttributeValues": {
                ":key": {"B": key},
                ":born": {"N": str(born)},
                ":ahead": {"N": str(now + AHEAD)},
                ":now": written,
            },
        },
        before=before,
        after={
            "rank_key": {"B": key},
            "rank_shard": {"S": rank_shard(standings, shard_of(board, participant))},
            "written_at": written,
        },
    )
    write_entry(db, board, write, at_once=True)
