"""Errors as clients see them: AppSync's shape, the core's words, and nothing of our inside."""

import logging
from collections.abc import Iterable, Iterator

from graphql import GraphQLError
from strawberry.extensions import SchemaExtension
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types.execution import StreamExecutionResult

from core.domain.errors import LeaderboardError

INTERNAL_FAILURE = "InternalFailure"
INTERNAL_FAILURE_MESSAGE = "Something went wrong on our side; try again"
# What a subscriber is told of a field that the publishing mutation did not select.
_LEFT_OUT = "Cannot return null for non-nullable field"

_log = logging.getLogger(__name__)


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


class ErrorsOverSockets(SchemaExtension):
    """Words errors as `describe` does where Strawberry writes them: their word is an extension."""

    def on_stream_result(self, result: StreamExecutionResult) -> Iterator[None]:
        """Word the errors of one message."""
        errors = getattr(result, "errors", None)
        if errors:
            errors[:] = map(_worded, errors)
        yield


def _worded(error: GraphQLError) -> GraphQLError:
    described = describe(error)
    if "errorType" not in described or error.message.startswith(_LEFT_OUT):
        return error
    return GraphQLError(
        str(described["message"]),
        error.nodes,
        path=error.path,
        original_error=error.original_error,
        extensions={"errorType": described["errorType"]},
    )


def _cause(error: GraphQLError) -> Exception | None:
    """Find what was raised at first; None where the query itself is at fault."""
    cause: Exception | None = error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    # Which kind of operation it is, if any, is the query's fault too.
    return None if isinstance(cause, CannotGetOperationTypeError | InvalidOperationTypeError) else cause
