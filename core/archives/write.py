"""Taking an archive: freezing the standings of a period, chunk by chunk, in the background.

    archive   chunk                  what
    <id>      about                  the board's definition then, the period, when it was taken, how many
    <id>      progress               up to where it has been taken; its size once it is complete
    <id>      rows 000000000500      the chunk that begins at this position
    <id>      tie 000000000497       where the run of equal scores ends that begins there and leaves its chunk
    ~archives#race#g1   1780...#<id> the complete ones, by the time when they were taken

Each chunk is written together with the progress, on condition that the progress is what the chunk goes on
from. So whoever dies, and however many take one archive at once, each row is in it once; and it is listed in
the transaction that completes it. What runs meanwhile sees nothing of it.

The index is read from the best on. A period that is over and past its grace changes no more, and a closed
board neither: their archives are exact. While submissions go on, an entry that stays as it is is in the
archive at its place; one that changes meanwhile is in it with a score that it had, at most once, and is
missing if it has passed the place where the reading was.
"""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from core.archives.rows import CHUNK_BYTES, CHUNK_ROWS, Row, Ties, pack, row_of, size_of, unpack
from core.counters.root import read_size
from core.domain.board import board_from_json, board_to_json
from core.domain.entry_item import entry_from_item
from core.domain.errors import InvalidInput
from core.domain.keys import SEPARATOR, split_standings, standings_key
from core.domain.model import Archive, Board, Entry
from core.domain.rank_key import instant, just_above, microseconds, score_bytes
from core.records.jobs import Job, add_job, remove_job
from core.records.table import query_records, record_key
from core.storage.database import Database, lost_race
from core.storage.rank_index import count_between, read_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, TransactWriteItemTypeDef

    Item = dict[str, Any]

AT_THE_END = "end"  # of a period: there is one such archive
MAX_TAKEN = 100_000_000
_ABOUT, _PROGRESS = "about", "progress"


@dataclass(frozen=True, slots=True)
class ArchiveHeader:
    """What is known of an archive from its beginning; `total` and `size` once it is complete."""

    archive_id: str
    board: Board
    period: str
    taken_at: datetime
    limit: int | None


def archive_id(board: Board, period: str, stamp: str) -> str:
    """Name an archive: the order's own name, and what tells it from others of that order."""
    return f"{standings_key(board.id, period, board.generation)}{SEPARATOR}{stamp}"


def board_of(archive: str) -> tuple[str, str]:
    """Say which board an archive is of: its id and generation.

    Raises:
        ValueError: it is no archive's id.
    """
    board_id, _, generation = split_standings(archive.rpartition(SEPARATOR)[0])
    return board_id, generation


def begin_archive(
    db: Database, board: Board, period: str, now: datetime, *, limit: int | None = None, ended: bool = False
) -> str:
    """Ask for an archive; gives its id. Asked again, at the end of a period or in the same minute, it is one.

    Raises:
        InvalidInput: the limit.

    Costs a transaction of 6 write units or a little more.
    """
    if limit is not None and not 1 <= limit <= MAX_TAKEN:
        raise InvalidInput(f"limit: must be from 1 to {MAX_TAKEN}, not {limit}")
    stamp = AT_THE_END if ended else f"{now.astimezone(UTC):%Y%m%dT%H%MZ}" + (f"-top{limit}" if limit else "")
    name = archive_id(board, period, stamp)
    about: dict[str, AttributeValueTypeDef] = {
        **record_key(name, _ABOUT),
        "definition": {"S": board_to_json(board)},
        "taken_at": {"N": str(microseconds(now))},
    }
    if limit is not None:
        about["taken"] = {"N": str(limit)}
    progress: dict[str, AttributeValueTypeDef] = {**record_key(name, _PROGRESS), "position": {"N": "0"}}
    try:
        db.client.transact_write_items(
            TransactItems=[
                {
                    "Put": {
                        "TableName": db.tables.records,
                        "Item": about,
                        "ConditionExpression": "attribute_not_exists(record_id)",
                    }
                },
                {"Put": {"TableName": db.tables.records, "Item": progress}},
                add_job(db, Job.ARCHIVE, name),
            ]
        )
    except db.client.exceptions.TransactionCanceledException as error:
        if not read_archive(db, name):
            raise error from None
    return name


