"""What DynamoDB's errors mean: which are tried again, which are the caller's to know, which end a race."""

from collections.abc import Mapping
from typing import Any, cast

from botocore.exceptions import ClientError, HTTPClientError
from botocore.exceptions import ConnectionError as UnreachableError

from core.storage.backoff import delay

_CONFLICT = "TransactionConflictException"
_CONFLICT_ATTEMPTS = 30  # some three seconds
_THROTTLES = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        _CONFLICT,
        "TransactionInProgressException",
    }
)
_CANCELLED = "TransactionCanceledException"
# Reasons of a cancelled transaction that pass. It has written nothing.
_PASSING = frozenset({"ProvisionedThroughputExceeded", "ThrottlingError", "TransactionConflict"})
_SERVER_ERRORS = 500  # HTTP status codes from here on


def is_throttled(answer: Mapping[str, Any]) -> bool:
    """Return whether an answer says that nothing was done, for lack of capacity or for other transactions."""
    return answer.get("Error", {}).get("Code") in _THROTTLES or _was_cancelled_in_passing(answer)


def retry_passing(response: tuple[Any, dict[str, Any]] | None, attempts: int, **_: object) -> Any:
    """Retry a write that met a transaction on the same item, and a transaction that was cancelled in passing.

    The SDK retries neither.
    """
    if response is None or attempts >= _CONFLICT_ATTEMPTS:
        return None  # the SDK decides
    is_conflict = response[1].get("Error", {}).get("Code") == _CONFLICT
    return delay(attempts) if is_conflict or _was_cancelled_in_passing(response[1]) else None


def _was_cancelled_in_passing(answer: Mapping[str, Any]) -> bool:
    """Return whether an answer says that a transaction was cancelled, and only for reasons that pass."""
    return bool(_reasons(answer)) and _reasons(answer) <= _PASSING


def _reasons(answer: Mapping[str, Any]) -> set[str]:
    return {reason.get("Code", "None") for reason in answer.get("CancellationReasons", [])} - {"None"}


def is_unavailable(error: Exception) -> bool:
    """Return whether DynamoDB did not answer, or only that it failed: a write may have been made or not."""
    if isinstance(error, ClientError):
        return error.response["ResponseMetadata"].get("HTTPStatusCode", 0) >= _SERVER_ERRORS
    return isinstance(error, UnreachableError | HTTPClientError)


def failed_item(error: "ClientError") -> Mapping[str, Any]:
    """Return the item that failed a condition, empty if there is none."""
    item: Mapping[str, Any] = cast("dict[str, Any]", error.response).get("Item", {})
    return item


def lost_race(error: "ClientError") -> bool:
    """Return whether a transaction was cancelled because another writer was faster."""
    reasons = _reasons(cast("dict[str, Any]", error.response))
    return "ConditionalCheckFailed" in reasons and reasons - {"ConditionalCheckFailed"} <= _PASSING
