"""Who calls, and what they may do."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, ClassVar

import strawberry
from strawberry.extensions import FieldExtension

from core.domain.errors import Unauthorized
from core.domain.model import Board, ClientAccess


class Role(Enum):
    """What a caller is: PUBLIC reads, a PARTICIPANT also submits where a board allows it, ADMIN does all."""

    PUBLIC = "PUBLIC"
    PARTICIPANT = "PARTICIPANT"
    ADMIN = "ADMIN"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls; `participant_id` is whom a PARTICIPANT signed in as, `name` is for the audit record."""

    role: Role
    participant_id: str | None = None
    name: str = "unknown"

    def check_submits(self, board: Board, participant_id: str) -> None:
        """Refuse a submission that this caller may not make.

        Raises:
            Unauthorized: naming the field.
        """
        if self.role is Role.ADMIN:
            return
        if board.client_access is not ClientAccess.SUBMIT:
            raise Unauthorized("leaderboardId: this leaderboard takes no scores from clients")
        if participant_id != self.participant_id:
            raise Unauthorized("participantId: must be the one that you signed in as")


class NotAuthenticated(Exception):
    """Nothing in a request says who calls, or what says so is not valid; its message is AppSync's."""


CALLER_HEADER = "x-leaderboard-caller"

# Gives the participant that a token was made for; raises ValueError if it is not valid.
ReadToken = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Credentials:
    """What a server takes as proof of who calls: API keys, and tokens where it can read them."""

    keys: Mapping[str, Role]
    read_token: ReadToken | None = None

    def caller(self, headers: Mapping[str, Any]) -> Caller:
        """Know the caller by `x-api-key` or `authorization`; the headers' names are in lower case.

        Raises:
            NotAuthenticated: neither is there, or what is there is not valid.
        """
        key, token = headers.get("x-api-key"), headers.get("authorization")
        if isinstance(key, str):
            role = self.keys.get(key)
            if role is not None:
                # Whoever may do everything may also say who they are.
                return Caller(role, name=headers.get(CALLER_HEADER) or role.value.lower())
        elif isinstance(token, str) and self.read_token is not None:
            try:
                return Caller(Role.PARTICIPANT, self.read_token(token.removeprefix("Bearer ")))
            except ValueError:
                pass
        else:
            raise NotAuthenticated("Valid authorization header not provided.")
        raise NotAuthenticated("You are not authorized to make this call.")


class _Only(FieldExtension):
    """Refuses a field to all roles but some, before its resolver runs."""

    roles: ClassVar[frozenset[Role]]

    async def resolve_async(
        self, next_: Callable[..., Awaitable[Any]], source: object, info: strawberry.Info, **kwargs: object
    ) -> object:
        """Resolve the field, or raise Unauthorized in AppSync's words."""
        if info.context.caller.role not in self.roles:
            raise Unauthorized(
                f"Not Authorized to access {info.field_name} on type {info._raw_info.parent_type}"
            )
        return await next_(source, info, **kwargs)


class AdminOnly(_Only):
    """Refuses a field to everyone but ADMIN."""

    roles = frozenset({Role.ADMIN})


class SignedIn(_Only):
    """Refuses a field to who has but the public key."""

    roles = frozenset({Role.ADMIN, Role.PARTICIPANT})