def read_archive(db: Database, name: str) -> tuple[ArchiveHeader, "Item"] | None:
    """Read what an archive says of itself, and its progress; None: no such. Some two read units."""
    items = {
        chunk: db.client.get_item(
            TableName=db.tables.records, Key=record_key(name, chunk), ConsistentRead=True
        ).get("Item")
        for chunk in (_ABOUT, _PROGRESS)
    }
    about, progress = items[_ABOUT], items[_PROGRESS]
    if about is None or progress is None:
        return None
    _, period, _ = split_standings(name.rpartition(SEPARATOR)[0])
    return (
        ArchiveHeader(
            archive_id=name,
            board=board_from_json(about["definition"]["S"]),
            period=period,
            taken_at=instant(int(about["taken_at"]["N"])),
            limit=int(about["taken"]["N"]) if "taken" in about else None,
        ),
        progress,
    )


def write_archive(db: Database, name: str, seconds: float) -> Archive | None:
    """Go on taking an archive for so many seconds, one chunk at least; None where it has been deleted.

    Costs for each chunk half a read unit for each 4 KB of the index, at least one for each shard, and two
    write units for each KB of it, some 20 to 40 units.
    """
    until = time.monotonic() + seconds
    found = read_archive(db, name)
    if found is None:
        return None
    about, progress = found
    taker = _ArchiveWriter(db, about)
    while "size" not in progress:
        taker.take(progress)
        again = read_archive(db, name)
        if again is None:
            return None
        _, progress = again
        if time.monotonic() > until:
            break
    return archive_of(about, progress)


def archive_of(about: ArchiveHeader, progress: "Item") -> Archive:
    """Describe an archive as far as it has come."""
    complete = "size" in progress
    size = int(progress["size" if complete else "position"]["N"])
    return Archive(about.archive_id, about.board.id, about.period, about.taken_at, size, complete)


def rows_chunk(position: int) -> str:
    """Name the chunk that begins at a position."""
    return f"rows {position:012}"


def tie_chunk(start: int) -> str:
    """Name the item that tells where a run of equal scores ends."""
    return f"tie {start:012}"


def listing(board_id: str, generation: str) -> str:
    """Name the partition that lists a board's complete archives."""
    return f"~archives{SEPARATOR}{board_id}{SEPARATOR}{generation}"


