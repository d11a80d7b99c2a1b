# ruff: noqa: ARG002 - overridden methods keep the signatures of Strawberry's view
"""The schema over HTTP with AppSync's responses: POST and GET /graphql, and GET /health."""

import json
import logging
from dataclasses import dataclass, field

from cross_web import HTTPException, StarletteRequestAdapter
from graphql import GraphQLSyntaxError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.http import GraphQLHTTPResponse
from strawberry.http.base import BaseRequestProtocol
from strawberry.types import ExecutionResult

from core.boards import Boards
from core.storage.database import Database
from resolvers.request.auth import Caller, Credentials, NotAuthenticated
from resolvers.request.context import Context
from resolvers.request.errors import INTERNAL_FAILURE, INTERNAL_FAILURE_MESSAGE, describe
from resolvers.request.hub import Hub, Reader
from resolvers.request.workers import SHARED, SubmissionWorkers
from resolvers.schema import schema

MAX_BODY_BYTES = 1_000_000
UNPARSEABLE = "Unable to parse GraphQL query."

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Backend:
    """What an endpoint uses.

    The database, the credentials it accepts, the hub it publishes to and the workers for submissions.
    """

    db: Database
    boards: Boards
    credentials: Credentials
    hub: Hub = field(default_factory=Hub)
    submissions: SubmissionWorkers = SHARED

    def caller(self, request: HTTPConnection) -> Caller:
        """Return who sends a request, by its headers.

        Raises:
            NotAuthenticated: a key or token is missing or not valid.
        """
        return self.credentials.caller(request.headers)

    def context(self, caller: Caller, reader: Reader | None = None) -> Context:
        """Return the context of one request; `reader` is that of the WebSocket it came over."""
        return Context(
            db=self.db,
            boards=self.boards,
            caller=caller,
            hub=self.hub,
            submissions=self.submissions,
            reader=reader,
        )


def serve(backend: Backend) -> Starlette:
    """Return the ASGI application over a backend."""
    return Starlette(
        routes=[
            Route("/graphql", _Endpoint(backend), methods=["GET", "POST"]),
            Route("/health", _health, methods=["GET"]),
        ],
        # Safe for every origin: requests are authorized by a header, never by a cookie.
        middleware=[
            Middleware(
                CORSMiddleware, allow_origins=["*"], allow_methods=["GET", "POST"], allow_headers=["*"]
            )
        ],
    )


async def _health(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


class _BoundedRequest(StarletteRequestAdapter):
    """A request whose body is read up to a limit."""

    async def get_body(self) -> bytes:
        body = bytearray()
        async for chunk in self._request.stream():
            body += chunk
            if len(body) > MAX_BODY_BYTES:
                raise HTTPException(413, f"Request body is larger than {MAX_BODY_BYTES} bytes.")
        if not body:
            raise HTTPException(400, "Request body is empty.")
        return bytes(body)


class _Endpoint(GraphQL[Context, None]):
    """Strawberry's ASGI endpoint with AppSync's API keys and errors."""

    request_adapter_class = _BoundedRequest

    def __init__(self, backend: Backend) -> None:
        super().__init__(schema, graphql_ide=None, subscription_protocols=())
        self._backend = backend

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self.run(Request(scope, receive))
        except ClientDisconnect:
            return  # no one is left to answer
        except HTTPException as refusal:
            error_type = (
                "UnauthorizedException" if refusal.status_code == 401 else "MalformedHttpRequestException"
            )
            response = _refusal(refusal.status_code, error_type, refusal.reason)
        except Exception:
            _log.exception("unexpected error")
            response = _refusal(500, INTERNAL_FAILURE, INTERNAL_FAILURE_MESSAGE)
        await response(scope, receive, send)

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> Context:
        """Return the context with the caller.

        Raises:
            HTTPException: 401, the key or token is missing or not valid.
        """
        try:
            return self._backend.context(self._backend.caller(request))
        except NotAuthenticated as refusal:
            raise HTTPException(401, str(refusal)) from None

    def should_render_graphql_ide(self, request: BaseRequestProtocol) -> bool:
        """Return false: the local server serves GraphiQL itself."""
        return False

    def parse_json(self, data: str | bytes) -> object:
        """Parse a JSON object.

        Raises:
            HTTPException: 400, the body is not one; Strawberry would fail with 500.
        """
        try:
            parsed = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise HTTPException(400, UNPARSEABLE) from error
        if not isinstance(parsed, dict):
            raise HTTPException(400, UNPARSEABLE)
        return parsed

    async def process_result(self, request: Request, result: ExecutionResult) -> GraphQLHTTPResponse:
        """Return the response in AppSync's shape.

        Raises:
            HTTPException: 400, the query has a syntax error, as on AppSync.
        """
        response: GraphQLHTTPResponse = {"data": result.data}
        if result.errors:
            if isinstance(result.errors[0], GraphQLSyntaxError):
                raise HTTPException(400, f"{UNPARSEABLE} {result.errors[0].message}")
            response["errors"] = [describe(error) for error in result.errors]
        response["extensions"] = result.extensions
        return response


def _refusal(status: int, error_type: str, message: str) -> Response:
    # Starlette's JSONResponse fails on a lone surrogate, which a message may quote from the request.
    return Response(
        json.dumps({"errors": [{"errorType": error_type, "message": message}]}),
        status_code=status,
        media_type="application/json",
        headers={"x-amzn-ErrorType": error_type},
    )
