# ruff: noqa: ARG002 - the methods of Strawberry's view keep its signatures
"""The local stack's WebSockets: AppSync's real-time protocol, and graphql-transport-ws."""

import asyncio
import contextlib
from collections.abc import Coroutine
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, WebSocketRoute
from starlette.websockets import WebSocket
from strawberry.asgi import GraphQL
from strawberry.subscriptions import GRAPHQL_TRANSPORT_WS_PROTOCOL
from strawberry.subscriptions.protocols.graphql_transport_ws.handlers import BaseGraphQLTransportWSHandler
from strawberry.subscriptions.protocols.graphql_transport_ws.types import ConnectionInitMessage

from local.server import appsync_realtime
from resolvers.http import Backend
from resolvers.request.auth import NotAuthenticated
from resolvers.request.hub import MAX_WAITING, Reader
from resolvers.schema import schema

KEEP_ALIVE_SECONDS = 60.0  # as on AppSync
TOO_SLOW = 1013  # "try again later"
_CLOSING_SECONDS = 10.0


def routes(
    backend: Backend, keep_alive_seconds: float = KEEP_ALIVE_SECONDS, max_waiting: int = MAX_WAITING
) -> list[BaseRoute]:
    """Return the routes of both protocols, which the client's subprotocol tells apart."""
    transport = _TransportWs(backend)

    async def connect(socket: WebSocket) -> None:
        reader = Reader(max_waiting)
        if GRAPHQL_TRANSPORT_WS_PROTOCOL in socket.scope["subprotocols"]:
            socket.scope["reader"] = reader
            serving = transport.serve(socket)
        else:
            serving = appsync_realtime.serve(socket, backend, reader, keep_alive_seconds)
        await _serve_unless_slow(socket, reader, serving)

    return [WebSocketRoute(path, connect) for path in ("/graphql", "/graphql/realtime")]


async def _serve_unless_slow(socket: WebSocket, reader: Reader, serving: Coroutine[Any, Any, Any]) -> None:
    """Serve a connection to its end, or until too many events wait for it: then drop them and close it."""
    task = asyncio.ensure_future(serving)
    try:
        await asyncio.wait({task, reader.too_slow}, return_when=asyncio.FIRST_COMPLETED)
        too_slow = not task.done()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    if too_slow:
        # A client that reads nothing does not read the close frame either.
        with contextlib.suppress(RuntimeError, OSError, TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                await socket.close(TOO_SLOW, "too slow: subscribe again, then ask for the present state")


@dataclass(frozen=True, slots=True)
class _Handshake:
    """What the server has of a client before its connection_init."""

    headers: dict[str, Any]
    reader: Reader


class _Handler(BaseGraphQLTransportWSHandler[Any, None]):
    """Strawberry's handler, which authenticates the client at its connection_init."""

    view: "_TransportWs"

    async def handle_connection_init(self, message: ConnectionInitMessage) -> None:
        """Authenticate by the payload or, for clients that can send them, the handshake's headers."""
        payload = message.get("payload")
        if isinstance(self.context, _Handshake) and isinstance(payload or {}, dict):
            credentials = {name.lower(): value for name, value in (payload or {}).items()}
            backend = self.view.backend
            try:
                caller = backend.credentials.caller(self.context.headers | credentials)
            except NotAuthenticated as refusal:
                await self.websocket.close(4403, str(refusal))
                return
            self.context = backend.context(caller, self.context.reader)
        await super().handle_connection_init(message)


class _TransportWs(GraphQL[Any, None]):
    """Strawberry's ASGI endpoint, used for WebSockets only."""

    graphql_transport_ws_handler_class = _Handler

    def __init__(self, backend: Backend) -> None:
        super().__init__(
            schema,
            graphql_ide=None,
            subscription_protocols=(GRAPHQL_TRANSPORT_WS_PROTOCOL,),
            connection_init_wait_timeout=timedelta(seconds=15),
            allowed_origins=("*",),  # safe: no cookie authorizes anything
        )
        self.backend = backend

    async def serve(self, socket: WebSocket) -> None:
        """Serve one connection until either side ends it."""
        await self.run(socket)

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> _Handshake:
        """Return the handshake; the connection_init replaces it."""
        return _Handshake(dict(request.headers), request.scope["reader"])
