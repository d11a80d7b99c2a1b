"""Results on disk, so that a run that was ended goes on where it was."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

_FOLDER = Path("build/bench")

T = TypeVar("T")


def once(name: str, measure: Callable[[], T]) -> T:
    """Give what an earlier run has measured under this name; else measure it, and keep it."""
    path = _FOLDER / f"{name.replace(' ', '-').replace(',', '')}.pickle"
    if path.exists():
        kept: T = pickle.loads(path.read_bytes())
        return kept
    found = measure()
    _FOLDER.mkdir(parents=True, exist_ok=True)
    path.write_bytes(pickle.dumps(found))
    return found


def forget() -> None:
    """Have everything measured again."""
    for path in _FOLDER.glob("*.pickle"):
        path.unlink()
