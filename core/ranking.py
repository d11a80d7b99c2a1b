"""Ranks: how many stand before a score, counted when asked for and never stored."""

import time
from collections.abc import Sequence

from core.buckets import find_bucket
from core.counting import Count, Counted, by_guess, by_index, by_ladder, by_tree, entries_at_most
from core.database import Database
from core.keys import standings_key
from core.ladder import ladder, warm
from core.memory import REMEMBERED
from core.model import Board, Entry, Rank, RankStrategy
from core.rank_key import just_above, score_bytes

# So many cuts within a second are worth loading the ladder, which costs about as much as so many paths.
LADDER_PAYS_AT = 16
# So many entries cost some six read units on the index, about what a tree's path and its leaf cost.
INDEX_PAYS_TO = 200


def ranks(
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

    Costs what the strategy says in `core.counting`.
    """
    needed = [() if one.hidden else _cuts(board, one, positions=positions) for one in entries]
    cuts = sorted({cut for of_entry in needed for cut in of_entry if cut is not None})
    counted, answered = _count(db, board, period, cuts, strategy)
    return [
        _rank(board, one, of_entry, counted, answered) if of_entry else None
        for one, of_entry in zip(entries, needed, strict=True)
    ]


def _count(
    db: Database, board: Board, period: str, cuts: Sequence[bytes], strategy: RankStrategy
) -> tuple[Counted, RankStrategy]:
    standings = standings_key(board.id, period, board.generation)
    if strategy is RankStrategy.AUTO:
        strategy = _choose(db, board, standings, cuts)
    if strategy is RankStrategy.INDEX:
        return by_index(db, board, period, cuts), strategy
    if strategy is RankStrategy.TREE:
        return by_tree(db, board, period, cuts), strategy
    rungs = ladder(db, board, standings)
    if strategy is RankStrategy.LADDER:
        return by_ladder(db, board, period, rungs, cuts), strategy
    return by_guess(rungs, cuts), strategy


def _choose(db: Database, board: Board, standings: str, cuts: Sequence[bytes]) -> RankStrategy:
    """Choose an exact strategy by what it costs.

    The index is fresh at once, and cheap while few entries stand before the last cut. Else it costs all the
    leaves before the one that the tree reads. The ladder is cheapest while warm, and warming it pays once
    enough ranks of one order are asked for.
    """
    if entries_at_most(db, board, standings, cuts[-1] if cuts else b"") <= INDEX_PAYS_TO:
        return RankStrategy.INDEX
    asked = db.memory.asked
    if len(asked) > REMEMBERED:
        asked.clear()
    now = time.monotonic()
    since, times = asked.get(standings, (now, 0))
    asked[standings] = since, times = (since, times + len(cuts)) if now < since + 1 else (now, len(cuts))
    if warm(db, standings) or times >= LADDER_PAYS_AT:
        return RankStrategy.LADDER
    return RankStrategy.TREE


Cuts = tuple[bytes | None, bytes | None, bytes | None]


def _cuts(board: Board, entry: Entry, *, positions: bool) -> Cuts:
    """Name the rank keys to count up to: for the rank, the position and those not below; None if known."""
    score_part = entry.rank_key[: score_bytes(board)]
    place = entry.place
    if place is None:
        return score_part, entry.rank_key if positions else None, just_above(score_part)
    return (
        score_part if place.tie_start is None else None,
        place.anchor,
        just_above(score_part) if place.tie_end is None else None,
    )


def _rank(board: Board, entry: Entry, cuts: Cuts, counted: Counted, strategy: RankStrategy) -> Rank:
    place = entry.place
    score_cut, key_cut, tie_cut = cuts
    nothing = Count(0, 0, 0)
    start = counted.before[key_cut] if key_cut is not None else nothing
    better = (
        counted.before[score_cut]
        if score_cut is not None
        else _behind(start, place.tie_start if place else 0)
    )
    as_good = (
        counted.before[tie_cut] if tie_cut is not None else _behind(start, place.tie_end if place else 0)
    )
    position = None
    if key_cut is not None or place is not None:
        position = _behind(start, place.steps if place else 0).value + 1
    # Counters follow the stream and entries do not wait for them: an entry at least counts itself.
    not_below = max(as_good.value, position or better.value + 1)
    total = max(counted.total, not_below)
    rank = better.value + 1
    exact = better.low == better.high and start.low == start.high
    bucket, bucket_from, bucket_to = find_bucket(board.rank_buckets, rank, total)
    return Rank(
        rank=rank,
        position=position if exact else None,
        total=total,
        percentile=100 * (total - not_below) / total,
        bucket=bucket,
        bucket_from=bucket_from,
        bucket_to=bucket_to,
        exact=exact,
        lower_bound=better.low + 1,
        upper_bound=min(better.high + 1, total),
        as_of=counted.as_of,
        strategy=strategy,
    )


def _behind(start: Count, steps: int | None) -> Count:
    """Count from the start of an entry's page; where its ties go on beyond that, there is a cut instead."""
    steps = steps or 0
    return Count(start.value + steps, start.low + steps, start.high + steps)
