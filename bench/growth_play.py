"""A board's counter tree as growth would have left it, played in memory.

Entries arrive one after the other. A leaf that has taken more than it may hold gets a node of its own, cut
where those stand that are there at that moment; what comes later falls into the new leaves. The nodes
hold what real ones do, and all have settled.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bench.sizes import item_bytes
from core.counters.guard import guard_name, guard_value
from core.counters.nodes import node_key, pack_edges
from core.domain.model import Board
from core.domain.rank_key import score_bytes
from core.tree.node import Node, edges_name, node_name
from core.tree.shape import Path, capacity, static_edges
from core.tree.split import choose_edges

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

# A stream shard lasts some four hours and its guard a day: so many at once of four partitions, and at most.
GUARDS = (1, 4, 24, 32)
_BORN = 1_600_000_000_000  # milliseconds since 1970, before every entry was written
_SEQUENCE = 300_000_000_000_000_499_659  # as DynamoDB numbers a stream's records


@dataclass(frozen=True)
class Played:
    """One node: its edges, the entries under each child, which children have nodes, which of those grew."""

    path: Path
    edges: tuple[bytes, ...]
    counts: Counter[int]
    grown: frozenset[int]
    born_static: bool
    touched: int  # entries that were there already when it grew


def play(board: Board, keys: Sequence[bytes]) -> list[Played]:
    """Play a tree's growth under rank keys in the order of their arrival."""
    played: list[Played] = []
    _play(board, (), keys, b"", None, static_edges(board, ()) or (), played, touched=0)
    return played


def _play(
    board: Board,
    path: Path,
    keys: Sequence[bytes],
    low: bytes,
    high: bytes | None,
    edges: tuple[bytes, ...],
    played: list[Played],
    touched: int,
) -> None:
    under: dict[int, list[bytes]] = {}
    for key in keys:
        under.setdefault(bisect_right(edges, key), []).append(key)
    node = Node(edges)
    grown = set()
    for child, of_child in under.items():
        child_low, child_high = node.bounds(child, low, high)
        inner = static_edges(board, (*path, child))
        if inner is not None:
            _play(board, (*path, child), of_child, child_low, child_high, inner, played, touched=0)
        elif len(of_child) > (most := capacity(board, child_low, child_high)):
            seen = sorted(of_child[: most + 1])
            inner = choose_edges(seen, score_bytes(board), child_low, child_high)
            if inner:
                grown.add(child)
                _play(board, (*path, child), of_child, child_low, child_high, inner, played, len(seen))
    played.append(
        Played(
            path,
            edges,
            Counter({child: len(of_child) for child, of_child in under.items()}),
            frozenset(grown),
            static_edges(board, path) is not None,
            touched,
        )
    )


@dataclass(frozen=True)
class Shape:
    """What a tree looks like as a whole."""

    nodes: int
    levels: int
    leaves: int  # that hold any entry
    mean_leaf: float
    fullest_leaf: int
    largest_node: int  # bytes
    large_nodes: int  # over 1 KB
    touches: float  # an entry
    units: dict[int, float]  # of writing a node, by how many stream shards it is guarded against


def shape_of(played: Sequence[Played], standings: str) -> Shape:
    """Describe a tree."""
    inner = {node.path for node in played}
    leaves = [
        count for node in played for child, count in node.counts.items() if (*node.path, child) not in inner
    ]
    sizes = {
        guards: [item_bytes(item) for item in items(played, standings, guards) if "edges" not in item]
        for guards in GUARDS
    }
    return Shape(
        nodes=len(played),
        levels=1 + max(len(node.path) for node in played),
        leaves=len(leaves),
        mean_leaf=sum(leaves) / len(leaves),
        fullest_leaf=max(leaves),
        largest_node=max(sizes[1]),
        large_nodes=sum(size > 1024 for size in sizes[1]),
        touches=sum(node.touched for node in played) / sum(leaves),
        units={
            guards: sum(-(-size // 1024) for size in of_nodes) / len(of_nodes)
            for guards, of_nodes in sizes.items()
        },
    )


def items(played: Sequence[Played], standings: str, guards: int = 1) -> Iterator[dict[str, Any]]:
    """Give the items of a played tree, guarded against so many stream shards."""
    for one in played:
        item: dict[str, AttributeValueTypeDef] = node_key(standings, node_name(0, one.path))
        item["as_of"] = {"N": str(_BORN)}
        for shard in range(guards):
            item[guard_name(f"shard-{shard}")] = guard_value(_SEQUENCE, _BORN)
        for child, count in one.counts.items():
            item[f"c{child:02x}"] = {"N": str(count)}
        for child in one.grown:
            item[f"g{child:02x}"] = item[f"w{child:02x}"] = {"N": str(_BORN)}
            item[f"s{child:02x}"] = {"N": "1"}
        yield item
        if not one.born_static:
            yield {
                **node_key(standings, edges_name(0, one.path)),
                "edges": {"B": pack_edges(one.edges)},
                "born": {"N": str(_BORN)},
            }
