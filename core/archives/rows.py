"""The rows of an archive and their codec. Pure.

A chunk holds up to 500 rows, compressed. A row holds neither position nor rank: its position is the chunk's
first one plus its index in the chunk, its rank one more than the position at which its tie begins.
"""

import json
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from core.domain import rank_key
from core.domain.buckets import find_bucket
from core.domain.model import Board, Entry, Rank, RankStrategy

CHUNK_ROWS = 500
CHUNK_BYTES = 300_000  # before compression; an item holds 400 KB
_NOBODY = ""  # no participant's id is empty


@dataclass(frozen=True, slots=True)
class Row:
    """One archived entry. A forgotten participant's has score and place, and nothing that names them."""

    participant_id: str
    display_name: str | None
    score: tuple[int, ...]
    achieved_at: int  # microseconds since 1970
    submissions: int
    metadata: str | None


def row_of(entry: Entry) -> Row:
    """Give the row of an entry."""
    return Row(
        entry.participant_id,
        entry.display_name,
        entry.score,
        rank_key.microseconds(entry.achieved_at),
        entry.submissions,
        entry.metadata,
    )


def size_of(row: Row) -> int:
    """Give at most how many bytes a row takes before compression."""
    texts = (row.participant_id, row.display_name or "", row.metadata or "")
    return 2 * sum(len(text.encode()) for text in texts) + 44 * len(row.score) + 64


def erased(row: Row) -> Row:
    """Give what stays of a row whose participant is forgotten."""
    return Row(_NOBODY, None, row.score, row.achieved_at, row.submissions, None)


def pack(rows: Sequence[Row]) -> bytes:
    """Write rows as one value."""
    plain = [
        [row.participant_id, row.display_name, row.score, row.achieved_at, row.submissions, row.metadata]
        for row in rows
    ]
    return zlib.compress(json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode(), 6)


def unpack(packed: bytes) -> list[Row]:
    """Read rows that `pack` wrote."""
    return [
        Row(participant, name, tuple(score), achieved_at, submissions, metadata)
        for participant, name, score, achieved_at, submissions, metadata in json.loads(
            zlib.decompress(packed)
        )
    ]


def entry_of(board: Board, period: str, row: Row) -> Entry:
    """Give the entry that a row was taken of."""
    achieved_at = rank_key.instant(row.achieved_at)
    return Entry(
        board=board,
        period=period,
        participant_id=row.participant_id,
        display_name=row.display_name,
        score=row.score,
        achieved_at=achieved_at,
        submissions=row.submissions,
        metadata=row.metadata,
        hidden=False,
        version=0,
        rank_key=rank_key.encode(board, row.score, achieved_at, row.participant_id),
    )


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
