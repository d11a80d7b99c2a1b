"""Arguments that many fields share, and how to read arguments that are omitted or null."""

from typing import Annotated, TypeVar

import strawberry

from core.domain import model

T = TypeVar("T")

DEFAULT_TOP = 10
DEFAULT_PAGE = 50
DEFAULT_RADIUS = 5
DEFAULT_ARCHIVES_PAGE = 20
DEFAULT_BINS = 20

BoardId = Annotated[strawberry.ID, strawberry.argument(description="The board's id.")]
ParticipantId = Annotated[strawberry.ID, strawberry.argument(description="The participant's id.")]
Limit = Annotated[
    int | None, strawberry.argument(description="The most items to return, from 1; the default if null.")
]
NextToken = Annotated[
    str | None,
    strawberry.argument(description="The nextToken of the page before; omitted for the first page."),
]
Period = Annotated[
    str | None,
    strawberry.argument(
        description="all-time (the default); daily, weekly or monthly for the current period; previous, "
        "previous-2 and so on, or daily-previous on a board with several kinds; or an explicit key such as "
        "daily-2026-11-30."
    ),
]


def given(value: T | None) -> T | None:
    """Return an optional argument; None if it is omitted or null."""
    return None if value is strawberry.UNSET else value


def or_default(value: T | None, default: T) -> T:
    """Return an argument that has a default; null means the default too."""
    return default if value is None else value


def change_or_default(value: T | None, default: T) -> T | model.Unset:
    """Return a field of an update; omitted leaves the value unchanged, null sets the default."""
    return model.UNSET if value is strawberry.UNSET else or_default(value, default)


def or_kept(value: T | None) -> T | model.Unset:
    """Return a field of an update that cannot be cleared; omitted or null leaves the value unchanged."""
    return model.UNSET if value is strawberry.UNSET or value is None else value


def change(value: T | None) -> T | model.Unset | None:
    """Return a field of an update; omitted leaves the value unchanged, null clears it."""
    return model.UNSET if value is strawberry.UNSET else value
