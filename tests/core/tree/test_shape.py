"""The scale that a tree starts with."""

from datetime import UTC, datetime

import pytest

from core.domain.board import ComponentInput, define_board
from core.tree.shape import static_edges


@pytest.mark.parametrize("expected_size", [None, 10_000, 2_000_000])
@pytest.mark.parametrize("bounds", [{}, {"min": "0", "max": "200"}, {"min": "0", "max": "100000000"}])
def test_nothing_is_there_below_what_is_not_there(bounds: dict[str, str], expected_size: int | None) -> None:
    """A board of two million has three levels; but below one score, only what has grown."""
    board = define_board(
        id="b", now=datetime.now(UTC), components=[ComponentInput(**bounds)], expected_size=expected_size
    )
    root = static_edges(board, ())
    assert root
    for child in range(len(root) + 1):
        if static_edges(board, (child,)) is None:
            assert all(static_edges(board, (child, grandchild)) is None for grandchild in range(128))
