"""Explain how a board's ranks are counted: its shards, its counter tree, and what they cost."""

from core.counters.known_trees import Trees
from core.counters.whole_tree import leaves, load_tree
from core.domain import rank_key
from core.domain.keys import split_standings
from core.domain.model import Board, CounterMode
from core.domain.periods import expires_at, period_end
from core.storage.database import Database
from core.storage.rank_index import estimate_units
from core.tree import shape


def explain(db: Database, board: Board, standings: str) -> list[tuple[str, str]]:
    """Return how some standings are counted, as pairs of a name and a text.

    Costs a read unit, and half a unit for each 4 KB of the tree.
    """
    whole = load_tree(db, board, standings, Trees(db, board, standings).current())
    counts = [count for _, count in leaves(whole)]
    entries, fullest = sum(counts), max(counts)
    growing = sum(len(node.grown.keys() - node.settled) for node, _ in whole.values())
    depth = 1 + max(len(path) for path in whole)
    shards = shape.counter_shards(board)
    path_units = 0.5 * (1 + depth * shards)
    leaf = f"leaf {estimate_units(board, 0):g} to {estimate_units(board, fullest):g} units"
    leaf += " (more where ids are long or entries have texts)"
    return [
        ("score", _score(board)),
        ("period", _period(board, split_standings(standings)[1])),
        ("rank key", f"{rank_key.longest(board, 0)} bytes and the participant's id"),
        ("index", f"{board.shards} shard(s) for {board.peak_writes_per_second:,} writes/s"),
        ("counters", f"{board.counter_mode.value}, {shards} counter shard(s)"),
        ("scale", _scale(board)),
        ("tree", f"{len(whole):,} node(s) on {depth} level(s), {len(counts):,} leaves, {growing} growing"),
        ("entries", f"{entries:,}; at most {fullest:,} in a leaf"),
        ("a leaf grows", f"at {shape.GROW_AT} entries, of one score at {shape.TIES_GROW_AT:,}"),
        ("a rank", f"entry 0.5 + tree {path_units:g} + {leaf}"),
        ("a rank, ladder warm", f"entry 0.5 + {leaf}"),
        ("a submission", _submission(board, depth)),
    ]


def _score(board: Board) -> str:
    parts = [f"{part.name} {part.kind.value} {part.order.value}" for part in board.components]
    return f"{', then '.join(parts)}; ties {board.tie_break.value}; policy {board.policy.value}"


def _period(board: Board, period: str) -> str:
    end, expiry = period_end(board, period), expires_at(board, period)
    if end is None or expiry is None:
        return f"{period}, without end"
    grace = board.retention.grace_hours
    return f"{period}, to {end.isoformat()}; late scores for {grace} hours; deleted from {expiry.isoformat()}"


def _scale(board: Board) -> str:
    kind = "linear" if shape.is_linear(board) else "logarithmic"
    children = len(shape.static_edges(board, ()) or ()) + 1
    levels = f"{shape.static_depth(board)} level(s) from the start"
    return f"{kind}, {children} children at the root, up to {shape.FANOUT} below, {levels}"


def _submission(board: Board, depth: int) -> str:
    entry = "1 write unit on the table, 2 on the index if the rank key moves"
    if len(board.periods) > 1:
        entry = f"in each of {len(board.periods)} periods {entry}"
    if board.counter_mode is CounterMode.STREAM:
        return f"{entry}; the stream's consumer writes each node that a batch touches once"
    more = "1 more on the table, and 2" if board.counter_mode is CounterMode.TRANSACTIONAL else "1"
    return f"{entry}; {more} for each of up to {2 * depth - 1} node(s) when it crosses a leaf's edge"
