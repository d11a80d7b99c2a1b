"""Errors as clients see them: AppSync's shape, the core's words, and nothing of our inside."""

import logging
from collections.abc import Iterable
from typing import NoReturn

from graphql import GraphQLError

from core.errors import LeaderboardError, NotYetAvailable

INTERNAL_FAILURE = "InternalFailure"
INTERNAL_FAILURE_MESSAGE = "Something went wrong on our side; try again"

_log = logging.getLogger(__name__)


def not_yet(field: str) -> NoReturn:
    """Refuse a part of the contract that this version does not offer.

    Raises:
        NotYetAvailable: naming the field.
    """
    raise NotYetAvailable(f"{field} is not available yet")


def describe(error: GraphQLError) -> dict[str, object]:
    """Give one error of a response as AppSync would.

    A refusal carries its word as `errorType`. A query that does not fit the schema has none, as on AppSync.
    All else is our own failure, and says no more than that.
    """
    locations = [
        {"line": location.line, "column": location.column, "sourceName": None}
        for location in error.locations or ()
    ]
    cause = _cause(error)
    if cause is None:
        return {"path": None, "locations": locations, "message": f"Validation error: {error.message}"}
    if isinstance(cause, LeaderboardError):
        error_type, message = cause.code, error.message
    else:
        error_type, message = INTERNAL_FAILURE, INTERNAL_FAILURE_MESSAGE
    return {
        "path": error.path,
        "data": None,
        "errorType": error_type,
        "errorInfo": None,
        "locations": locations,
        "message": message,
    }


def tell(error: Exception) -> tuple[str, str]:
    """Give a failure's word and message for clients, and log it if it is our own."""
    if isinstance(error, LeaderboardError):
        return error.code, str(error)
    _log.error("unforeseen error", exc_info=error)
    return INTERNAL_FAILURE, INTERNAL_FAILURE_MESSAGE


def log_unforeseen(errors: Iterable[GraphQLError]) -> None:
    """Log what is our own failure, with its traceback; a refusal is the caller's business.

    One failure that many fields of an answer report, such as the ranks of a page, is logged once.
    """
    logged: list[Exception] = []
    for error in errors:
        cause = _cause(error)
        if cause is None or isinstance(cause, LeaderboardError) or any(cause is one for one in logged):
            continue
        logged.append(cause)
        _log.error("unforeseen error at %s", error.path, exc_info=cause)


def _cause(error: GraphQLError) -> Exception | None:
    """Find what was raised at first; None where the query itself is at fault."""
    cause: Exception | None = error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    return cause
