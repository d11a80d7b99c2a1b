# ruff: noqa: E402 - imported while the collector rests
"""Lambda: the schema over plain HTTP, behind an API Gateway HTTP API."""

import gc

gc.disable()  # what is imported stays for good; looking for garbage in it takes a seventh of a cold start

from typing import Any

from mangum import Mangum
from mangum.types import LambdaContext, LambdaEvent
from starlette.requests import HTTPConnection

from core.boards import Boards
from resolvers.http import Backend, serve
from resolvers.observability import configure_logging, request
from resolvers.request.auth import Caller, Credentials, check_origin, gateway_caller
from resolvers.settings import Settings
from resolvers.snapshot import reseed_after_restore


class _Gateway(Backend):
    """Takes API Gateway's word for who calls; no header counts."""

    def caller(self, request: HTTPConnection) -> Caller:
        return gateway_caller(request.scope["aws.event"]["requestContext"])


configure_logging()
reseed_after_restore()
_settings = Settings.from_environment()
_db = _settings.connect()
_boards = Boards(_db, retention=_settings.retention)
_app = Mangum(serve(_Gateway(_db, _boards, Credentials({}))), lifespan="off")

gc.freeze()
gc.enable()


def handler(event: LambdaEvent, context: LambdaContext) -> dict[str, Any]:
    """Answer one request of the HTTP API, whose stage adds the secret.

    Raises:
        PermissionError: the event did not come through the API.
    """
    check_origin((event.get("stageVariables") or {}).get("secret"))
    with request(_settings, context, "http"):
        return _app(event, context)
