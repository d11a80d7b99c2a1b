"""Ranks: how many stand before a score, counted when asked for and never stored."""

import time
from collections.abc import Sequence
from typing import NamedTuple

from core.counters.cache import MAX_STANDINGS, CounterCache
from core.domain.buckets import find_bucket
from core.domain.keys import standings_key
from core.domain.model import Board, Entry, Rank, RankStrategy
from core.domain.rank_key import is_worst, just_above, score_bytes
from core.ranking.ladder import ladder, warm
from core.ranking.strategies import (
    Count,
    Counted,
    by_index,
    by_interpolation,
    by_ladder,
    by_tree,
    entries_at_most,
)
from core.storage.database import Database
from core.storage.rank_index import estimate_units
from core.tree.shape import counter_shards, static_depth

# So many cuts within a second are worth loading the ladder, which costs about as much as so many paths.
LADDER_PAYS_AT = 16
# So many read units on the index are about what a tree's path and its leaf cost, with one counter shard.
INDEX_PAYS_TO = 2.5


def rank_entries(
    db: Database,
    board: Board,
    period: str,
    entries: Sequence[Entry],
    strategy: RankStrategy = RankStrategy.AUTO,
    *,
    positions: bool = True,
) -> list[Rank | None]:
    """Rank some entries of one board and period, in the order given; None for a hidden one.

    An entry's rank needs three counts: of entries with a better score, of those before it in the full order,
    and of those with a score as good or better. What the page that an entry came from shows of them is not
    counted again, so a page costs hardly more than its first entry. Without `positions`, a rank whose leaf
    holds one score is told by the tree alone.

    Costs what the strategy says in `core.ranking.strategies`.
    """
    wanted = [None if one.hidden else _marks(board, one, positions=positions) for one in entries]
    if not any(wanted):
        return [None for _ in wanted]
    marks = [mark for of_entry in wanted if of_entry for mark in of_entry if mark]
    cuts = sorted({mark.cut for mark in marks if mark.cut is not None})
    counted, answered = _count(db, board, period, cuts, strategy)
    return [of_entry and _rank(board, of_entry, counted, answered) for of_entry in wanted]


def _count(
    db: Database, board: Board, period: str, cuts: Sequence[bytes], strategy: RankStrategy
) -> tuple[Counted, RankStrategy]:
    standings = standings_key(board.id, period, board.generation)
    few = False
    if strategy is RankStrategy.AUTO:
        strategy = _choose(db, board, standings, cuts)
        few = strategy is RankStrategy.INDEX
    if strategy is RankStrategy.INDEX:
        return by_index(db, board, period, cuts, few=few), strategy
    if strategy is RankStrategy.TREE:
        return by_tree(db, board, period, cuts), strategy
    rungs = ladder(db, board, standings)
    if strategy is RankStrategy.LADDER:
        return by_ladder(db, board, period, rungs, cuts), strategy
    return by_interpolation(rungs, cuts), strategy


def _choose(db: Database, board: Board, standings: str, cuts: Sequence[bytes]) -> RankStrategy:
    """Choose an exact strategy by what it costs.

    The index is fresh at once, and cheap while few entries stand before the last cut. Else it costs all the
    leaves before the one that the tree reads. The ladder is cheapest while warm, and warming it pays once
    enough ranks of one order are asked for.
    """
    # The index needs the root too, for the size, but none of the nodes below it.
    pays_to = INDEX_PAYS_TO + 0.5 * (counter_shards(board) - 1) * (static_depth(board) - 1)
    if not cuts or estimate_units(board, entries_at_most(db, board, standings, cuts[-1])) <= pays_to:
        return RankStrategy.INDEX
    asked = db.cache(CounterCache).asked
    if len(asked) > MAX_STANDINGS:
        asked.clear()
    now = time.monotonic()
    since, times = asked.get(standings, (now, 0))
    asked[standings] = since, times = (since, times + len(cuts)) if now < since + 1 else (now, len(cuts))
    if warm(db, standings) or times >= LADDER_PAYS_AT:
        return RankStrategy.LADDER
    return RankStrategy.TREE


class _Mark(NamedTuple):
    """A place in the order: so many steps behind a rank key, or behind the start of the board (None)."""

    cut: bytes | None
    steps: int = 0


class _Marks(NamedTuple):
    """Up to where to count for one entry's rank."""

    tie: _Mark  # the first of its score
    itself: _Mark | None  # None where its position is not wanted, and not known for nothing
    behind_tie: _Mark | None  # None where nobody can have a worse score


def _marks(board: Board, entry: Entry, *, positions: bool) -> _Marks:
    score_part = entry.rank_key[: score_bytes(board)]
    tie = _Mark(score_part)
    behind_tie = None if is_worst(board, entry.score) else _Mark(just_above(score_part))
    place = entry.place
    if place is None:
        return _Marks(tie, _Mark(entry.rank_key) if positions else None, behind_tie)
    if place.tie_start is not None:
        tie = _Mark(place.anchor, place.tie_start)
    if place.tie_end is not None:
        behind_tie = _Mark(place.anchor, place.tie_end)
    counts_anchor = place.anchor is None or place.tie_start is not None or place.tie_end is not None
    return _Marks(tie, _Mark(place.anchor, place.steps) if positions or counts_anchor else None, behind_tie)


def _rank(board: Board, marks: _Marks, counted: Counted, strategy: RankStrategy) -> Rank:
    better = _before(counted, marks.tie)
    before = _before(counted, marks.itself) if marks.itself else None
    as_good = _before(counted, marks.behind_tie) if marks.behind_tie else None
    # Counters follow the stream and entries do not wait for them: an entry at least counts itself.
    itself = before or better
    total = max(counted.total, itself.low + 1, as_good.low if as_good else 0)
    lower_bound, upper_bound = better.low + 1, min(better.high + 1, total)
    rank = min(better.value + 1, upper_bound)
    not_below = min(max(as_good.value, itself.value + 1), total) if as_good else total
    bucket, bucket_from, bucket_to = find_bucket(board.rank_buckets, rank, total)
    return Rank(
        rank=rank,
        position=before.value + 1 if before and before.low == before.high else None,
        total=total,
        percentile=100 * (total - not_below) / total,
        bucket=bucket,
        bucket_from=bucket_from,
        bucket_to=bucket_to,
        exact=lower_bound == upper_bound,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
        as_of=counted.as_of,
        strategy=strategy,
    )


def _before(counted: Counted, mark: _Mark) -> Count:
    at_cut = Count(0, 0, 0) if mark.cut is None else counted.before[mark.cut]
    return Count(at_cut.value + mark.steps, at_cut.low + mark.steps, at_cut.high + mark.steps)
