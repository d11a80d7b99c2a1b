"""Simulate a counter tree's growth in memory, and return its items.

Entries arrive one after the other. A leaf that exceeds its capacity gets a node, whose edges are chosen from
the entries that have arrived by then; later entries fall into its leaves. The items are those of real nodes,
all settled.
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
from core.tree.edges import choose_edges
from core.tree.node import Node, edges_name, node_name
from core.tree.shape import Path, capacity, static_edges

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

# How many guards a node may have: a stream shard lasts some four hours, its guard a day.
GUARDS = (1, 4, 24, 32)
_BORN = 1_600_000_000_000  # milliseconds since 1970, before every entry was written
_SEQUENCE = 300_000_000_000_000_499_659  # as DynamoDB numbers a stream's records


@dataclass(frozen=True)
class SimulatedNode:
    """One node: its edges, the number of entries in each child, and the children that growth gave a node."""

    path: Path
    edges: tuple[bytes, ...]
    counts: Counter[int]
    grown: frozenset[int]
    born_static: bool
    touched: int  # entries that had arrived when the node was born


def simulate(board: Board, keys: Sequence[bytes]) -> list[SimulatedNode]:
    """Simulate growth for rank keys in the order of arrival."""
    nodes: list[SimulatedNode] = []
    _simulate(board, (), keys, b"", None, static_edges(board, ()) or (), nodes, touched=0)
    return nodes


def _simulate(
    board: Board,
    path: Path,
    keys: Sequence[bytes],
    low: bytes,
    high: bytes | None,
    edges: tuple[bytes, ...],
    nodes: list[SimulatedNode],
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
            _simulate(board, (*path, child), of_child, child_low, child_high, inner, nodes, touched=0)
        elif len(of_child) > (most := capacity(board, child_low, child_high)):
            arrived = sorted(of_child[: most + 1])
            inner = choose_edges(arrived, score_bytes(board), child_low, child_high)
            if inner:
                grown.add(child)
                _simulate(board, (*path, child), of_child, child_low, child_high, inner, nodes, len(arrived))
    nodes.append(
        SimulatedNode(
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
    """A tree's measures."""

    nodes: int
    levels: int
    leaves: int  # that hold an entry
    mean_leaf: float
    fullest_leaf: int
    largest_node: int  # bytes
    large_nodes: int  # over 1 KB
    touches: float  # an entry
    units: dict[int, float]  # of writing a node, by its number of guards


def shape_of(nodes: Sequence[SimulatedNode], standings: str) -> Shape:
    """Return a tree's measures."""
    inner = {node.path for node in nodes}
    leaves = [
        count for node in nodes for child, count in node.counts.items() if (*node.path, child) not in inner
    ]
    sizes = {
        guards: [item_bytes(item) for item in items(nodes, standings, guards) if "edges" not in item]
        for guards in GUARDS
    }
    return Shape(
        nodes=len(nodes),
        levels=1 + max(len(node.path) for node in nodes),
        leaves=len(leaves),
        mean_leaf=sum(leaves) / len(leaves),
        fullest_leaf=max(leaves),
        largest_node=max(sizes[1]),
        large_nodes=sum(size > 1024 for size in sizes[1]),
        touches=sum(node.touched for node in nodes) / sum(leaves),
        units={
            guards: sum(-(-size // 1024) for size in of_nodes) / len(of_nodes)
            for guards, of_nodes in sizes.items()
        },
    )


def items(nodes: Sequence[SimulatedNode], standings: str, guards: int = 1) -> Iterator[dict[str, Any]]:
    """Yield the items of a tree whose nodes have this many guards."""
    for node in nodes:
        item: dict[str, AttributeValueTypeDef] = node_key(standings, node_name(0, node.path))
        item["as_of"] = {"N": str(_BORN)}
        for shard in range(guards):
            item[guard_name(f"shard-{shard}")] = guard_value(_SEQUENCE, _BORN)
        for child, count in node.counts.items():
            item[f"c{child:02x}"] = {"N": str(count)}
        for child in node.grown:
            item[f"g{child:02x}"] = item[f"w{child:02x}"] = {"N": str(_BORN)}
            item[f"s{child:02x}"] = {"N": "1"}
        yield item
        if not node.born_static:
            yield {
                **node_key(standings, edges_name(0, node.path)),
                "edges": {"B": pack_edges(node.edges)},
                "born": {"N": str(_BORN)},
            }
