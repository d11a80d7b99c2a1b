"""Arguments that many fields share, and the difference between left out and null."""

from typing import Annotated, TypeVar

import strawberry

from core.domain import model

T = TypeVar("T")

DEFAULT_TOP = 10
DEFAULT_PAGE = 50
DEFAULT_RADIUS = 5
DEFAULT_ARCHIVES_PAGE = 20

BoardId = Annotated[strawberry.ID, strawberry.argument(description="The board's id.")]
ParticipantId = Annotated[strawberry.ID, strawberry.argument(description="The participant's id.")]
Limit = Annotated[int | None, strawberry.argument(description="How many to give at most; at least 1.")]
NextToken = Annotated[
    str | None, strawberry.argument(description="The previous page's nextToken; left out for the first page.")
]
Period = Annotated[
    str | None,
    strawberry.argument(
        description="all-time (the default), daily, weekly or monthly for the current one, "
        "or a key such as daily-2026-11-30."
    ),
]


def given(value: T | None) -> T | None:
    """Read an optional argument: left out means the same as null."""
    return None if value is strawberry.UNSET else value


def or_default(value: T | None, default: T) -> T:
    """Read an optional argument that has a default: null means the default too."""
    return default if value is None else value


def or_kept(value: T | None) -> T | model.Unset:
    """Read a field of an update that cannot be cleared: left out or null keeps what is there."""
    return model.UNSET if value is strawberry.UNSET or value is None else value


def change(value: T | None) -> T | model.Unset | None:
    """Read a field of an update: left out keeps what is there, null clears it."""
    return model.UNSET if value is strawberry.UNSET else value
