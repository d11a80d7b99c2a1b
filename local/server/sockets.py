# ruff: noqa: ARG002 - the methods of Strawberry's view keep its signatures
"""The WebSockets of the local stack: AppSync's protocol, and graphql-transport-ws for everyone else."""

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
from resolvers.auth import NotAuthenticated
from resolvers.http import Backend
from resolvers.hub import MAX_WAITING, Reader
from resolvers.schema import schema

KEEP_ALIVE_SECONDS = 60.0  # as AppSync
TOO_SLOW = 1013  # "try again later"
_CLOSING_SECONDS = 10.0


def routes(
    backend: Backend, keep_alive_seconds: float = KEEP_ALIVE_SECONDS, max_waiting: int = MAX_WAITING
) -> list[BaseRoute]:
    """Give the routes of both protocols, told apart by the subprotocol that a client attempts."""
    transport = _TransportWs(backend)

    async def connect(socket: WebSocket) -> None:
        reader = Reader(max_waiting)
        if GRAPHQL_TRANSPORT_WS_PROTOCOL in socket.scope["subprotocols"]:
            socket.scope["reader"] = reader
            serving = transport.serve(socket)
        else:
            serving = appsync_realtime.serve(socket, backend, reader, keep_alive_seconds)
        await _while_fast_enough(socket, reader, serving)

    return [WebSocketRoute(path, connect) for path in ("/graphql", "/graphql/realtime")]


async def _while_fast_enough(socket: WebSocket, reader: Reader, serving: Coroutine[Any, Any, Any]) -> None:
    """Serve a connection to its end, or until too much waits for it: then forget all of it, and close it."""
    task = asyncio.ensure_future(serving)
    try:
        await asyncio.wait({task, reader.too_slow}, return_when=asyncio.FIRST_COMPLETED)
        too_slow = not task.done()
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
    if too_slow:
        # A client that reads nothing at all does not take the farewell either.
        with contextlib.suppress(RuntimeError, OSError, TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                await socket.close(TOO_SLOW, "too slow: subscribe again, then ask for the present state")


@dataclass(frozen=True, slots=True)
class _Greeting:
    """What is known of a client before its connection_init."""

    headers: dict[str, Any]
    reader: Reader


class _Handler(BaseGraphQLTransportWSHandler[Any, None]):
    """Strawberry's handler; it knows the caller once there is a connection_init."""

    view: "_TransportWs"

    async def handle_connection_init(self, message: ConnectionInitMessage) -> None:
        """Know the caller by the payload or, where a client can send them, by the handshake's headers."""
        payload = message.get("payload")
        if isinstance(self.context, _Greeting) and isinstance(payload or {}, dict):
            given = {name.lower(): value for name, value in (payload or {}).items()}
            backend = self.view.backend
            try:
                caller = backend.credentials.caller(self.context.headers | given)
            except NotAuthenticated as refusal:
                await self.websocket.close(4403, str(refusal))
                return
            self.context = backend.context(caller, self.context.reader)
        await super().handle_connection_init(message)


class _TransportWs(GraphQL[Any, None]):
    """Strawberry's ASGI endpoint, for sockets alone."""

    graphql_transport_ws_handler_class = _Handler

    def __init__(self, backend: Backend) -> None:
        super().__init__(
            schema,
            graphql_ide=None,
            subscription_protocols=(GRAPHQL_TRANSPORT_WS_PROTOCOL,),
            connection_init_wait_timeout=timedelta(seconds=15),
            allowed_origins=("*",),  # no cookie authorizes anything
        )
        self.backend = backend

    async def serve(self, socket: WebSocket) -> None:
        """Serve one connection until either side ends it."""
        await self.run(socket)

    async def get_context(self, request: Request | WebSocket, response: Response | WebSocket) -> _Greeting:
        """Give what is known so far."""
        return _Greeting(dict(request.headers), request.scope["reader"])
