"""How entries are spread over the scores, from the counters alone."""

from bisect import bisect_left
from collections.abc import Container, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import pairwise

from core.counters.known_trees import Trees
from core.counters.whole_tree import Child, WholeTree, leaves, load_nodes
from core.domain.buckets import find_bucket
from core.domain.keys import standings_key
from core.domain.limits import MAX_BINS, check_limit
from core.domain.model import Board, Component, SortOrder
from core.domain.rank_key import width
from core.domain.scores import format_value
from core.ranking.ladder import warm
from core.storage.database import Database
from core.storage.rank_index import estimate_units, read_keys
from core.tree.rungs import Rungs, make_rungs
from core.tree.shape import Path, counter_shards

# Read units besides the directory and the root: of a small board for all entries, else for nodes below.
_UNITS_BELOW_ROOT = 8.0


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

    The entries of a small board are read from the index. Else bins end where leaves do, so that their counts
    are exact as of the counters. Costs up to 10 read units, whatever the board's size: the counter tree's
    upper nodes are read, unless the ladder is warm. It is more on a small board with long texts.

    Raises:
        InvalidInput: the number of bins.
    """
    check_limit("bins", bins, MAX_BINS)
    standings = standings_key(board.id, period, board.generation)
    component = board.components[0]
    rungs = warm(db, standings) or _read_upper(db, board, standings, bins)
    total = rungs.total
    if total and estimate_units(board, total) <= _UNITS_BELOW_ROOT:
        keys = read_keys(db, board, period, b"", None)
        total = len(keys)
        edges = _even_edges([_distance(component, key) for key in keys], bins)
    else:
        edges = _choose(_edges(rungs, component), bins)
    found = []
    for (low, before), (high, after) in pairwise(edges):
        names: dict[str, None] = {}
        place = before + 1
        while place <= after:
            bucket, _, last = find_bucket(board.rank_buckets, place, total)
            names[bucket.name] = None
            place = after + 1 if last is None else last + 1
        worst, best = _value(component, high - 1), _value(component, low)
        found.append(Bin(worst, best, after - before, tuple(names)))
    return found[::-1]


def _read_upper(db: Database, board: Board, standings: str, bins: int) -> Rungs:
    """Read a tree's root, and the nodes of its widest children as long as bins cannot end within them."""
    now = datetime.now(UTC)
    tree = Trees(db, board, standings).current()
    whole = dict(load_nodes(db, board, standings, tree, [()]))
    total = sum(count for _, count in leaves(whole)) if whole else 0
    left = int(_UNITS_BELOW_ROOT / (0.5 * counter_shards(board) + 0.5))
    if estimate_units(board, total) <= _UNITS_BELOW_ROOT:
        left = 0  # the entries themselves are read
    tried: set[Path] = set()
    while left > 0:
        widest = _widest(board.components[0], whole, tried, bins)[:left]
        if not widest:
            break
        whole.update(load_nodes(db, board, standings, tree, widest))
        tried.update(widest)
        left -= len(widest)
    found = leaves(whole) if whole else []
    return make_rungs([(leaf.low, count) for leaf, count in found] or [(b"", 0)], now, 0.0)


def _widest(component: Component, whole: WholeTree, tried: Container[Path], bins: int) -> list[Path]:
    """Return the nodes not read yet of children with entries that are wider than half a bin, widest first."""
    held = [(child, *_span(component, child)) for child, count in leaves(whole) if count]
    if not held:
        return []
    too_wide = (held[-1][2] - held[0][1]) / (2 * bins)
    return [
        child.node
        for child, low, high in sorted(held, key=lambda each: each[1] - each[2])
        if high - low > too_wide and child.number in whole[child.path][0].settled and child.node not in tried
    ]


def _span(component: Component, child: Child) -> tuple[int, int]:
    """Return a child's range as distances from the first component's best value."""
    low = _distance(component, child.low)
    high = component.high - component.low + 1 if child.high is None else _distance(component, child.high)
    return low, high


def _distance(component: Component, cut: bytes) -> int:
    size = width(component)
    return int.from_bytes(cut[:size].ljust(size, b"\0"), "big")


Edge = tuple[int, int]  # a distance from the first component's best value, and the entries before it


def _edges(rungs: Rungs, component: Component) -> list[Edge]:
    """Return where leaves end between two values of the component, from the first entry to the last."""
    size = width(component)
    ends = [(component.high - component.low + 1, rungs.total)]
    starts = [
        (_distance(component, low), before)
        for low, before in zip(rungs.lows, rungs.before, strict=True)
        if not low[size:].strip(b"\0")
    ]
    edges = [*starts, *ends]
    first = max((at for at, (_, before) in enumerate(edges) if before == 0), default=0)
    last = next((at for at, (_, before) in enumerate(edges) if before == rungs.total), len(edges) - 1)
    return edges[first : last + 1]


def _even_edges(distances: Sequence[int], bins: int) -> list[Edge]:
    """Return the edges of bins of equal width over some sorted distances, none if there are none."""
    if not distances:
        return []
    low, span = distances[0], distances[-1] + 1 - distances[0]
    cuts = sorted({low + span * number // bins for number in range(bins + 1)})
    return [(cut, bisect_left(distances, cut)) for cut in cuts]


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
