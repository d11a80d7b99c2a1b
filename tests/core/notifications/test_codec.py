"""Values as attribute values, there and back."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.notifications.codec import pack, unpack
from core.notifications.events import RankChangeCause

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.binary() | st.text(),
    lambda values: st.lists(values).map(tuple) | st.dictionaries(st.text(), values),
)


@given(VALUES)
def test_a_value_is_unpacked_as_it_was_packed(value: Any) -> None:
    unpacked = unpack(pack(value))
    assert unpacked == value
    assert type(unpacked) is type(value)


@pytest.mark.parametrize(
    ("value", "packed"),
    [
        (None, {"NULL": True}),
        (True, {"BOOL": True}),
        (1, {"N": "1"}),
        (b"\x00", {"B": b"\x00"}),
        (RankChangeCause.OTHERS, {"S": "OTHERS"}),
        ((1, "a"), {"L": [{"N": "1"}, {"S": "a"}]}),
        ({"a": False}, {"M": {"a": {"BOOL": False}}}),
    ],
)
def test_each_kind_has_its_type(value: Any, packed: dict[str, Any]) -> None:
    assert pack(value) == packed
