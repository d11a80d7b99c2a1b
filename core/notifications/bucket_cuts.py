"""Rank buckets as cuts in rank order. Pure.

A boundary is where a bucket ends: the cut behind its last entry, or None where every entry is inside. Entries
of equal score share the better bucket, so a cut falls between two scores. A rank key and the cuts alone
decide an entry's bucket.
"""

import hashlib
from collections.abc import Sequence

from core.domain.buckets import last_place
from core.domain.model import Board

Cut = bytes | None
Cuts = tuple[Cut, ...]


def is_inside(key: bytes, cut: Cut) -> bool:
    """Return whether a rank key stands before a cut."""
    return cut is None or key < cut


def bucket_at(cuts: Cuts, key: bytes) -> int:
    """Return the number of a rank key's bucket, 0 for the best."""
    return next((at for at, cut in enumerate(cuts) if is_inside(key, cut)), len(cuts))


def cut_order(cut: Cut) -> tuple[bool, bytes]:
    """Return a sort key for cuts: None comes last."""
    return cut is None, cut or b""


def buckets_digest(board: Board) -> str:
    """Return a digest of a board's rank buckets, which changes when they do."""
    return hashlib.blake2b(repr(board.rank_buckets).encode(), digest_size=6).hexdigest()


def last_places(board: Board, total: int) -> Sequence[int]:
    """Return the last place of each bucket but the last one, which has no boundary."""
    return [last_place(bucket, total) or 0 for bucket in board.rank_buckets[:-1]]


def place_range(board: Board, bucket: int, total: int) -> tuple[int, int]:
    """Return a bucket's first and last place on a board of `total` entries."""
    ends = last_places(board, total)
    last = min(ends[bucket], total) if bucket < len(ends) else total
    return max([0, *ends[:bucket]]) + 1, last
