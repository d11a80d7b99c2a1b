"""The nodes that a counter tree starts with, from a board's definition. Pure.

A node has up to `FANOUT` children. If the first component has both bounds, the root cuts it evenly: by a
power of `FANOUT` if the levels then reach one score a leaf, else into no more children than `expectedSize`
needs, since each is a node to write. Without bounds the root cuts by powers of two around zero (or the bound
nearest to it), so that any range of scores falls into a few children. Below the root each child is cut
evenly, as many levels deep as `expectedSize` needs. Growth corrects what this misjudges (core.upkeep.growth):
a leaf that fills up gets a node of its own, cut where its entries are.

All edges are distances from the best value, with which a rank key starts.
"""

from functools import lru_cache

from core.domain.model import Board, CounterMode
from core.domain.rank_key import distance, just_above, score_bytes, width, worst_score

FANOUT = 128
LEAF_TARGET = 64  # entries in a leaf, as planned
MAX_STATIC_DEPTH = 3
MAX_COUNTER_SHARDS = 32  # a transaction reads at most 100 items, and settling reads two of each

GROW_AT = 256  # entries in a leaf
# Entries in a leaf of one score: its rank is known, only positions in the tie need reading. With fewer, a
# board of few scores and many entries would have a node to write for each score.
TIES_GROW_AT = 1024

Path = tuple[int, ...]


def static_depth(board: Board) -> int:
    """Return how many levels of nodes a board starts with: 1 up to 8,192 entries, 2 to a million, else 3."""
    depth = 1
    while depth < MAX_STATIC_DEPTH and FANOUT**depth * LEAF_TARGET < (board.expected_size or 0):
        depth += 1
    return depth


def counter_shards(board: Board) -> int:
    """Return the number of counter shards, a power of two up to 32; reading counts reads all of them.

    The stream's consumer writes each node once a batch, so one is enough. A writer that counts for itself
    writes up to three nodes for a crossed edge (the ones left and entered, and one above both), at two units
    each in a transaction; 700 units a second leave room in a partition's 1,000.
    """
    if board.counter_mode is CounterMode.STREAM:
        return 1
    units = 6 if board.counter_mode is CounterMode.TRANSACTIONAL else 3
    needed = -(-board.peak_writes_per_second * units // 700)
    return min(MAX_COUNTER_SHARDS, 1 << (needed - 1).bit_length())


def is_linear(board: Board) -> bool:
    """Return whether the root is cut evenly, not by powers of two."""
    first = board.components[0]
    return first.bounded_below and first.bounded_above


def static_edges(board: Board, path: Path) -> tuple[bytes, ...] | None:
    """Return the edges of a node that is there from the start, as rank-key prefixes; None for any other."""
    if len(path) >= static_depth(board):
        return None
    first = board.components[0]
    cuts = _root_cuts(board)
    low, high = 0, first.high - first.low + 1
    for child in path:
        low, high = (cuts[child - 1] if child else low), (cuts[child] if child < len(cuts) else high)
        cuts = _even(low, high)
        if not cuts:
            return None  # one score: only growth adds nodes here
    size = width(first)
    return tuple(cut.to_bytes(size, "big") for cut in cuts)


def capacity(board: Board, low: bytes, high: bytes | None) -> int:
    """Return how many entries a leaf may hold before it grows."""
    first_score = low[: score_bytes(board)].ljust(score_bytes(board), b"\0")
    end = just_above(worst_score(board)) if high is None else high
    return TIES_GROW_AT if end <= just_above(first_score) else GROW_AT


@lru_cache(maxsize=512)  # of up to 5 KB each
def _root_cuts(board: Board) -> list[int]:
    return _linear_root(board) if is_linear(board) else _logarithmic_root(board)


def _linear_root(board: Board) -> list[int]:
    first = board.components[0]
    span = first.high - first.low + 1
    depth = static_depth(board)
    if FANOUT**depth < span:
        children = FANOUT
        if depth > 1:
            children = max(2, -(-(board.expected_size or 0) // (FANOUT ** (depth - 1) * LEAF_TARGET)))
        step = -(-span // min(FANOUT, children))
    else:
        step = 1
        while step * FANOUT < span:
            step *= FANOUT
    return list(range(step, span, step))


def _logarithmic_root(board: Board) -> list[int]:
    first = board.components[0]
    origin = min(max(0, first.low), first.high)
    offsets = [0, *(1 << power for power in range((first.high - first.low).bit_length()))]
    values = {origin + sign * offset for offset in offsets for sign in (1, -1)}
    cuts = sorted(distance(first, value) for value in values if first.low < value < first.high)
    return cuts[:: -(-len(cuts) // (FANOUT - 1))] if cuts else []


def _even(low: int, high: int) -> list[int]:
    step = -(-(high - low) // FANOUT)
    return list(range(low + step, high, step))
