"""Deleting a board: gone at once for everyone, its entries and all else of it in the background.

The board's item goes in the transaction that asks for the rest, so that the id is free in the same moment:
what is left bears the old generation. It goes in steps that can be done again: entries, hidden ones too,
in every period; archives; what is known of moderated participants; counters. Processes that still remember
the board may write for some seconds more, so once all has gone it is looked through again a minute later.

Left behind are the audit records, what TTL takes anyway (receipts, periods' entries), and stray items that no
index shows and no mark names, which only a stranger can have written.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from core.archives.items import listing, split_archive_id
from core.archives.read import listed_archives
from core.counters.nodes import partitions, query_nodes
from core.domain.board import board_from_json
from core.domain.entry_item import entry_key
from core.domain.keys import live_partition, rank_shards, standings_key
from core.domain.model import Board
from core.domain.periods import periods_used
from core.domain.rank_key import instant
from core.entries.read import board_items
from core.records.flags import flagged_participants, flags_partition
from core.records.jobs import Item, Job, job_key, pending_jobs, remove_job, save_progress
from core.records.table import query_records
from core.storage.database import Database, batch_write, query_all
from core.storage.parallel import batched
from core.storage.tables import RANK_INDEX
from core.upkeep.period_ends import period_ends_set

if TYPE_CHECKING:
    from core.domain.entry_item import Key

_SETTLED = timedelta(minutes=1)  # until no process remembers the board, nor has a request under way
_AT_ONCE = 500

Progress = Callable[[int], object]  # how many entries have gone so far


def delete_rest(
    db: Database, name: str, job: Item, seconds: float, progress: Progress = lambda _: None
) -> bool:
    """Go on deleting for so many seconds, one step at least; says whether all has gone for good.

    Costs a write unit for each entry and each index entry, a unit a KB of all else; half a read unit for each
    4 KB of the index, twice over.
    """
    until = time.monotonic() + seconds
    board = board_from_json(job["definition"]["S"])
    deleted_at = instant(int(job["deleted_at"]["N"]))
    gone = int(job["gone"]["N"]) if "gone" in job else 0
    settled = datetime.now(UTC) >= deleted_at + _SETTLED
    if "looked_through" in job and not settled:
        return False
    for keys in _entries(db, board):
        _delete_all(db, db.tables.scores, keys)
        gone += len(keys)
        save_progress(db, Job.DELETE, name, gone={"N": str(gone)})
        progress(gone)
        if time.monotonic() > until:
            return False
    for table, keys in _others(db, board):
        _delete_all(db, table, keys)
        if time.monotonic() > until:
            return False
    if not settled:
        save_progress(db, Job.DELETE, name, looked_through={"BOOL": True})
        return False
    db.client.transact_write_items(TransactItems=[remove_job(db, Job.DELETE, name)])
    return True


def _entries(db: Database, board: Board) -> Iterator[list["Key"]]:
    """Give the keys of a board's entries, some at a time, until there are none."""
    for period in periods_used(board, datetime.now(UTC)):
        standings = standings_key(board.id, period, board.generation)
        for partition in rank_shards(board, standings):
            for some in batched(_ranked(db, partition, standings), _AT_ONCE):
                yield [entry_key(board, period, participant_id) for participant_id in some]
    for some in batched(flagged_participants(db, board), _AT_ONCE):
        yield [
            {"participant": item["participant"], "standings": item["standings"]}
            for participant_id in some
            for item in board_items(db, board, participant_id)
        ]


def _ranked(db: Database, partition: str, standings: str) -> Iterator[str]:
    items = query_all(
        db,
        TableName=db.tables.scores,
        IndexName=RANK_INDEX,
        KeyConditionExpression="rank_shard = :shard",
        ExpressionAttributeValues={":shard": {"S": partition}},
        ProjectionExpression="participant, standings",
    )
    for item in items:
        if item["standings"]["S"] == standings:  # a foreign item may be in any shard
            yield item["participant"]["S"]


def _others(db: Database, board: Board) -> Iterator[tuple[str, list["Key"]]]:
    """Give the keys of all else that is a board's, some at a time, each with its table."""
    archives = [archive.id for archive in listed_archives(db, board.id, board.generation)]
    pending = [
        name
        for _, name, _ in pending_jobs(db, Job.ARCHIVE)
        if split_archive_id(name)[::2] == (board.id, board.generation)
    ]
    kept = [
        *archives,
        *pending,
        listing(board.id, board.generation),
        period_ends_set(board),
        *(flags_partition(board, shard) for shard in range(board.shards)),
    ]
    for partition in kept:
        for some in batched(query_records(db, partition, keys_only=True), _AT_ONCE):
            yield (
                db.tables.records,
                [{"record_set": item["record_set"], "record_id": item["record_id"]} for item in some],
            )
    # Only now: they name what has just been deleted.
    if pending:
        yield db.tables.records, [job_key(Job.ARCHIVE, name) for name in pending]
    for period in periods_used(board, datetime.now(UTC)):
        standings = standings_key(board.id, period, board.generation)
        for partition in (*partitions(board, standings), live_partition(standings)):
            for nodes in batched(query_nodes(db, partition, ""), _AT_ONCE):
                yield (
                    db.tables.counters,
                    [{"standings": item["standings"], "node": item["node"]} for item in nodes],
                )


def _delete_all(db: Database, table: str, keys: Iterable["Key"]) -> None:
    batch_write(db, table, [{"DeleteRequest": {"Key": key}} for key in keys])
