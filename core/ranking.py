"""Ranks: how many stand before a score, counted when asked for and never stored."""

from collections.abc import Sequence
from datetime import UTC, datetime

from core.buckets import find_bucket
from core.counters import read_size
from core.database import Database
from core.errors import NotYetAvailable
from core.index import count_between
from core.keys import standings_key
from core.model import Board, Entry, Rank, RankStrategy
from core.rank_key import just_above, score_bytes


def ranks(
    db: Database,
    board: Board,
    period: str,
    entries: Sequence[Entry],
    strategy: RankStrategy = RankStrategy.AUTO,
) -> list[Rank | None]:
    """Rank some entries of one board and period, in the order given; None for a hidden one.

    An entry's rank needs three counts: of entries with a better score, of those before it in the full order,
    and of those with a score as good or better. What the page that an entry came from shows of them is not
    counted again, so a page costs hardly more than its first entry, and a top nothing but the board's size.

    Costs half a read unit for the size, then what `core.index.count_between` says.

    Raises:
        NotYetAvailable: a strategy other than AUTO and INDEX.
    """
    if strategy not in (RankStrategy.AUTO, RankStrategy.INDEX):
        raise NotYetAvailable(f"strategy: {strategy.value} is not available yet; AUTO and INDEX are")
    as_of = datetime.now(UTC)
    needed = [one.hidden or _cuts(board, one) for one in entries]
    cuts = sorted({cut for one in needed if not isinstance(one, bool) for cut in one if cut is not None})
    counts = dict(zip(cuts, count_between(db, board, period, cuts), strict=True))
    size = read_size(db, standings_key(board.id, period, board.generation))
    return [None if one.hidden else _rank(board, one, counts, size, as_of) for one in entries]


Cuts = tuple[bytes | None, bytes | None, bytes | None]


def _cuts(board: Board, entry: Entry) -> Cuts:
    """Name the rank keys to count up to: for the rank, the position and those not below; None if known."""
    score_part = entry.rank_key[: score_bytes(board)]
    place = entry.place
    if place is None:
        return score_part, entry.rank_key, just_above(score_part)
    return (
        score_part if place.tie_start is None else None,
        place.anchor,
        just_above(score_part) if place.tie_end is None else None,
    )


def _rank(board: Board, entry: Entry, counts: dict[bytes, int], size: int, as_of: datetime) -> Rank:
    place = entry.place
    score_cut, key_cut, tie_cut = _cuts(board, entry)
    start = counts[key_cut] if key_cut is not None else 0
    before = start + (place.steps if place else 0)
    if score_cut is not None:
        better = counts[score_cut]
    else:
        assert place is not None and place.tie_start is not None  # noqa: S101, PT018 - else there is a cut
        better = start + place.tie_start
    if tie_cut is not None:
        as_good = counts[tie_cut]
    else:
        assert place is not None and place.tie_end is not None  # noqa: S101, PT018 - else there is a cut
        as_good = start + place.tie_end
    # The size follows the stream and the index does not wait for it: no total is less than what was counted.
    total = max(size, as_good, before + 1)
    rank = better + 1
    bucket, bucket_from, bucket_to = find_bucket(board.rank_buckets, rank, total)
    return Rank(
        rank=rank,
        position=before + 1,
        total=total,
        percentile=100 * (total - max(as_good, before + 1)) / total,
        bucket=bucket,
        bucket_from=bucket_from,
        bucket_to=bucket_to,
        exact=True,
        lower_bound=rank,
        upper_bound=rank,
        as_of=as_of,
        strategy=RankStrategy.INDEX,
    )
