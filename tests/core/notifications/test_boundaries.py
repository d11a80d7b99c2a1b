"""Where boundaries are looked for in the counter tree."""

import pytest

from core.notifications.boundaries import _child_at


@pytest.mark.parametrize(
    ("place", "child", "before"),
    [
        (101, 1, 100),
        (103, 1, 100),
        (104, 4, 103),
        (105, 4, 103),
        (106, 4, 103),  # the node's counts were read after its parent's: look on from the last child
    ],
)
def test_the_child_that_holds_a_place(place: int, child: int, before: int) -> None:
    assert _child_at({4: 2, 0: 0, 1: 3, 7: -1}, place, 100) == (child, before)


def test_a_node_without_entries() -> None:
    assert _child_at({0: 0}, 1, 100) == (0, 100)
