"""Rank entries: count how many stand before a score, at the time of asking. No rank is stored."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from core.counters.cache import MAX_STANDINGS, CounterCache
from core.domain.buckets import find_bucket
from core.domain.keys import standings_key
from core.domain.model import Board, Entry, Rank, RankStrategy
from core.domain.rank_key import encode_score, is_worst, just_above, score_bytes
from core.domain.scores import parse_score
from core.ranking import strategies
from core.ranking.ladder import ladder, warm
from core.ranking.strategies import Count, Counted
from core.storage.database import Database
from core.storage.rank_index import estimate_units
from core.tree.shape import counter_shards, static_depth

# That many cuts within a second pay for loading the ladder, which costs about as much as their paths.
LADDER_PAYS_AT = 16
# That many read units on the index are what a tree's path and its leaf cost, with one counter shard.
INDEX_PAYS_TO = 2.5


def rank_entries(
    db: Database,
    board: Board,
    period: str,
    entries: Sequence[Entry],
    strategy: RankStrategy = RankStrategy.AUTO,
    *,
    positions: bool = True,
    total: int | None = None,
) -> list[Rank | None]:
    """Rank entries of one board and period, in the order given; None for a hidden one.

    An entry's rank needs three counts: of entries with a better score, of entries before it in rank order,
    and of entries with a score as good or better. What the page that an entry came from shows of them is not
    counted again, so a page costs little more than its first entry. Without `positions`, the rank of an entry
    whose leaf holds one score is counted by the tree alone. `total` is the board's size if it has just been
    read: the ranks shall agree with it.

    Costs what the strategy does in `core.ranking.strategies`.
    """
    points = [None if entry.hidden else _points(board, entry, positions=positions) for entry in entries]
    if not any(points):
        return [None for _ in points]
    cuts = {point.cut for of_entry in points if of_entry for point in of_entry if point}
    counted, used = _count(db, board, period, sorted(cut for cut in cuts if cut is not None), strategy)
    if total is not None:
        counted = replace(counted, total=total)
    return [of_entry and _rank(board, of_entry, counted, used) for of_entry in points]


def rank_of(
    db: Database,
    board: Board,
    period: str,
    score: Sequence[str],
    strategy: RankStrategy = RankStrategy.AUTO,
) -> Rank:
    """Return the rank that a new participant would take with a score, which counts in the total.

    It has no position: that follows from when the score is achieved. Costs what `rank_entries` does for one
    entry without its position.

    Raises:
        InvalidScore: naming the component and the rule.
    """
    parsed = parse_score(board.components, score)
    part = encode_score(board, parsed)
    end = None if is_worst(board, parsed) else _Point(just_above(part), 1)
    cuts = [part] if end is None or end.cut is None else [part, end.cut]
    counted, used = _count(db, board, period, cuts, strategy)
    counted = replace(counted, total=counted.total + 1)
    return _rank(board, _Points(_Point(part), None, end), counted, used)


def _count(
    db: Database, board: Board, period: str, cuts: Sequence[bytes], strategy: RankStrategy
) -> tuple[Counted, RankStrategy]:
    """Count before each cut. Return the counts, and the strategy used, which AUTO chooses."""
    standings = standings_key(board.id, period, board.generation)
    few = False
    if strategy is RankStrategy.AUTO:
        strategy = _choose(db, board, standings, cuts)
        few = strategy is RankStrategy.INDEX
    if strategy is RankStrategy.INDEX:
        return strategies.by_index(db, board, period, cuts, few=few), strategy
    if strategy is RankStrategy.TREE:
        return strategies.by_tree(db, board, period, cuts), strategy
    rungs = ladder(db, board, standings)
    if strategy is RankStrategy.LADDER:
        return strategies.by_ladder(db, board, period, rungs, cuts), strategy
    return strategies.by_interpolation(rungs, cuts), strategy


def _choose(db: Database, board: Board, standings: str, cuts: Sequence[bytes]) -> RankStrategy:
    """Choose the exact strategy that costs least.

    The index is always current, and cheap while few entries stand before the last cut; deep in the board the
    tree reads one leaf of what the index reads. The ladder is cheapest while warm, and loading it pays once
    many ranks of the same standings are asked for.
    """
    # The index needs the root too, for the size, but none of the nodes below it.
    pays_to = INDEX_PAYS_TO + 0.5 * (counter_shards(board) - 1) * (static_depth(board) - 1)
    if not cuts:
        return RankStrategy.INDEX
    entries = strategies.entries_at_most(db, board, standings, cuts[-1])
    if estimate_units(board, entries) <= pays_to:
        return RankStrategy.INDEX
    asked = db.cache(CounterCache).asked
    if len(asked) > MAX_STANDINGS:
        asked.clear()
    now = time.monotonic()
    since, count = asked.get(standings, (now, 0))
    asked[standings] = since, count = (since, count + len(cuts)) if now < since + 1 else (now, len(cuts))
    if warm(db, standings) or count >= LADDER_PAYS_AT:
        return RankStrategy.LADDER
    return RankStrategy.TREE


class _Point(NamedTuple):
    """A point in rank order: so many steps behind a cut, or behind the start of the board (None)."""

    cut: bytes | None
    steps: int = 0


class _Points(NamedTuple):
    """The points of an entry up to which its rank needs counts."""

    tie_start: _Point
    entry: _Point | None  # None: its position is not wanted, and would cost a count
    tie_end: _Point | None  # None: no score can be worse, so the tie ends with the board


def _points(board: Board, entry: Entry, *, positions: bool) -> _Points:
    score = entry.rank_key[: score_bytes(board)]
    tie_start = _Point(score)
    tie_end = None if is_worst(board, entry.score) else _Point(just_above(score))
    place = entry.place
    if place is None:
        return _Points(tie_start, _Point(entry.rank_key) if positions else None, tie_end)
    if place.tie_start is not None:
        tie_start = _Point(place.anchor, place.tie_start)
    if place.tie_end is not None:
        tie_end = _Point(place.anchor, place.tie_end)
    counts_anchor = place.anchor is None or place.tie_start is not None or place.tie_end is not None
    own = _Point(place.anchor, place.steps) if positions or counts_anchor else None
    return _Points(tie_start, own, tie_end)


def _rank(board: Board, points: _Points, counted: Counted, strategy: RankStrategy) -> Rank:
    better = _before(counted, points.tie_start)
    ahead = _before(counted, points.entry) if points.entry else None
    as_good = _before(counted, points.tie_end) if points.tie_end else None
    # Counters follow the stream and entries do not wait for them: an entry counts at least itself.
    own = ahead or better
    total = max(counted.total, own.low + 1, as_good.low if as_good else 0)
    lower_bound, upper_bound = better.low + 1, min(better.high + 1, total)
    rank = min(better.value + 1, upper_bound)
    not_worse = min(max(as_good.value, own.value + 1), total) if as_good else total
    bucket, bucket_from, bucket_to = find_bucket(board.rank_buckets, rank, total)
    return Rank(
        rank=rank,
        position=ahead.value + 1 if ahead and ahead.low == ahead.high else None,
        total=total,
        percentile=100 * (total - not_worse) / total,
        bucket=bucket,
        bucket_from=bucket_from,
        bucket_to=bucket_to,
        exact=lower_bound == upper_bound,
        lower_bound=lower_bound,
        upper_bound=upper_bound,
        as_of=counted.as_of,
        strategy=strategy,
    )


def _before(counted: Counted, point: _Point) -> Count:
    """Return how many entries stand before a point."""
    count = Count(0, 0, 0) if point.cut is None else counted.before[point.cut]
    return Count(count.value + point.steps, count.low + point.steps, count.high + point.steps)
