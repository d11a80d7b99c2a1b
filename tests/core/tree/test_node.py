"""The counter tree's arithmetic: where it starts, where it is cut, and who counts whom. No database."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from core.domain.board import ComponentInput, define_board
from core.domain.errors import InvalidInput
from core.domain.limits import MAX_RANK_KEY_BYTES
from core.domain.model import Board, ScoreKind, SortOrder
from core.domain.rank_key import encode_score, just_above, just_below, width
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
from core.tree.shape import FANOUT, Path, is_linear, static_depth, static_edges
from core.tree.split import choose_edges

NOW = datetime(2026, 11, 30, tzinfo=UTC)
LAST = b"\xff" * (MAX_RANK_KEY_BYTES + 1)

# The scale


@st.composite
def boards(draw: st.DrawFn) -> Board:
    """Boards of one component: any kind, bounded on no, one or both sides, of any expected size."""
    kind = draw(st.sampled_from(ScoreKind))
    decimals = 0 if kind is ScoreKind.INTEGER else draw(st.sampled_from([0, 1, 3, 18]))
    bounds = sorted(draw(st.tuples(*[st.integers(-(10**18), 10**18) | st.integers(-300, 300)] * 2)))
    low, high = (None if draw(st.booleans()) or kind is ScoreKind.TIMESTAMP else str(one) for one in bounds)
    shape = ComponentInput(
        kind=kind, order=draw(st.sampled_from(SortOrder)), decimals=decimals, min=low, max=high
    )
    size = draw(st.sampled_from([None, 1, 8_192, 8_193, 10**6, 10**9]))
    try:
        return define_board(id="b", now=NOW, components=[shape], expected_size=size)
    except InvalidInput:  # out of what 64 bits hold
        reject()


@st.composite
def scores_of(draw: st.DrawFn, board: Board) -> bytes:
    """A score's key: near the ends, near zero, or anywhere."""
    first = board.components[0]
    near = st.sampled_from([first.low, first.high, min(max(0, first.low), first.high)])
    value = draw(st.integers(first.low, first.high) | st.builds(int.__add__, near, st.integers(-3, 3)))
    return encode_score(board, [min(max(value, first.low), first.high)])


@given(st.data())
def test_the_scale_cuts_every_range_into_stretches_that_hold_scores(data: st.DataObject) -> None:
    board = data.draw(boards())
    first = board.components[0]
    key = data.draw(scores_of(board))
    low, high = b"\0" * width(first), None
    path: Path = ()
    while (edges := static_edges(board, path)) is not None:
        assert len(path) < static_depth(board)
        assert len(edges) < FANOUT
        assert all(len(edge) == width(first) for edge in edges)
        bounds = [low, *edges, *([high] if high else [])]
        assert all(one < other for one, other in pairwise(bounds))
        assert not edges or edges[-1] <= (first.high - first.low).to_bytes(width(first), "big")
        if not path and first.low < first.high:
            assert edges
        child = bisect_right(edges, key)
        low, high = Node(edges).bounds(child, low, high)
        path = (*path, child)
        assert low <= key
        assert high is None or key < high
    assert len(path) >= 1


@given(boards())
def test_a_linear_root_is_even_and_another_doubles(board: Board) -> None:
    first = board.components[0]
    distances = [int.from_bytes(edge, "big") for edge in static_edges(board, ()) or ()]
    gaps = [other - one for one, other in pairwise(distances)]
    if is_linear(board):
        assert len(set(gaps)) <= 1
        assert not gaps or first.high - first.low + 1 - distances[-1] <= gaps[0]
        return
    descending = first.order is SortOrder.DESCENDING
    values = sorted(first.high - one if descending else first.low + one for one in distances)
    # Between two cuts, the greater is at most eight times the other: a score and its octave's are near.
    for one, other in pairwise(values):
        sizes = sorted([abs(one), abs(other)])
        assert one * other <= 0 or sizes[1] <= 8 * sizes[0] + 8


# Bounds of keys


