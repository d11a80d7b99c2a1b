"""Scores as exact strings, and the components that they consist of."""

from collections.abc import Sequence
from typing import Self

import strawberry

from core.domain import model, scores


@strawberry.type(description="One number of a score: its kind, its direction and its bounds.")
class ScoreComponent:
    """A component of a board's scores."""

    name: str = strawberry.field(description="What the number counts, such as points.")
    kind: model.ScoreKind = strawberry.field(description="How the number is written and displayed.")
    order: model.SortOrder = strawberry.field(description="Whether the highest or the lowest is best.")
    decimals: int = strawberry.field(description="How many decimal places are stored.")
    min: str | None = strawberry.field(description="The lowest value accepted; null if unbounded.")
    max: str | None = strawberry.field(description="The highest value accepted; null if unbounded.")

    @classmethod
    def of(cls, component: model.Component) -> Self:
        """Wrap a component."""
        return cls(
            name=component.name,
            kind=component.kind,
            order=component.order,
            decimals=component.decimals,
            min=scores.format_value(component, component.low) if component.bounded_below else None,
            max=scores.format_value(component, component.high) if component.bounded_above else None,
        )


@strawberry.type(description="A score.")
class Score:
    """A score of a board's components."""

    value: list[str] = strawberry.field(description="The exact value, one string for each component.")
    number: float = strawberry.field(description="The first component as a float, for charts.")
    display: str = strawberry.field(
        description='The score as text to show, such as "9011", "1:27.452" or "25 / -3.5".'
    )

    @classmethod
    def of(cls, components: Sequence[model.Component], score: Sequence[int]) -> Self:
        """Wrap a score; each number counts units of its component's last decimal place."""
        return cls(
            value=[
                scores.format_value(component, number)
                for component, number in zip(components, score, strict=True)
            ],
            number=scores.number(components[0], score[0]),
            display=scores.display(components, score),
        )
