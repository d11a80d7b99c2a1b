"""Python values as DynamoDB's attribute values, both ways. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any


def pack(value: object) -> dict[str, Any]:
    """Return an attribute value: of None, a bool, an int, bytes, a text, a mapping, or a list of such."""
    match value:
        case None:
            return {"NULL": True}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case bytes():
            return {"B": value}
        case str():
            return {"S": str(value)}
        case Mapping():
            return {"M": {name: pack(each) for name, each in value.items()}}
        case Iterable():
            return {"L": [pack(each) for each in value]}
    raise TypeError(f"no attribute value for {type(value)}")


def unpack(value: Mapping[str, Any]) -> Any:
    """Return what `pack` was given, a list as a tuple."""
    match value:
        case {"N": number}:
            return int(number)
        case {"B": content}:
            return bytes(content)
        case {"M": members}:
            return {name: unpack(each) for name, each in members.items()}
        case {"L": members}:
            return tuple(unpack(each) for each in members)
    return value.get("S", value.get("BOOL"))  # neither in a NULL
