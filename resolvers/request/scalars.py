"""AppSync's scalars AWSDateTime and AWSJSON."""

import re
from datetime import UTC, datetime
from typing import NewType

import strawberry
from strawberry.types.scalar import ScalarDefinition

from core.domain.errors import InvalidInput

AWSJSON = NewType("AWSJSON", str)

_RFC_3339 = re.compile(
    r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})", re.ASCII | re.IGNORECASE
)


def parse_date_time(value: object) -> datetime:
    """Parse an RFC 3339 time with its offset; return it in UTC, cut to microseconds.

    Raises:
        InvalidInput: the value is not such a time.
    """
    if isinstance(value, str) and _RFC_3339.fullmatch(value):
        try:
            return datetime.fromisoformat(value.upper()).astimezone(UTC)
        except (ValueError, OverflowError):
            pass
    raise InvalidInput("must be an RFC 3339 time with its offset, such as 2026-11-30T12:00:00Z")


def format_date_time(moment: datetime) -> str:
    """Format a time as AppSync does: in UTC, with a Z."""
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_json(value: object) -> str:
    """Return a string as it is; the core checks that it holds JSON and how long it is.

    Raises:
        InvalidInput: the value is not a string.
    """
    if isinstance(value, str):
        return value
    raise InvalidInput('must be JSON as a string, such as "[1]"')


SCALARS: dict[object, ScalarDefinition] = {
    datetime: strawberry.scalar(
        name="AWSDateTime",
        description="An RFC 3339 time with its offset; always in UTC in a response.",
        serialize=format_date_time,
        parse_value=parse_date_time,
    ),
    AWSJSON: strawberry.scalar(
        name="AWSJSON", description="JSON as a string.", serialize=str, parse_value=parse_json
    ),
}
