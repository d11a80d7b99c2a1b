"""The context that the resolvers of one request share."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TypeVar

import strawberry

from core.boards import Boards
from core.domain.model import Board
from core.records.audit import AuditContext
from core.storage.database import Database
from resolvers.observability import traced
from resolvers.request.auth import Caller, Role
from resolvers.request.hub import Events, Hub, Reader
from resolvers.request.rank_loader import RankLoader, Totals, rank_loader
from resolvers.request.workers import SHARED, SubmissionWorkers, run_operation

T = TypeVar("T")


@dataclass(slots=True, kw_only=True)
class Context:
    """The caller and the data; a client's `boards` leave out those that clients may not see.

    Over a WebSocket, `reader` bounds the connection's backlog, and `acknowledge` confirms a subscription.
    """

    db: Database
    boards: Boards
    caller: Caller
    hub: Hub = field(default_factory=Hub)
    submissions: SubmissionWorkers = SHARED
    reader: Reader | None = None
    acknowledge: Callable[[], Awaitable[None]] | None = None
    totals: Totals = field(init=False)
    ranks: RankLoader = field(init=False)

    def __post_init__(self) -> None:
        if self.caller.role is not Role.ADMIN:
            self.boards = self.boards.for_clients()
        self.totals = Totals(self.db)
        self.ranks = rank_loader(self.db, self.totals)

    async def board(self, board_id: str) -> Board:
        """Return a board, in this thread if it is cached.

        Raises:
            LeaderboardNotFound: no board has this id.
        """
        if self.boards.are_cached([board_id]):
            return traced(self.boards.get, board_id)
        return await run_operation(self.boards.get, board_id)

    def now(self) -> datetime:
        """Return the present time in UTC."""
        return datetime.now(UTC)

    def audit(self, reason: str | None = None) -> AuditContext:
        """Return the audit context of a change by the caller, now."""
        return AuditContext(actor=self.caller.name, at=self.now(), reason=reason)

    async def subscribe(self, kind: type[T], arguments: Mapping[str, object]) -> Events[T]:
        """Begin a subscription, then acknowledge it; every event after that is received."""
        assert self.reader is not None  # noqa: S101 - SubscriptionsBySocket refuses others
        events = self.hub.subscribe(kind, arguments, self.reader)
        if self.acknowledge is not None:
            try:
                await self.acknowledge()
            except BaseException:  # the client is gone
                await events.aclose()
                raise
        return events


Info = strawberry.Info[Context, None]
