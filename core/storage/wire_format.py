"""DynamoDB's JSON: items whose binary values are bytes in Python and base64 in transit."""

import json
from binascii import a2b_base64, b2a_base64
from collections.abc import Callable
from typing import Any

Item = dict[str, dict[str, Any]]


def encode(params: dict[str, Any]) -> bytes:
    """Return the body of a request; binary values must be bytes.

    Raises:
        TypeError: a value is none that JSON or DynamoDB has.
    """
    return _encoder.encode(params).encode()


def decode(body: bytes) -> dict[str, Any]:
    """Return the answer to a request, whichever of the operations on items it is to."""
    answer: dict[str, Any] = json.loads(body)
    if b'"B' in body:  # else it holds no binary value
        for name, decode_member in _MEMBERS.items():
            if name in answer:
                decode_member(answer[name])
    return answer


def _encode_binary(value: object) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return b2a_base64(value, newline=False).decode()
    raise TypeError(f"a value of type {type(value).__name__} is not one of DynamoDB's")


_encoder = json.JSONEncoder(separators=(",", ":"), check_circular=False, default=_encode_binary)


def _decode_item(item: Item) -> None:
    for value in item.values():
        (kind,) = value  # DynamoDB describes each value by one kind
        if kind in _KINDS:
            value[kind] = _KINDS[kind](value[kind])


def _decode_items(items: list[Item]) -> None:
    for item in items:
        _decode_item(item)


def _decode_responses(responses: Any) -> None:
    if isinstance(responses, list):  # of TransactGetItems
        for response in responses:
            _decode_item(response.get("Item", {}))
    else:  # of BatchGetItem
        for items in responses.values():
            _decode_items(items)


def _decode_keys(unprocessed: dict[str, Any]) -> None:
    for keys in unprocessed.values():
        _decode_items(keys["Keys"])


def _decode_requests(unprocessed: dict[str, Any]) -> None:
    for requests in unprocessed.values():
        for request in requests:
            _decode_item(
                request["PutRequest"]["Item"] if "PutRequest" in request else request["DeleteRequest"]["Key"]
            )


def _decode_collections(metrics: Any) -> None:
    tables = metrics.values() if "ItemCollectionKey" not in metrics else [[metrics]]
    for collections in tables:
        for collection in collections:
            _decode_item(collection["ItemCollectionKey"])


def _map(value: Item) -> Item:
    _decode_item(value)
    return value


def _list(values: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for value in values:
        _decode_item({"": value})
    return values


def _set(values: list[str]) -> list[bytes]:
    return [a2b_base64(value) for value in values]


_KINDS: dict[str, Callable[[Any], Any]] = {"B": a2b_base64, "BS": _set, "M": _map, "L": _list}
_MEMBERS: dict[str, Callable[[Any], None]] = {
    "Item": _decode_item,
    "Attributes": _decode_item,
    "Items": _decode_items,
    "LastEvaluatedKey": _decode_item,
    "Responses": _decode_responses,
    "UnprocessedKeys": _decode_keys,
    "UnprocessedItems": _decode_requests,
    "ItemCollectionMetrics": _decode_collections,
}
