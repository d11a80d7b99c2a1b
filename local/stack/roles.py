"""What each Lambda's role may ask of DynamoDB, enforced where its code runs on a laptop and in tests.

On AWS, IAM refuses a call that `infra/permissions.json` does not grant; the local engine refuses nothing. So
a call that is made while acting as a role is held to the same file, by table, index and action, parts of
transactions included.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, partial
from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError
from starlette.types import ASGIApp, Receive, Scope, Send

from core.storage.database import Database

PERMISSIONS_FILE = Path(__file__).parents[2] / "infra" / "permissions.json"
# IAM has no action for a transaction: each part needs the action of the single request.
_PARTS = {
    "Put": "PutItem",
    "Update": "UpdateItem",
    "Delete": "DeleteItem",
    "Get": "GetItem",
    "ConditionCheck": "ConditionCheckItem",
}

Permissions = Mapping[str, Mapping[str, frozenset[str]]]  # role -> table, or table/index/name -> actions

_role: ContextVar[str | None] = ContextVar("role", default=None)


@cache
def permissions() -> Permissions:
    """Return what each role may do, by table or index."""
    stored: dict[str, dict[str, list[str]]] = json.loads(PERMISSIONS_FILE.read_text())
    return {
        role: {table: frozenset(actions) for table, actions in tables.items()}
        for role, tables in stored.items()
    }


@contextmanager
def acting_as(role: str) -> Iterator[None]:
    """Hold every call that the block makes, in the threads of `core.storage.parallel` too, to a role.

    Raises:
        KeyError: there is no such role.
    """
    permissions()[role]
    token = _role.set(role)
    try:
        yield
    finally:
        _role.reset(token)


def current_role() -> str | None:
    """Return the role that is acted as."""
    return _role.get()


class ActingAs:
    """An ASGI middleware: whatever a request makes is held to a role."""

    def __init__(self, app: ASGIApp, role: str) -> None:
        self._app = app
        self._role = role

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a socket."""
        with acting_as(self._role):
            await self._app(scope, receive, send)


def enforce(db: Database) -> None:
    """Have a client refuse what the role acted as may not do; where none is acted as, nothing is refused."""
    check = partial(_check, db.tables.scores.removesuffix("scores"))
    db.client.meta.events.register("before-parameter-build.dynamodb", check)


def needed(prefix: str, operation: str, params: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield what a request needs: a table or index, without the stack's prefix, and an IAM action on it."""
    if "TransactItems" in params:
        for item in params["TransactItems"]:
            for kind, part in item.items():
                yield part["TableName"].removeprefix(prefix), _PARTS[kind]
    elif "RequestItems" in params:
        for table in params["RequestItems"]:
            yield table.removeprefix(prefix), operation
    elif "TableName" in params:
        index = f"/index/{params['IndexName']}" if "IndexName" in params else ""
        yield params["TableName"].removeprefix(prefix) + index, operation


def _check(prefix: str, params: Mapping[str, Any], model: Any, **_: object) -> None:
    role = _role.get()
    if role is None:
        return
    granted = permissions()[role]
    wanted = list(needed(prefix, model.name, params)) or [("any table", model.name)]
    for resource, action in wanted:
        if action not in granted.get(resource, ()):
            message = f"infra/permissions.json does not grant {role} {action} on {resource}"
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": message}}, model.name)
