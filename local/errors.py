"""The errors that end a command. `local.cli` prints each as one line and turns it into an exit code."""

from collections.abc import Mapping, Sequence
from typing import Any


class StackError(Exception):
    """The command could not run; the message says what the user can do about it. Exit code 2."""


class Refused(Exception):
    """A GraphQL API refused a request; `code` is its error type. Exit code 1."""

    def __init__(self, errors: Sequence[Mapping[str, Any]]) -> None:
        error = errors[0] if errors else {}
        inner = error.get("errors")  # of a refused subscription, gql returns the message's whole payload
        error = inner[0] if isinstance(inner, list) and inner else inner or error
        super().__init__(error.get("message", "no cause was given"))
        self.code = error.get("errorType") or "Refused"
