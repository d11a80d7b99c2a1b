"""Callers: their roles, their credentials, and what they may do."""

import hmac
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from hashlib import sha256
from typing import Any, ClassVar

import strawberry
from strawberry.extensions import FieldExtension

from core.domain.errors import InvalidInput, Unauthorized
from core.domain.model import Board, ClientAccess
from core.submissions.submit import Submission, instant_achieved


class Role(Enum):
    """What callers may do: PUBLIC reads; PARTICIPANT also submits where a board allows it; ADMIN does all."""

    PUBLIC = "PUBLIC"
    PARTICIPANT = "PARTICIPANT"
    ADMIN = "ADMIN"


@dataclass(frozen=True, slots=True)
class Caller:
    """A caller: `participant_id` is the signed-in PARTICIPANT's own, `name` goes into audit records."""

    role: Role
    participant_id: str | None = None
    name: str = "unknown"

    def sees_hidden(self, participant_id: str) -> bool:
        """Return whether a participant's hidden entry exists for the caller: for ADMIN and for its owner."""
        return self.role is Role.ADMIN or (
            self.role is Role.PARTICIPANT and participant_id == self.participant_id
        )

    def check_submits(self, board: Board, submission: Submission, now: datetime) -> None:
        """Refuse a submission that the caller may not make.

        Raises:
            Unauthorized: the board takes none from clients, or it is for someone else.
            InvalidInput: a participant says that it was achieved longer ago than the board allows.
        """
        if self.role is Role.ADMIN:
            return
        if board.client_access is not ClientAccess.SUBMIT:
            raise Unauthorized("leaderboardId: this leaderboard takes no scores from clients")
        if submission.participant_id != self.participant_id:
            raise Unauthorized("participantId: must be the one that you signed in as")
        achieved_at = instant_achieved(submission.achieved_at, now)
        if achieved_at < now - timedelta(seconds=board.client_time_allowance):
            raise InvalidInput(
                f"achievedAt: must not be more than {board.client_time_allowance} s ago for your own score"
            )


class NotAuthenticated(Exception):
    """Credentials are missing or not valid; the message is the one that AppSync gives."""


CALLER_HEADER = "x-leaderboard-caller"

# Returns the participant's id from a token; raises ValueError if the token is not valid.
ReadToken = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Credentials:
    """The API keys that a server accepts, and how it reads tokens, if it does."""

    keys: Mapping[str, Role]
    read_token: ReadToken | None = None

    def caller(self, headers: Mapping[str, Any]) -> Caller:
        """Return the caller by the header `x-api-key` or `authorization`; names are in lower case.

        Raises:
            NotAuthenticated: both are missing, or the one given is not valid.
        """
        key, token = headers.get("x-api-key"), headers.get("authorization")
        if isinstance(key, str):
            role = self.keys.get(key)
            if role is not None:
                # Only an ADMIN's name reaches the audit, and an ADMIN may choose it.
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
    """Refuses a field to other roles before its resolver runs."""

    roles: ClassVar[frozenset[Role]]

    async def resolve_async(
        self, next_: Callable[..., Awaitable[Any]], source: object, info: strawberry.Info, **kwargs: object
    ) -> object:
        """Resolve the field, or raise Unauthorized with AppSync's message."""
        if info.context.caller.role not in self.roles:
            raise Unauthorized(
                f"Not Authorized to access {info.field_name} on type {info._raw_info.parent_type}"
            )
        return await next_(source, info, **kwargs)


class AdminOnly(_Only):
    """Refuses a field to everyone but ADMIN."""

    roles = frozenset({Role.ADMIN})


class SignedIn(_Only):
    """Refuses a field to callers that have only the public key."""

    roles = frozenset({Role.ADMIN, Role.PARTICIPANT})
