"""The core's enums as GraphQL enums, and the one that only the API knows."""

from enum import Enum

import strawberry

from core import model

for _enum in (
    model.SortOrder,
    model.ScorePolicy,
    model.ScoreKind,
    model.TieBreak,
    model.PeriodKind,
    model.CounterMode,
    model.RankStrategy,
):
    strawberry.enum(_enum, description=_enum.__doc__)


@strawberry.enum(description="Whose score changed a participant's rank: their own, or others'.")
class RankChangeCause(Enum):
    """Whose score changed a participant's rank."""

    OWN_SCORE = "OWN_SCORE"
    OTHERS = "OTHERS"
