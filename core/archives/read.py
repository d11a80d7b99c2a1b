"""Reading archives: a board's complete ones, and their pages with the ranks of then."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from core.archives.rows import CHUNK_ROWS, Row, entry_of, erased, rank_of, unpack
from core.archives.write import ArchiveHeader, listing, read_archive, rows_chunk, tie_chunk
from core.domain.errors import ArchiveNotFound
from core.domain.keys import SEPARATOR, split_standings
from core.domain.limits import MAX_ARCHIVES_PAGE, MAX_PAGE, check_limit
from core.domain.model import Archive, Board, Entry, Page, Rank
from core.domain.pages import decode_token, encode_token
from core.domain.rank_key import instant
from core.records.jobs import Job, pending_jobs
from core.records.table import newest_page, query_records, record_key
from core.storage.database import Database, query_all

Item = dict[str, Any]

SHOWN = timedelta(minutes=1)  # for so long the index may still show who is gone
_LONGEST_ID = 1024  # bytes; a board's id takes up to 256 of it


def archives_page(db: Database, board: Board, limit: int, next_token: str | None = None) -> Page[Archive]:
    """Read a page of a board's complete archives, newest first: half a read unit for each 4 KB.

    Raises:
        InvalidInput: the limit or the token.
    """
    check_limit("limit", limit, MAX_ARCHIVES_PAGE)
    partition = listing(board.id, board.generation)
    items, token = newest_page(db, partition, partition, limit, next_token)
    return Page([_listed(board, item) for item in items], token)


def listed_archives(db: Database, board_id: str, generation: str) -> Iterator[tuple[str, datetime]]:
    """Name a board's complete archives, oldest first, and when they were taken: a read unit for each 4 KB."""
    for item in query_records(db, listing(board_id, generation)):
        moment, _, name = item["record_id"]["S"].partition(SEPARATOR)
        yield name, instant(int(moment))


def archive_entries(
    db: Database, name: str, limit: int, next_token: str | None = None
) -> Page[tuple[Entry, Rank]]:
    """Read a page of an archive, best first, each entry with its rank of then.

    Raises:
        InvalidInput: the limit or the token.
        ArchiveNotFound: there is no such archive, or it is not complete.

    Costs two read units for what the archive is, and half a unit for each 4 KB of the one or two chunks that
    the page is in (up to three for 1,000 entries); one round trip more where equals stand on behind it.
    """
    check_limit("limit", limit, MAX_PAGE)
    first = 0 if next_token is None else int(decode_token(name, next_token))
    try:
        found = read_archive(db, name) if 0 < len(name.encode()) <= _LONGEST_ID else None
    except ValueError:
        found = None
    if found is None or "size" not in found[1]:
        raise ArchiveNotFound(f"there is no archive {name[:256]!r}, or it is not complete yet")
    about, progress = found
    size, total = int(progress["size"]["N"]), int(progress["total"]["N"])
    last = min(first + limit, size)
    chunks = _chunks(db, about, first, last) if first < last else []
    forgotten = {
        item["participant"]["S"]
        for _, _, item in pending_jobs(db, Job.FORGET)
        if may_hold(about.taken_at, instant(int(item["asked_at"]["N"])))
    }
    rows, ties = _ranked(db, about, chunks, last)
    page = [
        (
            entry_of(about.board, about.period, _seen(rows[at], forgotten)),
            rank_of(about.board, at, ties[at], total, about.taken_at),
        )
        for at in range(first, last)
    ]
    return Page(page, encode_token(name, str(last).encode()) if last < size else None)


def may_hold(taken_at: datetime, asked_at: datetime) -> bool:
    """Say whether an archive may hold who was to be forgotten at an instant; who came back since may stay."""
    return taken_at < asked_at + SHOWN


def _seen(row: Row, forgotten: set[str]) -> Row:
    """Give a row as anyone is to see it, also before a forgotten participant has been erased from it."""
    return erased(row) if row.participant_id in forgotten else row


def _chunks(db: Database, about: ArchiveHeader, first: int, last: int) -> list[Item]:
    """Read the chunks of a stretch of positions; the first may begin up to a chunk's length before it."""
    return list(
        query_all(
            db,
            TableName=db.tables.records,
            KeyConditionExpression="record_set = :set AND record_id BETWEEN :first AND :last",
            ExpressionAttributeValues={
                ":set": {"S": about.archive_id},
                ":first": {"S": rows_chunk(max(0, first - CHUNK_ROWS + 1))},
                ":last": {"S": rows_chunk(last - 1)},
            },
        )
    )


def _ranked(
    db: Database, about: ArchiveHeader, chunks: list[Item], last: int
) -> tuple[dict[int, Row], dict[int, tuple[int, int]]]:
    """Give the rows by position, and for each from where to where its equals stand."""
    rows: dict[int, Row] = {}
    starts: dict[int, int] = {}
    for chunk in chunks:
        first = int(chunk["record_id"]["S"].partition(" ")[2])
        start = int(chunk["tie_start"]["N"])
        for at, row in enumerate(unpack(bytes(chunk["rows"]["B"])), start=first):
            if at > first and row.score != rows[at - 1].score:
                start = at
            rows[at], starts[at] = row, start
    ends: dict[int, int] = {}
    for at in sorted(rows, reverse=True):
        # Each run ends where the next begins, but for the last one read.
        ends.setdefault(starts[at], at + 1)
    if rows and starts[last - 1] == starts[max(rows)]:
        run = starts[last - 1]
        ends[run] = _end_of(db, about, run, ends[run])
    return rows, {at: (start, ends[start]) for at, start in starts.items()}


def _end_of(db: Database, about: ArchiveHeader, start: int, seen: int) -> int:
    item = db.client.get_item(
        TableName=db.tables.records, Key=record_key(about.archive_id, tie_chunk(start))
    ).get("Item")
    return max(seen, int(item["ends"]["N"])) if item else seen


def _listed(board: Board, item: Item) -> Archive:
    moment, _, name = item["record_id"]["S"].partition(SEPARATOR)
    _, period, _ = split_standings(name.rpartition(SEPARATOR)[0])
    taken_at: datetime = instant(int(moment))
    return Archive(name, board.id, period, taken_at, int(item["size"]["N"]), complete=True)
