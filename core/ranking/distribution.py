"""How entries are spread over the scores, from the ladder alone."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from core.domain.buckets import find_bucket
from core.domain.keys import standings_key
from core.domain.limits import MAX_BINS, check_limit
from core.domain.model import Board, Component, SortOrder
from core.domain.rank_key import width
from core.domain.scores import format_value
from core.ranking.ladder import ladder
from core.storage.database import Database
from core.tree.rungs import Rungs


@dataclass(frozen=True, slots=True)
class Bin:
    """A range of the first component, from its worst value to its best, and the entries in it.

    `buckets` are the names of the rank buckets that its places fall in, best first.
    """

    worst: str
    best: str
    count: int
    buckets: tuple[str, ...]


def distribution(db: Database, board: Board, period: str, bins: int) -> list[Bin]:
    """Return up to `bins` bins of about equal width over all entries, worst first; none if there are none.

    Bins end where leaves do, so their counts are exact as of the counters. Costs loading the ladder, unless
    it is warm.

    Raises:
        InvalidInput: the number of bins.
    """
    check_limit("bins", bins, MAX_BINS)
    rungs = ladder(db, board, standings_key(board.id, period, board.generation))
    component = board.components[0]
    edges = _choose(_edges(rungs, component), bins)
    found = []
    for (low, before), (high, after) in pairwise(edges):
        names: dict[str, None] = {}
        place = before + 1
        while place <= after:
            bucket, _, last = find_bucket(board.rank_buckets, place, rungs.total)
            names[bucket.name] = None
            place = after + 1 if last is None else last + 1
        worst, best = _value(component, high - 1), _value(component, low)
        found.append(Bin(worst, best, after - before, tuple(names)))
    return found[::-1]


Edge = tuple[int, int]  # a distance from the first component's best value, and the entries before it


def _edges(rungs: Rungs, component: Component) -> list[Edge]:
    """Return where leaves end between two values of the component, from the first entry to the last."""
    size = width(component)
    ends = [(component.high - component.low + 1, rungs.total)]
    starts = [
        (int.from_bytes(low[:size].ljust(size, b"\0"), "big"), before)
        for low, before in zip(rungs.lows, rungs.before, strict=True)
        if not low[size:].strip(b"\0")
    ]
    edges = [*starts, *ends]
    first = max((at for at, (_, before) in enumerate(edges) if before == 0), default=0)
    last = next((at for at, (_, before) in enumerate(edges) if before == rungs.total), len(edges) - 1)
    return edges[first : last + 1]


def _choose(edges: Sequence[Edge], bins: int) -> list[Edge]:
    """Return the edges that come nearest to bins of equal width."""
    if len(edges) < 2:
        return []
    distances = [distance for distance, _ in edges]
    span = distances[-1] - distances[0]
    chosen = {0, len(edges) - 1}
    for number in range(1, bins):
        wanted = distances[0] + span * number // bins
        at = bisect_left(distances, wanted)
        if at and wanted - distances[at - 1] < distances[at] - wanted:
            at -= 1
        chosen.add(at)
    return [edges[at] for at in sorted(chosen)]


def _value(component: Component, distance: int) -> str:
    descending = component.order is SortOrder.DESCENDING
    return format_value(component, component.high - distance if descending else component.low + distance)
