"""The first step of a pass: find out whom to look at."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from core.domain.model import Board
from core.notifications.announced import Announced
from core.notifications.boundaries import Boundaries, find_boundaries
from core.notifications.bucket_cuts import buckets_digest
from core.notifications.crossed import Crossed, find_crossed, read_between
from core.notifications.movers import MOVERS_PER_ITEM, Mover, MoverBatch, merge_movers, read_movers
from core.notifications.outbox import Pending, read_pending
from core.notifications.top_change import top_digest
from core.ranking.top import Top, read_top, recheck_top
from core.storage.database import Database

INDEX_LAG = 5_000  # milliseconds that the index may take to show what the stream has shown
MAX_CANDIDATES = 500  # of each kind in one pass: movers, crossed, pending


@dataclass(frozen=True, slots=True)
class Findings:
    """What a pass goes by: what was announced, the standings now, and whom to look at."""

    began: int  # milliseconds since 1970
    stored: Announced | None  # as it was read
    announced: Announced  # the same, or a new start for other rank buckets
    resolved: Announced  # the same with every boundary certain, if the index has been read again
    top: Top
    top_changed: bool
    boundaries: Boundaries
    pending: Pending
    batches: Sequence[MoverBatch]
    movers: Mapping[str, Mover]
    crossed: Crossed
    is_partial: bool  # whether movers or crossed participants are left for the next pass

    @property
    def version(self) -> int:
        """The version of the pass and its events."""
        return max(self.began, self.announced.version + 1)

    @property
    def watermark(self) -> int:
        """When the newest change that is known to be counted was made, in milliseconds since 1970."""
        return max([self.announced.watermark, *(batch.newest for batch in self.batches)])

    @property
    def candidates(self) -> list[str]:
        """The participants to look at, each once."""
        retried = islice(self.pending.since, MAX_CANDIDATES)
        return list(dict.fromkeys([*self.movers, *self.crossed.certain, *self.crossed.from_index, *retried]))

    @property
    def finds_work(self) -> bool:
        """Whether there is anything to publish or to store."""
        return bool(self.candidates) or self.top_changed or self.announced is not self.stored


def look(db: Database, board: Board, standings: str, stored: Announced | None, began: int) -> Findings | None:
    """Find out what there is to do; return None if there is no start yet, for want of a boundary.

    Costs a read unit each for the movers and the pending list, two for the top, what `find_boundaries` costs,
    and half a unit a shard for each boundary that has moved behind the top.
    """
    stored_top = read_top(db, standings, consistent=True)
    if stored_top and stored_top.recheck_at is not None and stored_top.recheck_at < began:
        stored_top = recheck_top(db, board, standings)
    top = stored_top or Top([], whole=False)
    boundaries = find_boundaries(db, board, standings, top)
    announced = _announced(board, stored, boundaries)
    if announced is None:
        return None
    pending = read_pending(db, standings)
    if announced.leased_until:  # the last pass died, and may have published some events
        pending = replace(pending, uncertain=frozenset(pending.since))
    # The pending list must have room for all candidates.
    limit = max(0, min(MAX_CANDIDATES, (pending.room - MOVERS_PER_ITEM) // 2))
    batches = read_movers(db, standings, limit) if limit else []
    crossed = find_crossed(db, board, standings, top, announced.cuts, boundaries.found, limit)
    resolved, all_read = announced, True
    if 0 < announced.uncertain_since <= began - INDEX_LAG:
        room = limit - len(crossed.certain) - len(crossed.from_index)
        found, resolved = _reread(db, board, standings, announced, room, began)
        all_read = not resolved.uncertain_since
        crossed = replace(crossed, certain={**crossed.certain, **found})
    top_changed = announced.leased_until > 0 or announced.top != top_digest(top)
    return Findings(
        began=began,
        stored=stored,
        announced=announced,
        resolved=resolved,
        top=top,
        top_changed=stored_top is not None and top_changed,
        boundaries=boundaries,
        pending=pending,
        batches=batches,
        movers=merge_movers(batches, announced.buckets),
        crossed=crossed,
        is_partial=not (crossed.complete and all_read)
        or sum(len(batch.movers) for batch in batches) >= limit,
    )


def _reread(
    db: Database, board: Board, standings: str, announced: Announced, room: int, began: int
) -> tuple[Mapping[str, bytes], Announced]:
    """Read the index again where boundaries are uncertain, up to `room` participants.

    Return those found, and the state with what has been read certain. What is left closes in on the announced
    cut from both sides, pass by pass.
    """
    found: dict[str, bytes] = {}
    low, high = list(announced.low), list(announced.high)
    for at, cut in enumerate(announced.cuts):
        if low[at] != cut:
            run = read_between(db, board, standings, low[at], cut, room + 1)
            low[at] = cut if len(run) <= room else run[room][1]
            found.update(run[:room])
            room -= len(run[:room])
        if high[at] != cut:
            run = read_between(db, board, standings, cut, high[at], room + 1, backward=True)
            high[at] = cut if len(run) <= room else run[room - 1][1] if room else high[at]
            found.update(run[:room])
            room -= len(run[:room])
    read = replace(announced, low=tuple(low), high=tuple(high))
    return found, read.resolved(read.certain).remembering(announced, began)


def _announced(board: Board, stored: Announced | None, boundaries: Boundaries) -> Announced | None:
    """Return what was announced; at first, and for other rank buckets, start with the boundaries now."""
    buckets = buckets_digest(board)
    if stored is not None and stored.buckets == buckets:
        return stored
    if not boundaries.complete:
        return None
    cuts = boundaries.cuts()
    new = Announced(buckets, cuts, ties=(), low=cuts, high=cuts, base=cuts)
    return replace(new, version=stored.version, watermark=stored.watermark, top=stored.top) if stored else new
