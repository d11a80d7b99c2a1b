"""Scores: their components, and their values as exact strings."""

from collections.abc import Sequence
from typing import Self

import strawberry

from core.domain import model, scores


@strawberry.type(description="One number of a score: how it is written, and which end is best.")
class ScoreComponent:
    """A component of a board's scores."""

    name: str = strawberry.field(description="What the number is, such as points.")
    kind: model.ScoreKind = strawberry.field(description="How the number is written.")
    order: model.SortOrder = strawberry.field(description="Which end is best.")
    decimals: int = strawberry.field(description="Decimal places kept.")
    min: str | None = strawberry.field(description="The least value taken, if bounded.")
    max: str | None = strawberry.field(description="The greatest value taken, if bounded.")

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


@strawberry.type(description="A score, exact.")
class Score:
    """A score of a board's components."""

    value: list[str] = strawberry.field(description="The exact value, one string a component.")
    number: float = strawberry.field(description="The first component as a float, for charts.")
    display: str = strawberry.field(description='The score for people: "9011", "1:27.452", "25 / -3.5".')

    @classmethod
    def of(cls, components: Sequence[model.Component], score: Sequence[int]) -> Self:
        """Wrap a score, given as each component's count of smallest steps."""
        return cls(
            value=[
                scores.format_value(component, value)
                for component, value in zip(components, score, strict=True)
            ],
            number=scores.number(components[0], score[0]),
            display=scores.display(components, score),
        )
