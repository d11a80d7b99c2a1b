"""The rows of an archive, packed into items: who stands where, and from where to where equals stand. Pure.

A chunk holds up to 500 rows, compressed. A row holds no rank: its position is the chunk's first one and its
own place in it, and its rank follows from where the run of equal scores begins that it is in.
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
_NOBODY = ""  # no participant has an empty id


@dataclass(frozen=True, slots=True)
class Row:
    """One row. A participant who was forgotten is nobody: their score and place stay."""

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
    """Give the rank at a position (from 0), whose equals stand from `tie`'s first to before its last."""
    rank = tie[0] + 1
    bucket, bucket_from, bucket_to = find_bucket(board.rank_buckets, rank, total)
    return Rank(
        rank=rank,
        position=position + 1,
        total=total,
        percentile=100 * (total - tie[1]) / total,
        bucket=bucket,
        bucket_from=bucket_from,
        bucket_to=bucket_to,
        exact=True,
        lower_bound=rank,
        upper_bound=rank,
        as_of=taken_at,
        strategy=RankStrategy.INDEX,
    )


@dataclass
class Ties:
    """Runs of equal scores, as entries go by in order: the run under way, and at which position it began.

    `width` is how many bytes of a rank key hold the score; `score` is None before the first entry.
    """

    width: int
    score: bytes | None
    start: int

    def start_of(self, key: bytes, position: int) -> int:
        """Say where the run begins that the next entry is in."""
        return self.start if key[: self.width] == self.score else position

    def see(self, key: bytes, position: int) -> list[tuple[int, int]]:
        """Go on to the next entry; gives from where to where the run went that it ends, if any."""
        score = key[: self.width]
        if score == self.score:
            return []
        ended = [] if self.score is None else [(self.start, position)]
        self.score, self.start = score, position
        return ended
