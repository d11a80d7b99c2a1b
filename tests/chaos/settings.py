"""Let runs be quick: no pauses before retries, small leaves, nodes born at once."""

import time

import pytest

from core.counters import known_trees
from core.upkeep import growth
from tests.support.histories import small_leaves


def hurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten what a run would wait for."""
    small_leaves(monkeypatch)
    monkeypatch.setattr(time, "sleep", lambda _: None)
    for module in (growth, known_trees):
        monkeypatch.setattr(module, "ANNOUNCEMENT_LEAD", 40, raising=False)
        monkeypatch.setattr(module, "CACHE_TTL", 20)
