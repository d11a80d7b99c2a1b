"""Delete a board: at once for everyone, and in the background whatever it leaves in the tables.

The transaction that deletes the board's item also asks for a job that deletes the rest. From that moment the
id is free, since what is left bears the old generation. The job deletes entries in every period, hidden ones
too; archives; moderation flags; counters. Every step can be repeated. Processes that have the board in their
cache may write for some seconds more, so the job goes through everything a second time a minute later.

Audit records stay, and what TTL deletes anyway (receipts, entries of periods), and foreign items that are
neither on the index nor flagged.
"""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from core.archives.items import listing, split_archive_id
from core.archives.read import listed_archives
from core.counters.nodes import partitions, query_nodes
from core.domain.board import board_from_json
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

_SETTLED = timedelta(minutes=1)  # until no process has the board in its cache, or a request under way
_BATCH = 500

Progress = Callable[[int], object]  # how many entries have been deleted so far


def delete_rest(
    db: Database, name: str, job: Item, seconds: float, progress: Progress = lambda _: None
) -> bool:
    """Run one slice of a deletion, of some seconds and one batch at least; return whether all is deleted.

    Costs a write unit for each entry and each index entry, a unit a KB of everything else, and half a read
    unit for each 4 KB of the index, twice.
    """
    until = time.monotonic() + seconds
    board = board_from_json(job["definition"]["S"])
    deleted = int(job["gone"]["N"]) if "gone" in job else 0
    settled = datetime.now(UTC) >= instant(int(job["deleted_at"]["N"])) + _SETTLED
    if "looked_through" in job and not settled:
        return False
    for table, keys in _batches(db, board):
        batch_write(db, table, [{"DeleteRequest": {"Key": key}} for key in keys])
        if table == db.tables.scores:
            deleted += len(keys)
            save_progress(db, Job.DELETE, name, gone={"N": str(deleted)})
            progress(deleted)
        if time.monotonic() > until:
            return False
    if settled:
        db.client.transact_write_items(TransactItems=[remove_job(db, Job.DELETE, name)])
    else:
        save_progress(db, Job.DELETE, name, looked_through={"BOOL": True})
    return settled


def _batches(db: Database, board: Board) -> Iterator[tuple[str, list["Key"]]]:
    """Yield the keys of everything that a board has left, a batch at a time, with their table."""
    for keys in batched(_ranked_entries(db, board), _BATCH):
        yield db.tables.scores, keys
    for keys in batched(_flagged_entries(db, board), _BATCH):  # hidden ones are not on the index
        yield db.tables.scores, keys
    for keys in _records(db, board):
        yield db.tables.records, keys
    for keys in batched(_counters(db, board), _BATCH):
        yield db.tables.counters, keys


def _ranked_entries(db: Database, board: Board) -> Iterator["Key"]:
    for standings in _standings(board):
        for partition in rank_shards(board, standings):
            for item in query_all(
                db,
                TableName=db.tables.scores,
                IndexName=RANK_INDEX,
                KeyConditionExpression="rank_shard = :shard",
                ExpressionAttributeValues={":shard": {"S": partition}},
                ProjectionExpression="participant, standings",
            ):
                if item["standings"]["S"] == standings:  # a foreign item may be in any shard
                    yield item


def _flagged_entries(db: Database, board: Board) -> Iterator["Key"]:
    for participant_id in flagged_participants(db, board):
        for item in board_items(db, board, participant_id):
            yield _pick(item, "participant", "standings")


def _records(db: Database, board: Board) -> Iterator[list["Key"]]:
    archives = [archive.id for archive in listed_archives(db, board.id, board.generation)]
    jobs = [
        name
        for _, name, _ in pending_jobs(db, Job.ARCHIVE)
        if split_archive_id(name)[::2] == (board.id, board.generation)
    ]
    record_sets = [
        *archives,
        *jobs,
        listing(board.id, board.generation),  # behind the archives that it lists
        period_ends_set(board),
        *(flags_partition(board, shard) for shard in range(board.shards)),
    ]
    for record_set in record_sets:
        for items in batched(query_records(db, record_set, keys_only=True), _BATCH):
            yield [_pick(item, "record_set", "record_id") for item in items]
    if jobs:  # behind the archives that they name
        yield [job_key(Job.ARCHIVE, name) for name in jobs]


def _counters(db: Database, board: Board) -> Iterator["Key"]:
    for standings in _standings(board):
        for partition in (*partitions(board, standings), live_partition(standings)):
            for item in query_nodes(db, partition, ""):
                yield _pick(item, "standings", "node")


def _standings(board: Board) -> list[str]:
    periods = periods_used(board, datetime.now(UTC))
    return [standings_key(board.id, period, board.generation) for period in periods]


def _pick(item: Item, *names: str) -> "Key":
    return {name: item[name] for name in names}