keys = st.builds(
    lambda head, name: (head + name.encode())[-MAX_RANK_KEY_BYTES:],
    st.binary(max_size=40)
    | st.text("\x00\x01\xfe\xff", max_size=12).map(lambda text: text.encode("latin-1")),
    st.text(min_size=1, max_size=8),
)
cuts = keys | st.binary(min_size=1, max_size=12) | st.lists(st.sampled_from([0, 1, 254, 255])).map(bytes)


@given(keys, cuts)
def test_just_below_a_cut_is_all_that_is_below_it(key: bytes, cut: bytes) -> None:
    bound = just_below(cut)
    assert (key < cut) == (bound is not None and key <= bound)
    assert bound is None or len(bound) <= MAX_RANK_KEY_BYTES


@given(keys, st.integers(0, 20))
def test_just_below_holds_beside_the_cut_itself(key: bytes, length: int) -> None:
    """Cuts are often the beginnings of keys that are there."""
    cut = key[:length]
    bound = just_below(cut)
    assert bound is None or bound < cut or not cut
    assert bound is None or key > bound or key < cut


@given(st.binary(min_size=1, max_size=17), st.text(min_size=1, max_size=8), keys)
def test_just_above_a_score_is_above_its_ties_alone(score: bytes, name: str, other: bytes) -> None:
    cut = just_above(score)
    assert score + name.encode() < cut
    if not other.startswith(score):
        assert (other < cut) == (other < score)


# Where a full leaf is cut


@st.composite
def leaves(draw: st.DrawFn) -> tuple[list[bytes], int, bytes, bytes | None]:
    """A leaf's keys, the length of a score, and the leaf's child_range."""
    length = draw(st.integers(1, 9))
    tie_break = draw(st.sampled_from([b"", b"\x80\x06\x65\x17\x28\x98\x80"]))
    most = draw(st.sampled_from([1, 3, 60, 300, 1 << (8 * length)]))
    start = draw(st.integers(0, max(0, (1 << (8 * length)) - most)))
    chance = Random(draw(st.integers(0, 1 << 30)))
    alphabet = draw(st.sampled_from(["a", "abc", "é🏁x"]))
    found = set()
    for _ in range(draw(st.integers(130, 400))):
        score = min(start + chance.randrange(most), (1 << (8 * length)) - 1).to_bytes(length, "big")
        name = "".join(chance.choices(alphabet, k=chance.randint(1, 9 if len(alphabet) > 1 else 400)))
        found.add(score + (tie_break and tie_break + bytes([chance.randrange(256)])) + name.encode())
    rising = sorted(found)
    assume(len(rising) > 1)
    low = draw(st.sampled_from([b"", rising[0][:length], rising[0]]))
    high = draw(st.sampled_from([None, just_above(rising[-1][:length]), rising[-1] + b"\0"]))
    return rising, length, low, high


@given(leaves())
def test_a_full_leaf_is_cut_inside_and_spreads(leaf: tuple[list[bytes], int, bytes, bytes | None]) -> None:
    rising, length, low, high = leaf
    edges = choose_edges(rising, length, low, high)
    assert len(edges) < FANOUT
    assert all(one < other for one, other in pairwise([low, *edges, *([high] if high else [])]))
    held = Counter(bisect_right(edges, key) for key in rising)
    several = len({key[:length] for key in rising}) > 1
    by_score = Counter(key[:length] for key in rising)
    if several:
        assert all(edge[length:].strip(b"\0") == b"" or len(edge) == length + 1 for edge in edges)
    for child, count in held.items():
        inside = {key[:length] for key in rising if bisect_right(edges, key) == child}
        crowd = max(by_score[score] for score in inside) if several else 0
        assert count <= crowd + 2 + len(rising) // 25


def test_ties_of_which_one_id_begins_the_others_are_cut_too() -> None:
    rising = sorted(b"\x05" + ("p" + "x" * length).encode() for length in range(200))
    edges = choose_edges(rising, 1, b"", None)
    assert max(Counter(bisect_right(edges, key) for key in rising).values()) < 20


