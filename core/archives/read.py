"""Read archives: a board's complete ones, and their entries with the ranks that they had."""

from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import groupby

from core.archives.items import ArchiveHeader, listing, read_archive, read_listing, rows_id, tie_id
from core.archives.rows import CHUNK_ROWS, Row, entry_of, erased, rank_of, unpack
from core.domain.errors import ArchiveNotFound
from core.domain.limits import MAX_ARCHIVES_PAGE, MAX_PAGE, check_limit
from core.domain.model import Archive, Board, Entry, Page, Rank
from core.domain.page_tokens import decode_number, encode_token
from core.domain.rank_key import instant
from core.records.jobs import Job, pending_jobs
from core.records.table import newest_page, query_records, read_record
from core.storage.database import Database, query_all

INDEX_LAG = timedelta(minutes=1)  # how long at most the index goes on showing an entry that is gone
_LONGEST_ID = 1024  # bytes; a board's id takes up to 256 of them


def archives_page(db: Database, board: Board, limit: int, next_token: str | None = None) -> Page[Archive]:
    """Read a page of a board's complete archives, newest first: half a read unit for each 4 KB.

    Raises:
        InvalidInput: the limit or the token.
    """
    check_limit("limit", limit, MAX_ARCHIVES_PAGE)
    record_set = listing(board.id, board.generation)
    found, token = newest_page(db, record_set, record_set, limit, next_token)
    return Page([read_listing(item) for item in found], token)


def listed_archives(db: Database, board_id: str, generation: str) -> Iterator[Archive]:
    """Yield a board's complete archives, oldest first: a read unit for each 4 KB of the list."""
    return map(read_listing, query_records(db, listing(board_id, generation)))


def read_complete(db: Database, name: str) -> tuple[ArchiveHeader, int, int]:
    """Read a complete archive's header, its size, and how many entries the standings had: two read units.

    Raises:
        ArchiveNotFound: there is no such archive, or it is not complete.
    """
    try:
        found = read_archive(db, name) if 0 < len(name.encode()) <= _LONGEST_ID else None
    except ValueError:  # a lone surrogate, or another record set's name
        found = None
    if found is None or found[1].total is None:
        raise ArchiveNotFound(f"there is no archive {name[:256]!r}, or it is not complete yet")
    return found[0], found[1].size, found[1].total


def archive_entries(
    db: Database, name: str, limit: int, next_token: str | None = None
) -> Page[tuple[Entry, Rank]]:
    """Read a page of an archive, best first, each entry with the rank that it had.

    Raises:
        InvalidInput: the limit or the token.
        ArchiveNotFound: there is no such archive, or it is not complete.

    Costs what `read_complete` does, a unit for the pending jobs, and half a unit for each 4 KB of the one or
    two chunks that the page is in (up to three for 1,000 entries). One more round trip where the last tie may
    go on behind them.
    """
    check_limit("limit", limit, MAX_PAGE)
    first = 0 if next_token is None else decode_number(name, next_token)
    header, size, total = read_complete(db, name)
    last = min(first + limit, size)
    # Read before the rows: a job is removed only when the rows have been erased.
    forgotten = {
        item["participant"]["S"]
        for _, _, item in pending_jobs(db, Job.FORGET)
        if may_hold(header.taken_at, instant(int(item["asked_at"]["N"])))
    }
    page = [
        (
            entry_of(header.board, header.period, erased(row) if row.participant_id in forgotten else row),
            rank_of(header.board, position, tie, total, header.taken_at),
        )
        for position, (row, tie) in enumerate(_read_rows(db, header.archive_id, first, last), start=first)
    ]
    return Page(page, encode_token(name, str(last).encode()) if last < size else None)


def may_hold(taken_at: datetime, asked_at: datetime) -> bool:
    """Return whether an archive may hold a participant whom to forget was asked for at `asked_at`.

    A later archive cannot, unless they have come back since.
    """
    return taken_at < asked_at + INDEX_LAG


def _read_rows(db: Database, name: str, first: int, last: int) -> list[tuple[Row, tuple[int, int]]]:
    """Read the rows from position `first` to before `last`, each with the half-open range of its tie."""
    if first >= last:
        return []
    chunks = list(
        query_all(
            db,
            TableName=db.tables.records,
            KeyConditionExpression="record_set = :set AND record_id BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":set": {"S": name},
                # The chunk that holds `first` begins at most a chunk's length before it.
                ":first": {"S": rows_id(max(0, first - CHUNK_ROWS + 1))},
                ":last": {"S": rows_id(last - 1)},
            },
        )
    )
    rows = [row for chunk in chunks for row in unpack(bytes(chunk["rows"]["B"]))]
    begin = start = int(chunks[0]["record_id"]["S"].partition(" ")[2])
    ties: list[tuple[int, int]] = []
    for _, tied in groupby(rows, key=lambda row: row.score):
        end = start + len(list(tied))
        ties.append((start, end))
        start = end
    # The first may begin before these chunks, and the last may go on behind them.
    ties[0] = int(chunks[0]["tie_start"]["N"]), ties[0][1]
    start, end = ties[-1]
    if start < last:
        item = read_record(db, name, tie_id(start))
        ties[-1] = start, int(item["ends"]["N"]) if item else end
    return [
        (rows[position - begin], ties[bisect_right(ties, position, key=lambda tie: tie[0]) - 1])
        for position in range(first, last)
    ]
