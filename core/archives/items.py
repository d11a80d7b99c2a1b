"""The items that make up an archive: their keys, and how header and progress are written and read.

    record_set         record_id          what
    <id>               header             the board's definition, when the archive was asked for, its limit
    <id>               progress           how far it has been written
    <id>               rows 000000000500  the chunk of rows that begins at this position (from 0)
    <id>               tie 000000000497   where the run of equal scores ends that begins at this position
    ~archives#race#g1  1780...#<id>       a complete archive, listed by when it was asked for

Only a tie that ends in a later chunk than it begins in, or with the archive, has an item.
"""

from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from core.domain.board import board_from_json, board_to_json
from core.domain.keys import SEPARATOR, split_standings, standings_key
from core.domain.model import Archive, Board
from core.domain.rank_key import instant, microseconds
from core.records.table import Item, put_record, read_record, record_key
from core.storage.database import Database

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, TransactWriteItemTypeDef

ROWS = "rows "
_HEADER, _PROGRESS = "header", "progress"
_PERIOD_END = "end"


@dataclass(frozen=True, slots=True)
class ArchiveHeader:
    """What is known of an archive from the beginning. `limit` is how many entries it takes; None: all."""

    archive_id: str
    board: Board
    period: str
    taken_at: datetime
    limit: int | None

    @property
    def standings(self) -> str:
        """The key of the standings that are archived."""
        return standings_key(self.board.id, self.period, self.board.generation)

    @property
    def period_has_ended(self) -> bool:
        """Whether the archive was asked for at its period's end, when no entry changes any more."""
        return self.archive_id.endswith(SEPARATOR + _PERIOD_END)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an archive has been written: `size` rows, of the entries up to the rank key `after`.

    `tie` is the score of the last row, as rank-key bytes, and `tie_start` the position at which the run of
    that score begins. `total`, how many entries the standings have, is set once the archive is complete.
    Each write adds one to `version`.
    """

    version: int = 0
    size: int = 0
    after: bytes | None = None
    tie: bytes | None = None
    tie_start: int = 0
    total: int | None = None


def archive_id(board: Board, period: str, now: datetime, limit: int | None, *, ended: bool) -> str:
    """Name an archive: there is one of a period's end, else one for each minute and limit."""
    minute = f"{now.astimezone(UTC):%Y%m%dT%H%MZ}"
    stamp = _PERIOD_END if ended else f"{minute}-top{limit}" if limit else minute
    return f"{standings_key(board.id, period, board.generation)}{SEPARATOR}{stamp}"


def split_archive_id(name: str) -> tuple[str, str, str]:
    """Take an archive's id apart into the board's id, the period and the board's generation.

    Raises:
        ValueError: it is no archive's id.
    """
    return split_standings(name.rpartition(SEPARATOR)[0])


def listing(board_id: str, generation: str) -> str:
    """Return the record set that lists a board's complete archives."""
    return f"~archives{SEPARATOR}{board_id}{SEPARATOR}{generation}"


def rows_id(position: int) -> str:
    """Return the record id of the chunk that begins at a position."""
    return f"{ROWS}{position:012}"


def tie_id(start: int) -> str:
    """Return the record id of the tie that begins at a position."""
    return f"tie {start:012}"


def put_header(db: Database, header: ArchiveHeader) -> "TransactWriteItemTypeDef":
    """Return the write that begins an archive, unless it has begun."""
    item: dict[str, AttributeValueTypeDef] = {
        **record_key(header.archive_id, _HEADER),
        "definition": {"S": board_to_json(header.board)},
        "taken_at": {"N": str(microseconds(header.taken_at))},
    }
    if header.limit is not None:
        item["limit"] = {"N": str(header.limit)}
    condition = "attribute_not_exists(record_id)"
    return {"Put": {"TableName": db.tables.records, "Item": item, "ConditionExpression": condition}}


def put_progress(db: Database, name: str, progress: Progress) -> "TransactWriteItemTypeDef":
    """Return the write of progress, on condition that the version before it is the stored one."""
    attributes: dict[str, AttributeValueTypeDef] = {}
    for field, value in asdict(progress).items():
        if value is not None:
            attributes[field] = {"B": value} if isinstance(value, bytes) else {"N": str(value)}
    put = put_record(db, name, _PROGRESS, **attributes)
    if progress.version:
        put["Put"]["ConditionExpression"] = "version = :last"
        put["Put"]["ExpressionAttributeValues"] = {":last": {"N": str(progress.version - 1)}}
    return put


def put_listing(db: Database, header: ArchiveHeader, size: int) -> "TransactWriteItemTypeDef":
    """Return the write that lists a complete archive."""
    record_id = f"{microseconds(header.taken_at):020}{SEPARATOR}{header.archive_id}"
    return put_record(db, listing(header.board.id, header.board.generation), record_id, size={"N": str(size)})


def read_listing(item: Item) -> Archive:
    """Read a complete archive from its item in the list."""
    moment, _, name = item["record_id"]["S"].partition(SEPARATOR)
    board_id, period, _ = split_archive_id(name)
    return Archive(name, board_id, period, instant(int(moment)), int(item["size"]["N"]), complete=True)


def read_archive(db: Database, name: str) -> tuple[ArchiveHeader, Progress] | None:
    """Read an archive's header and progress; None if there is no such archive. Some two read units."""
    header, progress = (read_record(db, name, part, consistent=True) for part in (_HEADER, _PROGRESS))
    return (_read_header(name, header), _read_progress(progress)) if header and progress else None


def _read_header(name: str, item: Item) -> ArchiveHeader:
    _, period, _ = split_archive_id(name)
    limit = int(item["limit"]["N"]) if "limit" in item else None
    taken_at = instant(int(item["taken_at"]["N"]))
    return ArchiveHeader(name, board_from_json(item["definition"]["S"]), period, taken_at, limit)


def _read_progress(item: Item) -> Progress:
    fields: dict[str, Any] = {}
    for name, value in item.items():
        if "S" not in value:
            fields[name] = bytes(value["B"]) if "B" in value else int(value["N"])
    return Progress(**fields)
