# ruff: noqa: E402 - imported while the collector rests
"""Lambda: the schema over plain HTTP, behind a function URL."""

import gc

gc.disable()  # what is imported stays for good; looking for garbage in it takes a seventh of a cold start

from typing import Any

from mangum import Mangum
from mangum.types import LambdaContext, LambdaEvent

from core.boards import Boards
from resolvers.http import build_app
from resolvers.observability import configure_logging, request
from resolvers.request.auth import CALLER_HEADER, Role
from resolvers.settings import Settings

configure_logging()
_settings = Settings.from_environment()
_db = _settings.connect()
_keys = {role.value: role for role in (Role.ADMIN, Role.PUBLIC)}
_boards = Boards(_db, retention=_settings.retention)
_app = Mangum(build_app(_db, _boards, _keys), lifespan="off")

gc.freeze()
gc.enable()


def handler(event: LambdaEvent, context: LambdaContext) -> dict[str, Any]:
    """Answer one request of a function URL.

    The URL itself establishes who calls: with IAM, and then everything is allowed, or not at all. So the key
    and the name that a client sends are replaced by what the URL says.
    """
    signed = event["requestContext"].get("authorizer", {}).get("iam")
    event["headers"]["x-api-key"] = (Role.ADMIN if signed else Role.PUBLIC).value
    event["headers"][CALLER_HEADER] = signed["userArn"] if signed else ""
    with request(_settings, context, "http"):
        return _app(event, context)
