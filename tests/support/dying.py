"""Let a process die at its n-th request, for every n: before the request takes effect, or after it."""

from collections.abc import Callable
from typing import Any, TypeVar

from core.boards import Boards
from core.storage.database import Database

T = TypeVar("T")
_NO_REQUESTS = frozenset({"exceptions", "meta"})


class Killed(BaseException):
    """The process has died."""


class MortalClient:
    """A client that raises `Killed` at one request, before or after it takes effect, and from then on."""

    def __init__(self, client: Any, dies_at: int, *, after: bool) -> None:
        self._client, self._dies_at, self._after = client, dies_at, after
        self.requests = 0

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._client, name)
        if name in _NO_REQUESTS:
            return operation

        def request(**arguments: Any) -> Any:
            self.requests += 1
            if self.requests > self._dies_at or (self.requests == self._dies_at and not self._after):
                raise Killed
            answer = operation(**arguments)
            if self.requests == self._dies_at:
                raise Killed
            return answer

        return request


def dying_at_each_request(
    db: Database,
    begin: Callable[[], T],
    do: Callable[[T, Database], object],
    compare: Callable[[T], object],
    step: int = 1,
) -> int:
    """For each n: begin, do and die at the n-th request, do again without dying, compare.

    Return the number of deaths. With a `step`, n grows by that.
    """
    deaths = 0
    dies_at = 1
    while True:
        for after in (False, True):
            subject = begin()
            client = MortalClient(db.client, dies_at, after=after)
            try:
                do(subject, Database(client, db.tables))  # type: ignore[arg-type]
            except Killed:
                deaths += 1
                do(subject, Database(db.client, db.tables))
                compare(subject)
            else:
                compare(subject)
                return deaths
        dies_at += step


def fresh_boards(db: Database) -> Boards:
    """Return boards without a cache, as a new process has them."""
    return Boards(db, cache_seconds=0)
