"""A process that dies at its n-th request, for every n: before it takes effect, or after (an answer lost)."""

from collections.abc import Callable
from typing import Any, TypeVar

from core.boards import Boards
from core.storage.database import Database

T = TypeVar("T")
_FREE = frozenset({"exceptions", "meta"})  # no requests


class Killed(BaseException):
    """The process is gone."""


class MortalClient:
    """A client whose owner dies at a request of its own, and makes no other afterwards."""

    def __init__(self, client: Any, dies_at: int, *, after: bool) -> None:
        self._client, self._dies_at, self._after = client, dies_at, after
        self.requests = 0

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._client, name)
        if name in _FREE:
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
    """For each n: begin, do it and die at the n-th request, do it again unharmed, compare.

    Gives how many deaths there were. With a `step` only every so many requests are tried.
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
    """Boards of a process that remembers nothing."""
    return Boards(db, cache_seconds=0)
