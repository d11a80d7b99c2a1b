"""The counter tree's arithmetic: which nodes count an entry, and what stands before a key."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.domain.limits import MAX_RANK_KEY_BYTES
from core.tree.changes import Change
from core.tree.node import (
    Node,
    UnknownNode,
    child_range,
    correct_written_at,
    find_leaf,
    first_missed_birth,
    steps,
    trace,
)
from core.tree.shape import Path

NOW = datetime(2026, 11, 30, tzinfo=UTC)
LAST = b"\xff" * (MAX_RANK_KEY_BYTES + 1)


@dataclass
class Grown:
    """A tree of one-byte keys that has grown at random."""

    nodes: dict[Path, Node] = field(default_factory=dict)

    def counts(self, entries: Mapping[str, tuple[bytes, int]]) -> Counter[tuple[Path, int]]:
        """Count each entry by comparing it with every node's range and birth."""
        found = Counter[tuple[Path, int]]()
        for path in self.nodes:
            parents = [path[:at] for at in range(len(path) + 1)]
            for child in range(len(self.nodes[path].edges) + 1):
                low, high = child_range(self.nodes, path, child)
                found[path, child] = sum(
                    low <= key < (high or LAST) and all(written >= self.nodes[one].born for one in parents)
                    for key, written in entries.values()
                )
        return found


@st.composite
def trees(draw: st.DrawFn) -> Grown:
    tree = Grown({(): Node(tuple(draw(edges_between(0, 256))), known_at=1_000)})
    for _ in range(draw(st.integers(0, 6))):
        path = draw(st.sampled_from(sorted(tree.nodes)))
        node = tree.nodes[path]
        child = draw(st.integers(0, len(node.edges)))
        low, high = child_range(tree.nodes, path, child)
        within = draw(edges_between(low[0] if low else 0, high[0] if high else 256))
        if child in node.grown or not within:
            continue
        born = draw(st.integers(0, 12))
        settled = node.settled | ({child} if draw(st.booleans()) else set())
        tree.nodes[path] = Node(
            node.edges, node.born, {**node.grown, child: born}, frozenset(settled), known_at=1_000
        )
        tree.nodes[(*path, child)] = Node(tuple(within), born, known_at=1_000)
    return tree


def edges_between(low: int, high: int) -> st.SearchStrategy[list[bytes]]:
    if high - low < 2:
        return st.just([])
    inside = st.integers(low + 1, high - 1).map(lambda edge: bytes([edge]))
    return st.lists(inside, max_size=5, unique=True).map(sorted)


entries = st.none() | st.tuples(st.binary(min_size=1, max_size=2), st.integers(0, 14))
histories = st.lists(st.tuples(st.sampled_from("abcd"), entries), max_size=25)


def image(entry: tuple[bytes, int] | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    key, written = entry
    return {"rank_key": {"B": key}, "rank_shard": {"S": "x"}, "written_at": {"N": str(written)}}


def changes_of(history: Sequence[tuple[str, tuple[bytes, int] | None]]) -> list[Change]:
    standing: dict[str, tuple[bytes, int] | None] = {}
    made = []
    for at, (who, entry) in enumerate(history):
        old = standing.get(who)
        if old or entry:
            made.append(Change(at, NOW, "s", who, image(old), image(entry)))
        standing[who] = entry
    return made


@given(trees(), histories)
def test_steps_add_up_to_what_each_node_should_count(
    tree: Grown, history: list[tuple[str, tuple[bytes, int] | None]]
) -> None:
    """Whenever nodes were born, and in whatever batches the changes come."""
    counted = Counter[tuple[Path, int]]()
    changes = changes_of(history)
    for start in range(0, len(changes), 3):
        for path, of_node in steps(tree.nodes, changes[start : start + 3], lead=100).items():
            assert [step.sequence for step in of_node] == sorted(step.sequence for step in of_node)
            for step in of_node:
                counted[path, step.child] += step.by
    standing = {who: entry for who, entry in dict(history).items() if entry}
    assert +counted == +tree.counts(standing)
    assert not any(count < 0 for count in counted.values())


@given(trees(), st.lists(st.binary(min_size=1, max_size=2), unique=True), st.binary(min_size=1, max_size=2))
def test_the_entries_before_a_key_are_the_sum_of_its_path_and_some_of_its_leaf(
    tree: Grown, rising: list[bytes], key: bytes
) -> None:
    counts = tree.counts({str(at): (one, 1_000) for at, one in enumerate(rising)})
    leaf = find_leaf(tree.nodes, key)
    coarse = sum(counts[path, at] for path, child in leaf.before for at in range(child))
    assert leaf.low <= key < (leaf.high or LAST)
    assert coarse == sum(one < leaf.low for one in rising)
    assert coarse + sum(leaf.low <= one < key for one in rising) == bisect_left(sorted(rising), key)


@given(trees(), st.binary(min_size=1, max_size=2), st.integers(0, 14), st.integers(0, 14))
def test_an_entry_is_late_if_a_node_born_by_then_misses_it(
    tree: Grown, key: bytes, written: int, due: int
) -> None:
    path: Path = ()
    missing = []
    while path in tree.nodes:
        if written < tree.nodes[path].born:
            missing.append(tree.nodes[path].born)
        path = (*path, tree.nodes[path].child_of(key))
    found = image((key, written))
    assert found is not None
    # A node's children are born after it, so the first to miss an entry decides; here births are random.
    expected = missing[0] if missing and missing[0] <= due else None
    assert first_missed_birth(tree.nodes, tree.nodes[()].born, found, due) == expected


def test_a_node_is_read_again_after_its_lead() -> None:
    nodes: dict[Path, Node] = {(): Node((b"\x05",), grown={0: 50}, known_at=100)}
    assert trace(nodes, b"\x07", 120, lead=20) == [((), 1)]
    with pytest.raises(UnknownNode) as unknown:
        trace(nodes, b"\x07", 121, lead=20)
    assert unknown.value.path == ()
    with pytest.raises(UnknownNode) as unknown:
        trace(nodes, b"\x02", 50, lead=20)
    assert unknown.value.path == (0,)


def test_an_entry_from_the_future_is_taken_as_written_at_another_time() -> None:
    found = image((b"\x01", 1_000))
    assert correct_written_at(found, 1_000, 0) is found
    assert correct_written_at(found, 999, 7) == image((b"\x01", 7))
    assert correct_written_at(None, 0, 0) is None
