"""Errors as clients see them: in AppSync's shape, and nothing about an internal failure."""

import logging
from collections.abc import Iterable, Iterator

from graphql import GraphQLError, IntValueNode
from strawberry.extensions import SchemaExtension
from strawberry.schema.exceptions import CannotGetOperationTypeError, InvalidOperationTypeError
from strawberry.types.execution import StreamExecutionResult

from core.domain.errors import LeaderboardError, Unavailable
from core.storage.faults import is_unavailable

INTERNAL_FAILURE = "InternalFailure"
INTERNAL_FAILURE_MESSAGE = "Something went wrong on our side; try again"
# What graphql-core reports to a subscriber for a field that the publish mutation did not select.
_NOT_SELECTED = "Cannot return null for non-nullable field"

_log = logging.getLogger(__name__)


def describe(error: GraphQLError) -> dict[str, object]:
    """Return an error of a response as AppSync writes it.

    A refusal has its class name as `errorType`; a database that does not answer is `Unavailable`. A query
    that does not fit the schema has no type, as on AppSync. Any other error is an InternalFailure with a
    fixed message.
    """
    locations = [
        {"line": location.line, "column": location.column, "sourceName": None}
        for location in error.locations or ()
    ]
    cause = _cause(error)
    if cause is None:
        return {"path": None, "locations": locations, "message": f"Validation error: {_query_fault(error)}"}
    error_type, message = _public(cause)
    if isinstance(cause, LeaderboardError):
        message = error.message  # of a variable, graphql-core says besides where in it the fault is
    return {
        "path": error.path,
        "data": None,
        "errorType": error_type,
        "errorInfo": None,
        "locations": locations,
        "message": message,
    }


def describe_exception(error: Exception) -> tuple[str, str]:
    """Return an exception's `errorType` and message for clients; log it if it is unexpected."""
    _log_unless_refusal(error, None)
    return _public(error)


def log_unexpected(errors: Iterable[GraphQLError]) -> None:
    """Log each unexpected error with its traceback; refusals are not logged.

    An error that many fields report, such as the ranks of a page, is logged once.
    """
    logged: list[Exception] = []
    for error in errors:
        cause = _cause(error)
        if cause is None or any(cause is other for other in logged):
            continue
        logged.append(cause)
        _log_unless_refusal(cause, error.path)


def _public(error: Exception) -> tuple[str, str]:
    """Return what a client is told of an exception: its `errorType`, and a message."""
    if is_unavailable(error):
        error = Unavailable("the database did not answer; a change may have been made, or not: try again")
    if isinstance(error, LeaderboardError):
        return error.code, str(error)
    return INTERNAL_FAILURE, INTERNAL_FAILURE_MESSAGE


def _log_unless_refusal(error: Exception, path: object) -> None:
    if is_unavailable(error):
        _log.warning("the database did not answer at %s: %s", path, error)
    elif not isinstance(error, LeaderboardError):
        _log.error("unexpected error at %s", path, exc_info=error)


class ErrorsOverSockets(SchemaExtension):
    """Describes errors over graphql-transport-ws, with their `errorType` among Strawberry's extensions."""

    def on_stream_result(self, result: StreamExecutionResult) -> Iterator[None]:
        """Replace the errors of one message."""
        errors = getattr(result, "errors", None)
        if errors:
            errors[:] = map(_described, errors)
        yield


def _described(error: GraphQLError) -> GraphQLError:
    described = describe(error)
    if "errorType" not in described or error.message.startswith(_NOT_SELECTED):
        return error
    return GraphQLError(
        str(described["message"]),
        error.nodes,
        path=error.path,
        original_error=error.original_error,
        extensions={"errorType": described["errorType"]},
    )


def _cause(error: GraphQLError) -> Exception | None:
    """Return the exception that was raised first; None if the query itself is at fault."""
    cause: Exception | None = error
    while isinstance(cause, GraphQLError):
        cause = cause.original_error
    # Strawberry's own exceptions for a missing or ambiguous operation are the query's fault too.
    is_query_fault = isinstance(cause, CannotGetOperationTypeError | InvalidOperationTypeError)
    return None if is_query_fault or _is_long_integer(error) else cause


def _query_fault(error: GraphQLError) -> str:
    return "an integer has too many digits" if _is_long_integer(error) else error.message


def _is_long_integer(error: GraphQLError) -> bool:
    """Return whether an integer of the query has more digits than Python reads: validation raises then."""
    is_integer = error.nodes is not None and isinstance(error.nodes[0], IntValueNode)
    return is_integer and isinstance(error.original_error, ValueError)
