"""Periods of a board."""

from datetime import datetime
from typing import Self

import strawberry

from core.domain import model


@strawberry.type(description="A period of a board.")
class Period:
    """A period."""

    kind: model.PeriodKind = strawberry.field(description="The kind of period.")
    key: str = strawberry.field(
        description="The period's explicit key, such as all-time or daily-2026-11-30."
    )
    starts_at: datetime | None = strawberry.field(description="When the period starts; null for all time.")
    ends_at: datetime | None = strawberry.field(description="When the next period starts; null for all time.")

    @classmethod
    def of(cls, period: model.Period) -> Self:
        """Wrap a period."""
        return cls(kind=period.kind, key=period.key, starts_at=period.starts_at, ends_at=period.ends_at)
