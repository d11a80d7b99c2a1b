"""Where full leaves are cut, and the counter trees that follow: width of leaves, depth, number of nodes."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench.distributions import DISTRIBUTIONS, Distribution, Participant
from bench.growth_simulation import SimulatedNode, simulate
from core.domain.board import ComponentInput
from core.domain.model import Board, TieBreak
from core.domain.rank_key import encode, just_above, score_bytes
from core.tree.edges import choose_edges
from core.tree.node import Node
from core.tree.shape import FANOUT, GROW_AT, TIES_GROW_AT, static_edges

SIZE = 12_000
BY_NAME = {one.name: one for one in DISTRIBUTIONS}


def keys_of(board: Board, participants: Sequence[Participant]) -> list[bytes]:
    return [encode(board, one.score, one.achieved_at, one.id) for one in participants]


def grown(
    distribution: Distribution, tie_break: TieBreak = TieBreak.EARLIEST
) -> tuple[Board, list[SimulatedNode]]:
    board = replace(distribution.board(SIZE), tie_break=tie_break)
    return board, simulate(board, keys_of(board, distribution.participants(SIZE)))


@pytest.mark.parametrize("tie_break", TieBreak)
@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda one: one.name)
def test_leaves_stay_within_their_capacity_and_paths_short(
    distribution: Distribution, tie_break: TieBreak
) -> None:
    _, nodes = grown(distribution, tie_break)
    inner = {(*node.path, child) for node in nodes for child in node.counts} & {node.path for node in nodes}
    leaves = {
        (*node.path, child): count
        for node in nodes
        for child, count in node.counts.items()
        if (*node.path, child) not in inner
    }
    assert sum(leaves.values()) == SIZE
    assert max(leaves.values()) <= TIES_GROW_AT
    assert max(map(len, leaves)) <= 5
    assert all(len(node.edges) < FANOUT for node in nodes)
    if len({one.score for one in distribution.participants(SIZE)}) == SIZE:
        assert max(leaves.values()) <= GROW_AT


@pytest.mark.parametrize("tie_break", TieBreak)
def test_a_growing_tie_stays_shallow(tie_break: TieBreak) -> None:
    board = replace(BY_NAME["all equal"].board(SIZE), tie_break=tie_break)
    keys = keys_of(board, BY_NAME["all equal"].participants(100_000))
    assert max(len(node.path) for node in simulate(board, keys)) <= 5


def test_rising_scores_stay_shallow() -> None:
    rising = replace(BY_NAME["undeclared"], draw=lambda _: (0,))
    board = rising.board(SIZE)
    participants = [
        replace(one, score=(10**12 + 7 * at,)) for at, one in enumerate(rising.participants(100_000))
    ]
    assert max(len(node.path) for node in simulate(board, keys_of(board, participants))) <= 4


def test_few_scores_with_many_entries_get_no_nodes_of_their_own() -> None:
    dense = replace(BY_NAME["dense"], draw=lambda chance: (chance.randrange(24),))
    board, nodes = grown(dense)  # 500 entries a score
    assert {node.path for node in nodes} == {
        node.path for node in nodes if static_edges(board, node.path) is not None
    }


def test_a_declared_size_makes_as_few_nodes_as_it_needs() -> None:
    _, nodes = grown(BY_NAME["uniform"])
    assert len(nodes) == 1 + -(-SIZE // (FANOUT * 64))


@pytest.mark.parametrize("bounds", [("0", "2999"), ("-5", "123"), ("0", "16383")])
def test_a_range_that_the_levels_cover_has_one_score_a_leaf(bounds: tuple[str, str]) -> None:
    board = replace(BY_NAME["dense"], components=(ComponentInput(min=bounds[0], max=bounds[1]),)).board(10**6)
    first = board.components[0]
    root = Node(static_edges(board, ()) or ())
    for score in (first.low, first.low + 1, first.high - 1, first.high):
        distance = (first.high - score).to_bytes(score_bytes(board), "big")
        child = root.child_of(distance)
        below = static_edges(board, (child,))
        if below is not None:
            assert distance in {b"".rjust(len(distance), b"\0"), *root.edges, *below}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=lambda one: one.name)
def test_edges_are_inside_their_range_and_fall_between_scores(distribution: Distribution) -> None:
    board = distribution.board(SIZE)
    keys = sorted(keys_of(board, distribution.participants(GROW_AT + 1)))
    length = score_bytes(board)
    low, high = keys[0][:length], keys[-1][:length] + b"\xff"
    edges = choose_edges(keys, length, low, high)
    assert list(edges) == sorted(set(edges))
    assert edges[0] > low
    assert edges[-1] < high
    assert len({bisect_left(edges, key) for key in keys}) > 1
    if keys[0][:length] != keys[-1][:length]:
        assert all(len(edge) <= length for edge in edges)


@st.composite
def leaves(draw: st.DrawFn) -> tuple[list[bytes], int, bytes, bytes | None]:
    """Draw a leaf's keys, the length of a score, and the leaf's range."""
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
def test_a_full_leaf_is_cut_inside_its_range_and_its_keys_spread(
    leaf: tuple[list[bytes], int, bytes, bytes | None],
) -> None:
    rising, length, low, high = leaf
    edges = choose_edges(rising, length, low, high)
    assert len(edges) < FANOUT
    assert all(before < after for before, after in pairwise([low, *edges, *([high] if high else [])]))
    held = Counter(bisect_right(edges, key) for key in rising)
    several = len({key[:length] for key in rising}) > 1
    by_score = Counter(key[:length] for key in rising)
    if several:
        assert all(edge[length:].strip(b"\0") == b"" or len(edge) == length + 1 for edge in edges)
    for child, count in held.items():
        inside = {key[:length] for key in rising if bisect_right(edges, key) == child}
        crowd = max(by_score[score] for score in inside) if several else 0
        assert count <= crowd + 2 + len(rising) // 25


def test_a_tie_whose_ids_are_prefixes_of_one_another_is_cut() -> None:
    rising = sorted(b"\x05" + ("p" + "x" * length).encode() for length in range(200))
    edges = choose_edges(rising, 1, b"", None)
    assert max(Counter(bisect_right(edges, key) for key in rising).values()) < 20
