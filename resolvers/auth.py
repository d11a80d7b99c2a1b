"""Who calls, and what they may do."""

import hmac
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
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


def check_origin(secret: object) -> None:
    """Refuse an event that did not come through the stack's own API.

    Whoever may invoke a function directly can write any event, but not the secret that the APIs add. The
    environment holds only its hash, in LEADERBOARD_EVENT_SECRET_SHA256.

    Raises:
        PermissionError: the secret is missing or wrong.
    """
    expected = os.environ.get("LEADERBOARD_EVENT_SECRET_SHA256", "")
    if not hmac.compare_digest(sha256(str(secret).encode()).hexdigest(), expected):
        raise PermissionError("event: must come through the stack's API")


def gateway_caller(request_context: Mapping[str, Any]) -> Caller:
    """Return whom API Gateway authenticated: a signer by IAM, a participant by a token, or nobody.

    Cognito's identities sign too, guests and users alike. Any user of an app can have one, so they only read.
    """
    authorizer = request_context.get("authorizer") or {}
    signer = authorizer.get("iam") or {}
    if signer.get("userArn"):
        role = Role.PUBLIC if signer.get("cognitoIdentity") else Role.ADMIN
        return Caller(role, name=signer["userArn"])
    subject = ((authorizer.get("jwt") or {}).get("claims") or {}).get("sub")
    return Caller(Role.PARTICIPANT, subject) if subject else Caller(Role.PUBLIC)


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