class _ArchiveWriter:
    """Takes one archive's chunks, and remembers who is in it."""

    def __init__(self, db: Database, about: ArchiveHeader) -> None:
        self._db = db
        self._about = about
        self._seen: set[str] | None = None

    def take(self, progress: "Item") -> None:
        """Take one chunk, or complete the archive, unless another process has gone on from there."""
        about, position = self._about, int(progress["position"]["N"])
        after = bytes(progress["after"]["B"]) if "after" in progress else None
        wanted = CHUNK_ROWS if about.limit is None else min(CHUNK_ROWS, about.limit - position)
        items = read_run(self._db, about.board, about.period, wanted, from_key=after) if wanted else []
        writes = self._chunk(progress, position, items) if items else self._end(progress, position)
        try:
            self._db.client.transact_write_items(TransactItems=writes)
        except self._db.client.exceptions.TransactionCanceledException as error:
            if not lost_race(error):
                raise
            self._seen = None  # another was faster: what it has taken is read again

    def _is_new(self, entry: Entry, position: int) -> bool:
        if self._about.archive_id.endswith(SEPARATOR + AT_THE_END):
            return True  # nothing changes there any more
        if self._seen is None:
            self._seen = set()
            if position:
                for item in query_records(self._db, self._about.archive_id, prefix="rows "):
                    self._seen.update(row.participant_id for row in unpack(bytes(item["rows"]["B"])))
        if entry.participant_id in self._seen:
            return False
        self._seen.add(entry.participant_id)
        return True

    def _chunk(
        self, progress: "Item", position: int, items: "Sequence[Item]"
    ) -> "list[TransactWriteItemTypeDef]":
        about = self._about
        standings = standings_key(about.board.id, about.period, about.board.generation)
        entries: list[Entry] = []
        rows: list[Row] = []
        room = CHUNK_BYTES
        for item in items:
            if item["standings"]["S"] == standings:  # a stranger's item may stand in any shard
                entry = entry_from_item(about.board, about.period, item)
                row = row_of(entry)
                room -= size_of(row)
                if room < 0:
                    break
                if self._is_new(entry, position):
                    entries.append(entry)
                    rows.append(row)
            last = item
        score = bytes(progress["tie"]["B"]) if "tie" in progress else None
        begun = int(progress["tie_start"]["N"]) if "tie_start" in progress else 0
        ties = Ties(score_bytes(about.board), score, begun)
        first = ties.start_of(entries[0].rank_key, position) if entries else position
        ended = [tie for at, one in enumerate(entries, start=position) for tie in ties.see(one.rank_key, at)]
        # Only of the run that an earlier chunk ends in, the end is not in its own chunk.
        writes = [self._tie(start, end) for start, end in ended if start < position]
        if entries:
            chunk: dict[str, AttributeValueTypeDef] = {
                **record_key(self._about.archive_id, rows_chunk(position)),
                "rows": {"B": pack(rows)},
                "tie_start": {"N": str(first)},
            }
            writes.append({"Put": {"TableName": self._db.tables.records, "Item": chunk}})
        goes_on: dict[str, AttributeValueTypeDef] = {
            "position": {"N": str(position + len(entries))},
            "after": {"B": bytes(last["rank_key"]["B"])},
        }
        if ties.score is not None:
            goes_on |= {"tie": {"B": ties.score}, "tie_start": {"N": str(ties.start)}}
        return [self._progress(progress, goes_on), *writes]

    def _end(self, progress: "Item", size: int) -> "list[TransactWriteItemTypeDef]":
        about = self._about
        total, last = size, size
        if about.limit is not None and size == about.limit:
            # What was not taken counts for percentiles all the same.
            standings = standings_key(about.board.id, about.period, about.board.generation)
            cut = just_above(bytes(progress["tie"]["B"]))
            [last] = count_between(self._db, about.board, about.period, [cut])
            last = max(last, size)
            total = max(read_size(self._db, about.board, standings), last)
        listed: dict[str, AttributeValueTypeDef] = {
            **record_key(
                listing(about.board.id, about.board.generation),
                f"{microseconds(about.taken_at):020}{SEPARATOR}{about.archive_id}",
            ),
            "size": {"N": str(size)},
        }
        ends: dict[str, AttributeValueTypeDef] = {"size": {"N": str(size)}, "total": {"N": str(total)}}
        tie = [self._tie(int(progress["tie_start"]["N"]), last)] if "tie_start" in progress else []
        return [
            self._progress(progress, ends),
            *tie,
            {"Put": {"TableName": self._db.tables.records, "Item": listed}},
            remove_job(self._db, Job.ARCHIVE, about.archive_id),
        ]

    def _tie(self, start: int, end: int) -> "TransactWriteItemTypeDef":
        item: dict[str, AttributeValueTypeDef] = {
            **record_key(self._about.archive_id, tie_chunk(start)),
            "ends": {"N": str(end)},
        }
        return {"Put": {"TableName": self._db.tables.records, "Item": item}}

    def _progress(
        self, progress: "Item", sets: "dict[str, AttributeValueTypeDef]"
    ) -> "TransactWriteItemTypeDef":
        condition, values = "#position = :was AND attribute_not_exists(#size)", {":was": progress["position"]}
        if "after" in progress:
            condition += " AND #after = :was_after"
            values[":was_after"] = progress["after"]
        return {
            "Update": {
                "TableName": self._db.tables.records,
                "Key": record_key(self._about.archive_id, _PROGRESS),
                "UpdateExpression": "SET " + ", ".join(f"#{name} = :{name}" for name in sets),
                "ConditionExpression": condition,
                "ExpressionAttributeNames": {
                    "#size": "size",
                    "#position": "position",
                    **({"#after": "after"} if "after" in progress else {}),
                    **{f"#{name}": name for name in sets},
                },
                "ExpressionAttributeValues": {**values, **{f":{name}": sets[name] for name in sets}},
            }
        }
