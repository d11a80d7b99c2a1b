"""Write archives: freeze the standings of a period, chunk by chunk, in the background.

Each chunk is written in one transaction with the progress, on condition that the progress has not moved since
it was read. So each row is in an archive once, whoever dies and however many processes write it at once. The
transaction that completes an archive lists it; readers see nothing of it before.

The index is read best first. A period that is over and past its grace changes no more, and neither does a
closed board: their archives are exact. While submissions go on, an entry that does not change is in the
archive at its place. One that changes is in it at most once, with a score that it had, and is missing if it
moves past the point that reading has come to.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from core.archives.items import (
    ROWS,
    ArchiveHeader,
    Progress,
    archive_id,
    put_header,
    put_listing,
    put_progress,
    read_archive,
    rows_id,
    tie_id,
)
from core.archives.rows import CHUNK_BYTES, CHUNK_ROWS, pack, row_of, size_of, unpack
from core.counters.root import read_size
from core.domain.entry_item import read_entry
from core.domain.errors import InvalidInput
from core.domain.model import Archive, Board, Entry
from core.domain.rank_key import just_above, score_bytes
from core.records.jobs import Job, add_job, remove_job
from core.records.table import Item, put_record, query_records
from core.storage.database import Database
from core.storage.faults import lost_race
from core.storage.rank_index import count_between, read_run

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import TransactWriteItemTypeDef

    Step = tuple[Progress, list[TransactWriteItemTypeDef]]

MAX_LIMIT = 100_000_000


def begin_archive(
    db: Database, board: Board, period: str, now: datetime, *, limit: int | None = None, ended: bool = False
) -> str:
    """Ask for an archive and return its id; `ended`: for an ended period, as its hook does.

    Idempotent: asking again returns the same id, for an ended period always, else within the same minute.

    Raises:
        InvalidInput: the limit.

    Costs a transaction of 6 write units or a little more.
    """
    if limit is not None and not 1 <= limit <= MAX_LIMIT:
        raise InvalidInput(f"limit: must be from 1 to {MAX_LIMIT}, not {limit}")
    name = archive_id(board, period, now, limit, ended=ended)
    writes = [
        put_header(db, ArchiveHeader(name, board, period, now, limit)),
        put_progress(db, name, Progress()),
        add_job(db, Job.ARCHIVE, name),
    ]
    try:
        db.client.transact_write_items(TransactItems=writes)
    except db.client.exceptions.TransactionCanceledException:
        if not read_archive(db, name):
            raise
    return name


def write_archive(db: Database, name: str, seconds: float) -> Archive | None:
    """Go on writing an archive for so many seconds, at least one chunk.

    Returns the archive as far as it is written, or None if it has been deleted.

    Costs for each chunk half a read unit for each 4 KB of the index, at least one for each shard, and two
    write units for each KB of it, some 20 to 40 units. Unless the period has ended, each call first reads the
    rows that are there: a read unit for each 4 KB.
    """
    until = time.monotonic() + seconds
    found = read_archive(db, name)
    seen: set[str] | None = None  # whose rows are in the archive; None: to be read
    while found and found[1].total is None:
        header, progress = found
        seen = _participants(db, header, progress) if seen is None else seen
        if not _write_chunk(db, header, progress, seen):
            seen = None
        found = read_archive(db, name)
        if time.monotonic() > until:
            break
    if found is None:
        return None
    header, progress = found
    complete = progress.total is not None
    return Archive(name, header.board.id, header.period, header.taken_at, progress.size, complete)


def _participants(db: Database, header: ArchiveHeader, progress: Progress) -> set[str]:
    """Read who has a row in an archive. Not needed for an ended period: no entry is met twice there."""
    if header.period_has_ended or not progress.size:
        return set()
    chunks = query_records(db, header.archive_id, prefix=ROWS)
    return {row.participant_id for chunk in chunks for row in unpack(bytes(chunk["rows"]["B"]))}


def _write_chunk(db: Database, header: ArchiveHeader, progress: Progress, seen: set[str]) -> bool:
    """Write the next chunk, or complete the archive. Return whether no other process was faster."""
    wanted = CHUNK_ROWS if header.limit is None else min(CHUNK_ROWS, header.limit - progress.size)
    items = read_run(db, header.board, header.period, wanted, from_key=progress.after) if wanted else []
    after, writes = _chunk(db, header, progress, items, seen) if items else _completion(db, header, progress)
    after = replace(after, version=progress.version + 1)
    try:
        db.client.transact_write_items(TransactItems=[put_progress(db, header.archive_id, after), *writes])
    except db.client.exceptions.TransactionCanceledException as error:
        if not lost_race(error):
            raise
        return False
    return True


def _chunk(
    db: Database, header: ArchiveHeader, progress: Progress, items: Sequence[Item], seen: set[str]
) -> "Step":
    """Return the progress after one more chunk, and the writes that make it."""
    entries, last_key = _next_entries(header, items, seen)
    after = replace(progress, after=last_key, size=progress.size + len(entries))
    if not entries:
        return after, []
    scores = [entry.rank_key[: score_bytes(header.board)] for entry in entries]

    def tie_start(score: bytes) -> int:
        return progress.tie_start if score == progress.tie else progress.size + scores.index(score)

    rows = pack([row_of(entry) for entry in entries])
    first = str(tie_start(scores[0]))
    writes = [
        put_record(db, header.archive_id, rows_id(progress.size), rows={"B": rows}, tie_start={"N": first})
    ]
    if progress.tie is not None and scores[-1] != progress.tie:
        # That tie began in an earlier chunk. The end of any other shows in its own chunk.
        writes.append(_tie(db, header, progress, progress.size + scores.count(progress.tie)))
    return replace(after, tie=scores[-1], tie_start=tie_start(scores[-1])), writes


def _next_entries(header: ArchiveHeader, items: Sequence[Item], seen: set[str]) -> tuple[list[Entry], bytes]:
    """Return the entries of the next chunk, without participants in `seen`, and the last rank key read."""
    entries: list[Entry] = []
    room = CHUNK_BYTES
    for item in items:
        entry = read_entry(header.board, header.period, item)
        # None for a foreign item, which may be in any shard.
        if entry is not None and entry.participant_id not in seen:
            room -= size_of(row_of(entry))
            if room < 0:
                break
            entries.append(entry)
            if not header.period_has_ended:
                seen.add(entry.participant_id)
        last = item
    return entries, bytes(last["rank_key"]["B"])


def _completion(db: Database, header: ArchiveHeader, progress: Progress) -> "Step":
    """Return the progress of the complete archive, and the writes that complete it."""
    total = tie_end = progress.size
    if progress.tie is not None and progress.size == header.limit:
        # Entries behind the limit count for ties and percentiles all the same.
        [counted] = count_between(db, header.board, header.period, [just_above(progress.tie)])
        tie_end = max(counted, progress.size)
        total = max(read_size(db, header.board, header.standings), tie_end)
    writes = [put_listing(db, header, progress.size), remove_job(db, Job.ARCHIVE, header.archive_id)]
    if progress.tie is not None:
        writes.append(_tie(db, header, progress, tie_end))
    return replace(progress, total=total), writes


def _tie(db: Database, header: ArchiveHeader, progress: Progress, end: int) -> "TransactWriteItemTypeDef":
    return put_record(db, header.archive_id, tie_id(progress.tie_start), ends={"N": str(end)})
