"""What a board's ranks are made of: its shards and its counter tree, in words and capacity units."""

from core.counters.known_trees import Trees
from core.counters.whole_tree import leaves, load_tree
from core.domain import rank_key
from core.domain.keys import split_standings
from core.domain.model import Board, CounterMode
from core.domain.periods import expires_at, period_end
from core.storage.database import Database
from core.storage.rank_index import estimate_units
from core.tree.shape import (
    FANOUT,
    GROW_AT,
    TIES_GROW_AT,
    counter_shards,
    is_linear,
    static_depth,
    static_edges,
)


def explain(db: Database, board: Board, standings: str) -> list[tuple[str, str]]:
    """Describe how one order is counted, as pairs of a name and a text.

    Costs a read unit, and half a unit for each 4 KB of the tree.
    """
    tree = Trees(db).current(standings)
    known = load_tree(db, board, standings, tree)
    counts = [count for _, count in leaves(known)]
    entries, fullest = sum(counts), max(counts)
    growing = sum(len(node.grown.keys() - node.settled) for node, _ in known.values())
    depth = 1 + max(len(path) for path in known)
    shards = counter_shards(board)
    coarse = 0.5 * (1 + depth * shards)
    return [
        ("order", _order(board)),
        ("period", _period(board, split_standings(standings)[1])),
        ("rank key", f"{rank_key.longest(board, 0)} bytes and the participant's id"),
        ("index", f"{board.shards} shard(s) for {board.peak_writes_per_second:,} writes/s"),
        ("counters", f"{board.counter_mode.value}, {shards} counter shard(s)"),
        ("scale", _scale(board)),
        ("tree", f"{len(known):,} node(s) on {depth} level(s), {len(counts):,} leaves, {growing} growing"),
        (
            "entries",
            (
                f"{entries:,}; at most {fullest:,} in a leaf"
                f" (one grows at {GROW_AT}, one of a single score at {TIES_GROW_AT:,})"
            ),
        ),
        (
            "a rank",
            (
                f"entry 0.5 + tree {coarse:g} + what stands before it in its leaf: at least "
                f"{estimate_units(board, 0):g}, up to {estimate_units(board, fullest):g} units"
                " (more where ids are long or entries have texts)"
            ),
        ),
        ("a rank, ladder warm", "entry 0.5 + what stands before it in its leaf"),
        ("a submission", _submission(board, depth)),
    ]


def _order(board: Board) -> str:
    parts = [f"{one.name} {one.kind.value} {one.order.value}" for one in board.components]
    return f"{', then '.join(parts)}; ties {board.tie_break.value}; policy {board.policy.value}"


def _period(board: Board, period: str) -> str:
    end, gone = period_end(board, period), expires_at(board, period)
    if end is None or gone is None:
        return f"{period}, without end"
    grace = board.retention.grace_hours
    return f"{period}, to {end.isoformat()}; late scores for {grace} hours; gone from {gone.isoformat()}"


def _scale(board: Board) -> str:
    kind = "linear" if is_linear(board) else "logarithmic"
    children = len(static_edges(board, ()) or ()) + 1
    levels = static_depth(board)
    return f"{kind}, {children} children at the root, up to {FANOUT} below, {levels} level(s) from the start"


def _submission(board: Board, depth: int) -> str:
    floor = "1 write unit on the table, 2 on the index if the rank key moves"
    if len(board.periods) > 1:
        floor = f"in each of {len(board.periods)} periods {floor}"
    if board.counter_mode is CounterMode.STREAM:
        return f"{floor}; the stream's consumer writes each node that a batch touches once"
    more = "1 more on the table, and 2" if board.counter_mode is CounterMode.TRANSACTIONAL else "1"
    return f"{floor}; {more} for each of up to {2 * depth - 1} node(s) when it crosses a leaf's edge"
