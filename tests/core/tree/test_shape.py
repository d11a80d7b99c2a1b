"""The nodes that a counter tree starts with."""

from bisect import bisect_right
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from core.domain.board import ComponentInput, define_board
from core.domain.errors import InvalidInput
from core.domain.model import Board, ScoreKind, SortOrder
from core.domain.rank_key import encode_score, width
from core.tree.node import Node
from core.tree.shape import FANOUT, Path, is_linear, static_depth, static_edges

NOW = datetime(2026, 11, 30, tzinfo=UTC)


@st.composite
def boards(draw: st.DrawFn) -> Board:
    """Draw a board of one component: of any kind, bounded on no, one or both sides, of any expected size."""
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
    """Draw a score's key: near the ends, near zero, or anywhere."""
    first = board.components[0]
    near = st.sampled_from([first.low, first.high, min(max(0, first.low), first.high)])
    value = draw(st.integers(first.low, first.high) | st.builds(int.__add__, near, st.integers(-3, 3)))
    return encode_score(board, [min(max(value, first.low), first.high)])


@given(st.data())
def test_static_nodes_cut_every_range_into_ranges_that_hold_scores(data: st.DataObject) -> None:
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
def test_a_linear_root_is_cut_evenly_and_any_other_by_powers_of_two(board: Board) -> None:
    first = board.components[0]
    distances = [int.from_bytes(edge, "big") for edge in static_edges(board, ()) or ()]
    gaps = [after - before for before, after in pairwise(distances)]
    if is_linear(board):
        assert len(set(gaps)) <= 1
        assert not gaps or first.high - first.low + 1 - distances[-1] <= gaps[0]
        return
    descending = first.order is SortOrder.DESCENDING
    values = sorted(first.high - distance if descending else first.low + distance for distance in distances)
    # Of two adjacent cuts the greater is at most eight times the other.
    for low, high in pairwise(values):
        sizes = sorted([abs(low), abs(high)])
        assert low * high <= 0 or sizes[1] <= 8 * sizes[0] + 8


@pytest.mark.parametrize("expected_size", [None, 10_000, 2_000_000])
@pytest.mark.parametrize("bounds", [{}, {"min": "0", "max": "200"}, {"min": "0", "max": "100000000"}])
def test_there_are_no_static_nodes_below_a_missing_one(
    bounds: dict[str, Any], expected_size: int | None
) -> None:
    """A board of two million has three levels, but below a single score only growth adds nodes."""
    board = define_board(id="b", now=NOW, components=[ComponentInput(**bounds)], expected_size=expected_size)
    root = static_edges(board, ())
    assert root
    for child in range(len(root) + 1):
        if static_edges(board, (child,)) is None:
            assert all(static_edges(board, (child, grandchild)) is None for grandchild in range(128))
