"""A table in a file: its items as lines of JSON, compressed page by page, to go on writing where it ended.

Each page is a gzip member of its own. How far a file is good is noted after it has reached the disk; whatever
a killed run has written behind that is cut off.
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
    """Write items behind the first `good` bytes of a file, for good; gives its length then."""
    page = gzip.compress("".join(f"{_line(item)}\n" for item in items).encode(), mtime=0)
    with path.open("r+b" if path.exists() else "w+b") as file:
        file.truncate(good)
        file.seek(good)
        file.write(page)
        file.flush()
        os.fsync(file.fileno())
    return good + len(page)


def read_items(path: Path) -> Iterator[dict[str, Any]]:
    """Read the items of a file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield _parse(json.loads(line))


def digest(path: Path) -> str:
    """Give what tells whether a file is still as it was written."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_json(path: Path, value: object) -> None:
    """Write a small file whole, or leave the one before."""
    fresh = path.with_name(path.name + ".new")
    with fresh.open("w", encoding="utf-8") as file:
        json.dump(value, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def _line(item: Item) -> str:
    return json.dumps(item, default=_text, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def _text(value: object) -> str:
    assert isinstance(value, bytes)  # noqa: S101 - nothing else of DynamoDB's is no JSON
    return base64.b64encode(value).decode()


def _parse(attribute: Any) -> Any:
    """Give binary values their bytes back, in maps and lists too."""
    return {name: _value(value) for name, value in attribute.items()}


def _value(value: dict[str, Any]) -> dict[str, Any]:
    (kind, content), *_ = value.items()
    if kind == "B":
        content = base64.b64decode(content)
    elif kind == "BS":
        content = [base64.b64decode(one) for one in content]
    elif kind == "M":
        content = _parse(content)
    elif kind == "L":
        content = [_value(one) for one in content]
    return {kind: content}
