"""The shape that a counter tree takes: how wide its leaves are, how deep it is, how many nodes it has."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace

import pytest

from bench.distributions import DISTRIBUTIONS, Distribution, Participant
from bench.growth_simulation import SimulatedNode, simulate
from core.domain.board import ComponentInput
from core.domain.model import Board, TieBreak
from core.domain.rank_key import encode, score_bytes
from core.tree.node import Node
from core.tree.shape import FANOUT, GROW_AT, TIES_GROW_AT, static_edges
from core.tree.split import choose_edges

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
def test_no_leaf_holds_more_than_it_may_and_no_path_is_long(
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
def test_ties_that_queue_up_stay_shallow(tie_break: TieBreak) -> None:
    board = replace(BY_NAME["all equal"].board(SIZE), tie_break=tie_break)
    keys = keys_of(board, BY_NAME["all equal"].participants(100_000))
    assert max(len(node.path) for node in simulate(board, keys)) <= 5


def test_scores_that_climb_stay_shallow() -> None:
    climbing = replace(BY_NAME["undeclared"], draw=lambda _: (0,))
    board = climbing.board(SIZE)
    participants = [
        replace(one, score=(10**12 + 7 * at,)) for at, one in enumerate(climbing.participants(100_000))
    ]
    assert max(len(node.path) for node in simulate(board, keys_of(board, participants))) <= 4


def test_few_scores_of_many_entries_have_no_nodes_of_their_own() -> None:
    dense = replace(BY_NAME["dense"], draw=lambda chance: (chance.randrange(24),))
    board, nodes = grown(dense)  # 500 entries a score
    assert {node.path for node in nodes} == {
        node.path for node in nodes if static_edges(board, node.path) is not None
    }


def test_a_declared_size_makes_as_few_nodes_as_it_needs() -> None:
    _, nodes = grown(BY_NAME["uniform"])
    assert len(nodes) == 1 + -(-SIZE // (FANOUT * 64))


@pytest.mark.parametrize("bounds", [("0", "2999"), ("-5", "123"), ("0", "16383")])
def test_a_range_that_the_levels_cover_comes_down_to_one_score_a_leaf(bounds: tuple[str, str]) -> None:
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
def test_edges_lie_inside_their_stretch_and_cut_no_score_that_has_company(distribution: Distribution) -> None:
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
