"""Write entries again as they are, so that nodes that are younger than the entries count them."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from core.counters.known_trees import MAX_CLOCK_SKEW
from core.domain.keys import rank_shard, shard_of, split_standings
from core.domain.model import Board, CounterMode
from core.entries.write import EntryWrite, write_entry
from core.storage.clock import now_ms
from core.storage.database import Database
from core.storage.parallel import batched, run_all
from core.storage.rank_index import every_participant

if TYPE_CHECKING:
    from core.counters.nodes import Item
    from core.domain.entry_item import Key

_BATCH = 512

Progress = Callable[[int], None]  # takes how many entries are done


def rewrite(
    db: Database,
    board: Board,
    standings: str,
    low: bytes,
    high: bytes | None,
    birth: int,
    progress: Progress = lambda _done: None,
) -> None:
    """Rewrite the entries with rank keys from `low` to before `high` that were written before `birth`.

    An entry that has moved or been written since it was read is left alone. Costs reading the range from the
    index, and a write unit for each entry.
    """
    entries = every_participant(db, board, split_standings(standings)[1], low, high)
    done = 0
    for batch in batched(entries, _BATCH):
        run_all([partial(rewrite_entry, db, board, standings, *entry, birth) for entry in batch])
        done += len(batch)
        progress(done)


def rewrite_entry(
    db: Database, board: Board, standings: str, participant: str, key: bytes, birth: int
) -> None:
    """Set an entry's `written_at` if it is before `birth` or too far ahead, and the rank key is the same.

    Does nothing if the clock is so far behind that the node would not count the entry: it is left to others.
    Costs a write unit; in other modes than STREAM a consistent read too, and what `write_entry` says.
    """
    now = now_ms()
    if now + MAX_CLOCK_SKEW < birth:
        return
    entry: Key = {"participant": {"S": participant}, "standings": {"S": standings}}
    before: Item | None = None
    if board.counter_mode is not CounterMode.STREAM:
        answer = db.client.get_item(TableName=db.tables.scores, Key=entry, ConsistentRead=True)
        before = answer.get("Item", {})
        if "rank_key" not in before or bytes(before["rank_key"]["B"]) != key:
            return
    written = {"N": str(now)}
    write = EntryWrite(
        entry,
        {
            "UpdateExpression": "SET written_at = :now",
            "ConditionExpression": "rank_key = :key AND attribute_exists(rank_shard)"
            " AND (attribute_not_exists(written_at) OR NOT written_at BETWEEN :birth AND :ahead)",
            "ExpressionAttributeValues": {
                ":key": {"B": key},
                ":birth": {"N": str(birth)},
                ":ahead": {"N": str(now + MAX_CLOCK_SKEW)},
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
