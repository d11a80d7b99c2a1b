"""What a command says when it cannot go on."""

from collections.abc import Mapping, Sequence
from typing import Any


class StackError(Exception):
    """A failure that the user can mend; its message says how. Exit code 2."""


class Refused(Exception):
    """What a GraphQL API refused, in its own word and message. Exit code 1."""

    def __init__(self, errors: Sequence[Mapping[str, Any]]) -> None:
        error = errors[0] if errors else {}
        inner = error.get("errors")  # gql leaves a refused subscription's errors in their message's payload
        error = inner[0] if isinstance(inner, list) and inner else inner or error
        super().__init__(error.get("message", "no cause was given"))
        self.code = error.get("errorType") or "Refused"
