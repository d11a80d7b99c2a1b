"""The size of an item as DynamoDB bills it: names and values."""

from collections.abc import Mapping
from typing import Any


def item_bytes(item: Mapping[str, Any]) -> int:
    """Return an item's size in bytes."""
    return sum(len(name) + _value_bytes(value) for name, value in item.items())


def _value_bytes(value: Mapping[str, Any]) -> int:
    kind, content = next(iter(value.items()))
    if kind == "S":
        return len(content.encode())
    if kind == "B":
        return len(content)
    if kind == "N":  # a byte, and one for every two digits
        return 1 + (len(content.strip("-0").replace(".", "")) + 1) // 2
    if kind == "L":
        return 3 + sum(1 + _value_bytes(one) for one in content)
    if kind == "M":
        return 3 + sum(1 + len(name) + _value_bytes(one) for name, one in content.items())
    return 1
