"""Retries of a backup's and a restore's steps: a database that is busy for a minute ends neither."""

from collections.abc import Callable
from typing import TypeVar

from core.domain.errors import Throttled
from core.storage.backoff import back_off
from core.storage.faults import is_unavailable

T = TypeVar("T")

_RETRIES = 8  # with delays of up to 20 s, each after the SDK's own


def retried(step: Callable[[], T]) -> T:
    """Return the result of a step that can be repeated; retry it while the database does not do its part.

    Raises what the last retry raises.
    """
    for attempt in range(_RETRIES):
        try:
            return step()
        except Exception as error:
            if not isinstance(error, Throttled) and not is_unavailable(error):
                raise
            back_off(attempt, base=0.5, longest=20.0)
    return step()
