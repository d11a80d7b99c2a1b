"""What subscribers are told of a board's top."""

import hashlib
from collections.abc import Iterator
from datetime import datetime

from core.domain.entry_item import entry_from_item
from core.domain.model import Board, Entry
from core.domain.rank_key import score_bytes
from core.notifications.events import TopChange
from core.ranking.top import TOP_KEPT, Top

_TOLD = TOP_KEPT - 1  # entries
_SHOWN = ("participant", "rank_key", "achieved_at", "display_name")


def top_change(board: Board, period: str, top: Top, version: int, at: datetime) -> TopChange:
    """Make an event of a top, each entry with its rank."""
    return TopChange(board, period, tuple(_ranked(board, period, top)), version, at)


def digest_of(top: Top) -> str:
    """Name what a top shows: another name for another sight."""
    digest = hashlib.blake2b(digest_size=12)
    for item in top.items[:_TOLD]:
        digest.update(repr([item.get(name) for name in _SHOWN]).encode())
    return digest.hexdigest()


def end_of(top: Top) -> bytes | None:
    """Give the last rank key that is told; None where all that stand on the board are."""
    return None if top.whole or not top.items else bytes(top.items[:_TOLD][-1]["rank_key"]["B"])


def _ranked(board: Board, period: str, top: Top) -> Iterator[tuple[int, Entry]]:
    rank, last = 0, None
    for place, item in enumerate(top.items[:_TOLD], 1):
        score = bytes(item["rank_key"]["B"])[: score_bytes(board)]
        if score != last:
            rank, last = place, score
        yield rank, entry_from_item(board, period, item)
