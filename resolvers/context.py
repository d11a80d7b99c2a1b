"""What one request's resolvers share."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import strawberry

from core.audit import Deed
from core.boards import Boards
from core.database import Database
from resolvers.auth import Role
from resolvers.rank_loader import RankLoader, rank_loader


@dataclass(slots=True)
class Context:
    """The caller, by name for the record, and the way to the data."""

    db: Database
    boards: Boards
    role: Role
    caller: str = "unknown"
    ranks: RankLoader = field(init=False)

    def __post_init__(self) -> None:
        self.ranks = rank_loader(self.db)

    def now(self) -> datetime:
        """Give the present instant, in UTC."""
        return datetime.now(UTC)

    def deed(self, reason: str | None = None) -> Deed:
        """Say for the record who does something now, and why."""
        return Deed(actor=self.caller, at=self.now(), reason=reason)


Info = strawberry.Info[Context, None]
