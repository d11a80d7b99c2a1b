"""A backup's folder: a file for each segment of each table, and `backup.json` with the state of each."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from local.backups.items_file import digest, write_json
from local.errors import StackError

SEGMENTS = {"boards": 1, "records": 2, "receipts": 2, "scores": 6}  # of each table's parallel scan
_STATE = "backup.json"
_VERSION = 1


@dataclass
class Part:
    """One segment of a table: its file, how much of the file is valid, and where the scan continues."""

    table: str
    segment: int
    good: int = 0  # bytes of the file that are valid
    items: int = 0
    start: dict[str, Any] | None = None
    complete: bool = False
    sha256: str = ""

    @property
    def file(self) -> str:
        """The file's name."""
        return f"{self.table}-{self.segment}.jsonl.gz"


def load_parts(folder: Path, stack: str) -> list[Part]:
    """Return the parts of an interrupted backup of this stack, or those of a new one.

    Raises:
        StackError: the folder holds a backup of another stack.
    """
    if not (folder / _STATE).exists():
        return [Part(table, segment) for table, count in SEGMENTS.items() for segment in range(count)]
    state = _read(folder)
    if state["stack"] != stack:
        raise StackError(f"{folder} holds a backup of another stack; choose another folder")
    return [Part(**part) for part in state["parts"]]


def save_parts(folder: Path, stack: str, parts: Sequence[Part]) -> None:
    """Write the state of the parts, and when the backup began."""
    began = _read(folder)["began"] if (folder / _STATE).exists() else datetime.now(UTC).isoformat()
    state = {"version": _VERSION, "stack": stack, "began": began}
    write_json(folder / _STATE, state | {"parts": [asdict(part) for part in parts]})


def complete_since(folder: Path, stack: str) -> str | None:
    """Return when the complete backup in a folder began; None if there is none."""
    if not (folder / _STATE).exists() or not all(part.complete for part in load_parts(folder, stack)):
        return None
    return str(_read(folder)["began"])


def open_complete(folder: Path) -> tuple[str, list[Part]]:
    """Return a complete backup's id and parts.

    Raises:
        StackError: the backup is missing, not complete, or a file is not as it was written.
    """
    try:
        parts = [Part(**part) for part in _read(folder)["parts"]]
        if not all(part.complete for part in parts):
            raise StackError(f"the backup in {folder} is not complete: run leaderboard backup {folder} again")
        for part in parts:
            if digest(folder / part.file) != part.sha256:
                raise StackError(f"{folder / part.file} is not as it was written")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StackError(f"{folder} holds no readable backup: {error}") from None
    return "".join(part.sha256[:8] for part in parts), parts


def _read(folder: Path) -> Any:
    return json.loads((folder / _STATE).read_text(encoding="utf-8"))
