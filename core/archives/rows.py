"""The rows of an archive and their codec. Pure.

A chunk holds up to 500 rows, compressed. A row holds neither position nor rank: its position is the chunk's
first one plus its index in the chunk, its rank one more than the position at which its tie begins.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from core.domain import rank_key
from core.domain.buckets import find_bucket
from core.domain.entry_item import IN_ARCHIVE, Plain, entry_from_plain, plain_values
from core.domain.model import Board, Entry, Rank, RankStrategy

CHUNK_ROWS = 500
CHUNK_BYTES = 300_000  # before compression; an item holds 400 KB
_NOBODY = ""  # no participant's id is empty


@dataclass(frozen=True, slots=True)
class Row:
    """One archived entry. A forgotten participant's has score and place, and nothing that names them."""

    participant_id: str
    score: tuple[int, ...]
    values: tuple[Plain, ...]  # of the attributes IN_ARCHIVE


def row_of(entry: Entry) -> Row:
    """Give the row of an entry."""
    return Row(entry.participant_id, entry.score, tuple(plain_values(entry, IN_ARCHIVE)))


def size_of(row: Row) -> int:
    """Give at most how many bytes a row takes before compression."""
    texts = [value for value in (row.participant_id, *row.values) if isinstance(value, str)]
    return 2 * sum(len(text.encode()) for text in texts) + 44 * len(row.score) + 16 * len(row.values)


def erased(row: Row) -> Row:
    """Give what stays of a row whose participant is forgotten."""
    values = zip(IN_ARCHIVE, row.values, strict=True)
    return Row(_NOBODY, row.score, tuple(None if one.personal else value for one, value in values))


def pack(rows: Sequence[Row]) -> bytes:
    """Write rows as one value."""
    plain = [[row.participant_id, row.score, *row.values] for row in rows]
    return zlib.compress(json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode(), 6)


def unpack(packed: bytes) -> list[Row]:
    """Read rows that `pack` wrote."""
    plain = json.loads(zlib.decompress(packed))
    return [Row(participant, tuple(score), tuple(values)) for participant, score, *values in plain]


def entry_of(board: Board, period: str, row: Row) -> Entry:
    """Give the entry that a row was taken of."""
    plain: dict[str, Any] = {one.name: value for one, value in zip(IN_ARCHIVE, row.values, strict=True)}
    achieved_at = rank_key.instant(plain["achieved_at"])
    key = rank_key.encode(board, row.score, achieved_at, row.participant_id)
    return entry_from_plain(board, period, row.participant_id, key, plain)


def rank_of(board: Board, position: int, tie: tuple[int, int], total: int, taken_at: datetime) -> Rank:
    """Return the rank at a position (from 0); `tie` is the half-open range of positions of equal score."""
    tie_start, tie_end = tie
    rank = tie_start + 1
    bucket, bucket_from, bucket_to = find_bucket(board.rank_buckets, rank, total)
    return Rank(
        rank=rank,
        position=position + 1,
        total=total,
        percentile=100 * (total - tie_end) / total,
        bucket=bucket,
        bucket_from=bucket_from,
        bucket_to=bucket_to,
        exact=True,
        lower_bound=rank,
        upper_bound=rank,
        as_of=taken_at,
        strategy=RankStrategy.INDEX,
    )
