"""Python values as DynamoDB attribute values, both ways. Pure."""

from collections.abc import Mapping
from typing import Any

_KINDS = {type(None): "NULL", bool: "BOOL", bytes: "B"}


def pack(value: object) -> dict[str, Any]:
    """Return the attribute value of None, a bool, an int, bytes, a text, or a mapping or tuple of these."""
    if isinstance(value, Mapping):
        return {"M": {name: pack(each) for name, each in value.items()}}
    if isinstance(value, tuple):
        return {"L": [pack(each) for each in value]}
    if type(value) is int:
        return {"N": str(value)}
    return {_KINDS.get(type(value), "S"): True if value is None else value}


def unpack(value: Mapping[str, Any]) -> Any:
    """Return what `pack` was given."""
    [(kind, content)] = value.items()
    if kind == "M":
        return {name: unpack(each) for name, each in content.items()}
    if kind == "L":
        return tuple(unpack(each) for each in content)
    if kind == "NULL":
        return None
    return int(content) if kind == "N" else bytes(content) if kind == "B" else content
