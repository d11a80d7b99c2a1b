"""Results stored on disk, so that an interrupted run can be resumed."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

_FOLDER = Path("build/bench")

T = TypeVar("T")


def once(name: str, measure: Callable[[], T]) -> T:
    """Return what an earlier run measured under this name, or measure and store it."""
    path = _FOLDER / f"{name.replace(' ', '-').replace(',', '')}.pickle"
    if path.exists():
        kept: T = pickle.loads(path.read_bytes())
        return kept
    found = measure()
    _FOLDER.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(found))
    return found


def forget() -> None:
    """Delete all stored results."""
    for path in _FOLDER.glob("*.pickle"):
        path.unlink()
