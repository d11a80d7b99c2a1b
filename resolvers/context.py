"""What one request's resolvers share."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

import strawberry

from core.boards import Boards
from core.records.audit import AuditContext
from core.storage.database import Database
from resolvers.auth import Caller, Role
from resolvers.hub import Events, Hub, Reader
from resolvers.rank_loader import RankLoader, rank_loader

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Context:
    """The caller, and the way to the data: clients are shown no board that is closed to them.

    Over a socket, `reader` is its measure, and `acknowledge` tells the client that a subscription began.
    """

    db: Database
    boards: Boards
    caller: Caller
    hub: Hub = field(default_factory=Hub)
    reader: Reader | None = None
    acknowledge: Callable[[], Awaitable[None]] | None = None
    ranks: RankLoader = field(init=False)

    def __post_init__(self) -> None:
        if self.caller.role is not Role.ADMIN:
            self.boards = self.boards.for_clients()
        self.ranks = rank_loader(self.db)

    def now(self) -> datetime:
        """Give the present instant, in UTC."""
        return datetime.now(UTC)

    def audit(self, reason: str | None = None) -> AuditContext:
        """Say for the record who does something now, and why."""
        return AuditContext(actor=self.caller.name, at=self.now(), reason=reason)

    async def subscribe(self, kind: type[T], arguments: Mapping[str, object]) -> Events[T]:
        """Begin a subscription: no event is missed from when it is acknowledged."""
        assert self.reader is not None  # noqa: S101 - SubscriptionsBySocket sees to that
        events = self.hub.subscribe(kind, arguments, self.reader)
        if self.acknowledge is not None:
            try:
                await self.acknowledge()
            except BaseException:  # the client is gone
                await events.aclose()
                raise
        return events


Info = strawberry.Info[Context, None]
