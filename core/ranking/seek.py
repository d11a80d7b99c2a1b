"""Find what stands at a place: the ladder tells which leaf holds it, and the leaf is read from the index.

Places are those of the counters. The index may be ahead of them by changes that are not counted yet; then a
neighbour is returned, so that every place up to the counted size has an entry.
"""

from bisect import bisect_left

from core.domain.buckets import last_place
from core.domain.errors import InvalidInput
from core.domain.keys import standings_key
from core.domain.model import Board, Entry, RankBucket
from core.domain.rank_key import just_below
from core.ranking.ladder import ladder
from core.ranking.queries import next_entries
from core.storage.database import Database
from core.storage.rank_index import estimate_units
from core.tree.rungs import Rung, Rungs

_PAYS_TO = 4.0  # read units from the start of the index; a ladder of a small board and a leaf cost as much


def entry_at(db: Database, board: Board, period: str, position: int) -> Entry | None:
    """Read the entry at a position, 1 for the best; None past the end.

    Costs loading the ladder unless it is warm, and half a read unit for each 4 KB of half a leaf, at least
    half a unit for each shard. Near the top the index alone is read.

    Raises:
        InvalidInput: the position is not positive.
    """
    if position < 1:
        raise InvalidInput(f"position: must be at least 1, not {position}")
    if estimate_units(board, position) <= _PAYS_TO:
        found = next_entries(db, board, period, position, None)
        return found[-1] if len(found) == position else None
    return _entry_at(db, board, period, position, ladder(db, board, _standings(board, period)))


def entry_to_reach(
    db: Database, board: Board, period: str, *, rank: int | None = None, top_percent: float | None = None
) -> Entry | None:
    """Read the entry whose score one has to reach for a rank, or to be among the best so many per cent.

    None if the board has fewer entries. A share is rounded up, as a rank bucket's. Costs what `entry_at`
    does.

    Raises:
        InvalidInput: not exactly one is given, or it is out of range.
    """
    if (rank is None) == (top_percent is None):
        raise InvalidInput("rank, topPercent: exactly one must be given")
    if rank is not None:
        if rank < 1:
            raise InvalidInput(f"rank: must be at least 1, not {rank}")
        return entry_at(db, board, period, rank)
    if top_percent is None or not 0 < top_percent <= 100:
        raise InvalidInput(f"topPercent: must be above 0, at most 100, not {top_percent:g}")
    rungs = ladder(db, board, _standings(board, period))
    place = last_place(RankBucket("", top_percent=top_percent), rungs.total)
    return _entry_at(db, board, period, place, rungs) if place else None


def _standings(board: Board, period: str) -> str:
    return standings_key(board.id, period, board.generation)


def _entry_at(db: Database, board: Board, period: str, position: int, rungs: Rungs) -> Entry | None:
    rung = _rung_at(rungs, position)
    if rung is None:
        return None
    from_start, from_end = position - rung.before, rung.before + rung.entries - position + 1
    found: list[Entry] = []
    if rung.high is not None and from_end < from_start:
        found = next_entries(db, board, period, from_end, rung.high, backward=True)
    if not found:
        found = next_entries(db, board, period, from_start, just_below(rung.low))  # `low` itself may be a key
    if not found and rung.low:  # all left from here to the board's end
        found = next_entries(db, board, period, 1, rung.low, backward=True)
    return found[-1] if found else None


def _rung_at(rungs: Rungs, position: int) -> Rung | None:
    """Return the leaf that holds a position; None past the end."""
    if position > rungs.total:
        return None
    return rungs.find(rungs.lows[bisect_left(rungs.before, position) - 1])
