"""Retries of a backup's and a restore's steps: a database that is busy for a minute ends neither."""

from collections.abc import Callable
from typing import TypeVar

from botocore.exceptions import ConnectionError as NotConnected
from botocore.exceptions import HTTPClientError

from core.domain.errors import Throttled
from core.storage.backoff import back_off

T = TypeVar("T")

_RETRIES = 8  # with delays of up to 20 s, each after the SDK's own


def retried(step: Callable[[], T]) -> T:
    """Return the result of a step that can be repeated; retry it on time-outs, lost connections, throttling.

    Raises:
        HTTPClientError, NotConnected, Throttled: the last retry failed too.
    """
    for attempt in range(_RETRIES):
        try:
            return step()
        except (HTTPClientError, NotConnected, Throttled):
            back_off(attempt, base=0.5, longest=20.0)
    return step()
