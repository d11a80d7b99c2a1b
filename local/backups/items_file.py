"""Files of DynamoDB items: lines of JSON, compressed page by page so that a killed run can be resumed.

Each page is a gzip member. The caller stores a file's valid length after the page has reached the disk; the
next write cuts off what a killed run wrote beyond it.
"""

import base64
import gzip
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

Item = Mapping[str, Any]


def append_page(path: Path, good: int, items: Sequence[Item]) -> int:
    """Write items after the first `good` bytes of a file and flush them to disk; return the new length."""
    page = gzip.compress("".join(f"{_to_json(item)}\n" for item in items).encode(), mtime=0)
    with path.open("r+b" if path.exists() else "w+b") as file:
        file.truncate(good)
        file.seek(good)
        file.write(page)
        file.flush()
        os.fsync(file.fileno())
    return good + len(page)


def read_items(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the items of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield _parse(json.loads(line))


def digest(path: Path) -> str:
    """Return a file's SHA-256 digest."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, value: object) -> None:
    """Replace a file in one step: after a crash it is the old one or the new one."""
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _to_json(item: Item) -> str:
    return json.dumps(item, default=_base64, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _base64(value: object) -> str:
    assert isinstance(value, bytes)  # noqa: S101 - the only type of DynamoDB that JSON lacks
    return base64.b64encode(value).decode()


def _parse(attributes: Any) -> Any:
    """Return attributes with their binary values decoded, in maps and lists too."""
    return {name: _value(value) for name, value in attributes.items()}


def _value(value: dict[str, Any]) -> dict[str, Any]:
    (kind, content), *_ = value.items()
    if kind == "B":
        content = base64.b64decode(content)
    elif kind == "BS":
        content = [base64.b64decode(element) for element in content]
    elif kind == "M":
        content = _parse(content)
    elif kind == "L":
        content = [_value(element) for element in content]
    return {kind: content}
