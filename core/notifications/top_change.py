"""The event of a changed top."""

import hashlib
from collections.abc import Iterator
from datetime import datetime

from core.domain.entry_item import IN_TOP_CHANGE, entry_from_item
from core.domain.model import Board, Entry
from core.domain.rank_key import score_bytes
from core.notifications.events import TopChange
from core.ranking.top import TOP_KEPT, Top

_PUBLISHED = TOP_KEPT - 1  # entries


def top_change(board: Board, period: str, top: Top, version: int, at: datetime) -> TopChange:
    """Make the event of a top, each entry with its rank."""
    return TopChange(board, period, tuple(_ranked(board, period, top)), version, at)


def top_digest(top: Top) -> str:
    """Return a digest of what the event of a top shows."""
    digest = hashlib.blake2b(digest_size=12)
    for item in top.items[:_PUBLISHED]:
        digest.update(repr([item.get(name) for name in IN_TOP_CHANGE]).encode())
    return digest.hexdigest()


def top_end(top: Top) -> bytes | None:
    """Return the last rank key in the event of a top; None if it shows all entries of the board."""
    return None if top.whole or not top.items else bytes(top.items[:_PUBLISHED][-1]["rank_key"]["B"])


def _ranked(board: Board, period: str, top: Top) -> Iterator[tuple[int, Entry]]:
    rank, last = 0, None
    for place, item in enumerate(top.items[:_PUBLISHED], 1):
        score = bytes(item["rank_key"]["B"])[: score_bytes(board)]
        if score != last:
            rank, last = place, score
        yield rank, entry_from_item(board, period, item)