# Who counts whom


@dataclass
class Grown:
    """A tree of one-byte keys that has grown at random."""

    nodes: dict[Path, Node] = field(default_factory=dict)

    def counts(self, entries: Mapping[str, tuple[bytes, int]]) -> Counter[tuple[Path, int]]:
        """Count each entry where it belongs, by comparing it with every node's child_range and birth."""
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
lives = st.lists(st.tuples(st.sampled_from("abcd"), entries), max_size=25)


def image(entry: tuple[bytes, int] | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    key, written = entry
    return {"rank_key": {"B": key}, "rank_shard": {"S": "x"}, "written_at": {"N": str(written)}}


def changes_of(life: Sequence[tuple[str, tuple[bytes, int] | None]]) -> list[Change]:
    standing: dict[str, tuple[bytes, int] | None] = {}
    made = []
    for at, (who, entry) in enumerate(life):
        old = standing.get(who)
        if old or entry:
            made.append(Change(at, NOW, "s", who, image(old), image(entry)))
        standing[who] = entry
    return made


@given(trees(), lives)
def test_steps_add_up_to_what_each_node_should_count(
    tree: Grown, life: list[tuple[str, tuple[bytes, int] | None]]
) -> None:
    """Whatever has grown when, and in whatever pieces the changes come."""
    counted = Counter[tuple[Path, int]]()
    changes = changes_of(life)
    for start in range(0, len(changes), 3):
        for path, of_node in steps(tree.nodes, changes[start : start + 3], lead=100).items():
            assert [step.sequence for step in of_node] == sorted(step.sequence for step in of_node)
            for step in of_node:
                counted[path, step.child] += step.by
    standing = {who: entry for who, entry in dict(life).items() if entry}
    assert +counted == +tree.counts(standing)
    assert not any(count < 0 for count in counted.values())


@given(trees(), st.lists(st.binary(min_size=1, max_size=2), unique=True), st.binary(min_size=1, max_size=2))
def test_what_stands_before_a_key_is_its_path_summed_and_the_rest_of_its_leaf(
    tree: Grown, rising: list[bytes], key: bytes
) -> None:
    counts = tree.counts({str(at): (one, 1_000) for at, one in enumerate(rising)})
    leaf = find_leaf(tree.nodes, key)
    coarse = sum(counts[path, at] for path, child in leaf.before for at in range(child))
    assert leaf.low <= key < (leaf.high or LAST)
    assert coarse == sum(one < leaf.low for one in rising)
    assert coarse + sum(leaf.low <= one < key for one in rising) == bisect_left(sorted(rising), key)


@given(trees(), st.binary(min_size=1, max_size=2), st.integers(0, 14), st.integers(0, 14))
def test_an_entry_is_late_where_a_node_born_by_then_misses_it(
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
    # A node's children are born after it, so the first that misses an entry tells; here births are random.
    expected = missing[0] if missing and missing[0] <= due else None
    assert first_missed_birth(tree.nodes, tree.nodes[()].born, found, due) == expected


def test_a_node_is_read_again_before_it_is_trusted_for_longer() -> None:
    nodes = {(): Node((b"\x05",), grown={0: 50}, known_at=100)}
    assert trace(nodes, b"\x07", 120, lead=20) == [((), 1)]
    with pytest.raises(UnknownNode) as unknown:
        trace(nodes, b"\x07", 121, lead=20)
    assert unknown.value.path == ()
    with pytest.raises(UnknownNode) as unknown:
        trace(nodes, b"\x02", 50, lead=20)
    assert unknown.value.path == (0,)


def test_an_entry_from_the_future_is_taken_for_one_of_another_time() -> None:
    found = image((b"\x01", 1_000))
    assert correct_written_at(found, 1_000, 0) is found
    assert correct_written_at(found, 999, 7) == image((b"\x01", 7))
    assert correct_written_at(None, 0, 0) is None
