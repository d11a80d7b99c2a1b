"""AppSync's real-time protocol, as Amplify and gql speak it. Its subprotocol is named graphql-ws.

A client connects with its credentials, sends `connection_init`, then starts and stops subscriptions, each
with credentials again. Where AppSync's documentation is silent, this follows clients' reports: decision 13.
"""

import asyncio
import base64
import contextlib
import json
import logging
from collections.abc import Mapping
from typing import Any

from graphql import GraphQLError
from starlette.websockets import WebSocket, WebSocketDisconnect
from strawberry.schema.exceptions import InvalidOperationTypeError
from strawberry.types.execution import PreExecutionError
from strawberry.utils.aio import aclosing

from resolvers.http import Backend
from resolvers.request.auth import Caller, NotAuthenticated
from resolvers.request.errors import describe, describe_exception
from resolvers.request.hub import Reader
from resolvers.schema import schema

PROTOCOL = "graphql-ws"
MAX_SUBSCRIPTIONS = 100
MAX_PAYLOAD_BYTES = 240 * 1024
CONNECTION_TIMEOUT_MS = 300_000
INIT_SECONDS = 15.0  # that a client may take for its `connection_init`
_HEADER_PROTOCOL = "header-"

Message = Mapping[str, Any]

_log = logging.getLogger(__name__)


async def serve(socket: WebSocket, backend: Backend, reader: Reader, keep_alive_seconds: float) -> None:
    """Serve one connection until either side ends it."""
    supported = PROTOCOL in socket.scope["subprotocols"]
    await socket.accept(subprotocol=PROTOCOL if supported else None)
    connection = _Connection(socket, backend, reader)
    with contextlib.suppress(WebSocketDisconnect):
        if not supported:
            return await connection.refuse({"message": "SubProtocolNotSupportedError", "errorCode": 400})
        try:
            async with asyncio.timeout(INIT_SECONDS):
                await connection.wait_for_init()
        except TimeoutError:
            return await socket.close(1008, "connection_init: must come first")
        try:
            backend.credentials.caller(_credentials(socket))
        except NotAuthenticated as refusal:
            error = {"errorType": "UnauthorizedException", "message": str(refusal), "errorCode": 401}
            return await connection.refuse(error)
        except (ValueError, RecursionError):
            error = {"errorType": "BadRequestException", "message": "header: must be JSON in base64"}
            return await connection.refuse(error | {"errorCode": 400})
        await connection.run(keep_alive_seconds)
    return None


def _credentials(socket: WebSocket) -> Mapping[str, Any]:
    """Return a connection's headers: from the query, a subprotocol, or the handshake itself.

    Raises:
        ValueError: the query or the subprotocol holds no JSON object in base64.
    """
    header = socket.query_params.get("header")
    for protocol in socket.scope["subprotocols"]:
        if header is None and protocol.startswith(_HEADER_PROTOCOL):
            header = protocol.removeprefix(_HEADER_PROTOCOL)
    if header is None:
        return socket.headers
    # gql leaves base64's "+" unescaped in the query, where it means a blank; Amplify omits the padding.
    unpadded = header.replace(" ", "+").rstrip("=").translate(str.maketrans("-_", "+/"))
    headers = json.loads(base64.b64decode(unpadded + "=" * (-len(unpadded) % 4), validate=True))
    if not isinstance(headers, dict):
        raise ValueError("must be a JSON object")  # noqa: TRY004 - callers expect a ValueError
    return _lower(headers)


def _lower(headers: object) -> Mapping[str, Any]:
    """Return headers with lower-case names; none if `headers` is no object."""
    return {name.lower(): value for name, value in headers.items()} if isinstance(headers, dict) else {}


class _MalformedStart(Exception):
    """A start message breaks a rule; the exception names it."""


class _Connection:
    """One client's socket, and its subscriptions by the ids that the client chose."""

    def __init__(self, socket: WebSocket, backend: Backend, reader: Reader) -> None:
        self._socket = socket
        self._backend = backend
        self._reader = reader
        self._subscriptions: dict[str, asyncio.Task[None]] = {}

    async def refuse(self, error: Message) -> None:
        """Send a connection error and close the socket."""
        await self._send({"type": "connection_error", "payload": {"errors": [error]}})
        await self._socket.close(1008)

    async def wait_for_init(self) -> None:
        """Wait for the client's `connection_init`; ignore any other message."""
        while (await self._receive()).get("type") != "connection_init":
            pass

    async def run(self, keep_alive_seconds: float) -> None:
        """Start and stop subscriptions as the client asks, until it disconnects."""
        await self._send(
            {"type": "connection_ack", "payload": {"connectionTimeoutMs": CONNECTION_TIMEOUT_MS}}
        )
        keep_alive = asyncio.create_task(self._keep_alive(keep_alive_seconds))
        try:
            while True:
                await self._handle(await self._receive())
        finally:
            tasks = [keep_alive, *self._subscriptions.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _keep_alive(self, seconds: float) -> None:
        with contextlib.suppress(WebSocketDisconnect):
            while True:
                await self._send({"type": "ka"})
                await asyncio.sleep(seconds)

    async def _handle(self, message: Message) -> None:
        kind, id_ = message.get("type"), message.get("id")
        if kind == "start" and isinstance(id_, str):
            await self._start(id_, message.get("payload"))
        elif kind == "stop" and isinstance(id_, str):
            await self._stop(id_)
        elif kind != "connection_init":
            error = _error("UnsupportedOperation", "unknown not supported through the realtime channel")
            await self._send({"type": "error", "payload": {"errors": [error]}})

    async def _start(self, id_: str, payload: object) -> None:
        if id_ in self._subscriptions:
            await self._fail(id_, [_error("DuplicatedOperationError", f"Duplicated operation with id {id_}")])
        elif len(self._subscriptions) >= MAX_SUBSCRIPTIONS:
            message = f"Max number of {MAX_SUBSCRIPTIONS} subscriptions reached"
            await self._fail(id_, _error("MaxSubscriptionsReachedError", message))
        else:
            self._subscriptions[id_] = asyncio.create_task(self._subscription(id_, payload))

    async def _stop(self, id_: str) -> None:
        task = self._subscriptions.pop(id_, None)
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
            await self._send({"type": "complete", "id": id_})

    async def _subscription(self, id_: str, payload: object) -> None:
        """Run a subscription from its start to its end."""
        try:
            caller, request = self._read_start(payload)
            await self._push(id_, caller, request)
        except WebSocketDisconnect:
            pass
        except NotAuthenticated as refusal:
            await self._fail(id_, [_error("UnauthorizedException", str(refusal))])
        except _MalformedStart as refusal:
            await self._fail(id_, [_error("BadRequestException", str(refusal))])
        except Exception as error:
            await self._fail(id_, [_error(*describe_exception(error))])
        finally:
            if self._subscriptions.get(id_) is asyncio.current_task():
                del self._subscriptions[id_]

    async def _push(self, id_: str, caller: Caller, request: dict[str, Any]) -> None:
        context = self._backend.context(caller, self._reader)

        async def acknowledge() -> None:
            await self._send({"type": "start_ack", "id": id_})

        context.acknowledge = acknowledge
        results = await schema.subscribe(
            request["query"],
            variable_values=request.get("variables"),
            context_value=context,
            operation_name=request.get("operationName"),
        )
        async with aclosing(results):
            async for result in results:
                if isinstance(result, PreExecutionError):
                    return await self._fail(id_, [_from_graphql(error) for error in result.errors or ()])
                payload: dict[str, Any] = {"data": result.data}
                if result.errors:
                    payload["errors"] = [
                        {"path": error.path, "message": error.message} for error in result.errors
                    ]
                await self._send_data(id_, payload)
        return None

    def _read_start(self, payload: object) -> tuple[Caller, dict[str, Any]]:
        """Return who subscribes, and the GraphQL request.

        Raises:
            NotAuthenticated: the credentials are missing or not valid.
            _MalformedStart: the request is missing or malformed.
        """
        parts = payload if isinstance(payload, dict) else {}
        extensions = parts.get("extensions")
        authorization = extensions.get("authorization") if isinstance(extensions, dict) else None
        caller = self._backend.credentials.caller(_lower(authorization))
        try:
            request = json.loads(parts["data"])
        except (KeyError, TypeError, ValueError, RecursionError):
            request = None
        query = request.get("query") if isinstance(request, dict) else None
        if not (isinstance(query, str) and query):
            raise _MalformedStart("payload.data: must be a JSON text with a query")
        if not isinstance(request.get("variables") or {}, dict):
            raise _MalformedStart("payload.data: variables must be an object")
        return caller, request

    async def _send_data(self, id_: str, payload: Message) -> None:
        text = json.dumps(payload)
        if len(text) > MAX_PAYLOAD_BYTES:  # perhaps only because of ASCII escapes: measure it as UTF-8
            size = len(json.dumps(payload, ensure_ascii=False).encode(errors="surrogatepass"))
            if size > MAX_PAYLOAD_BYTES:  # AppSync drops it too, without a message
                _log.warning("dropped an event of %d bytes; the limit is %d", size, MAX_PAYLOAD_BYTES)
                return
        await self._socket.send_text(f'{{"type": "data", "id": {json.dumps(id_)}, "payload": {text}}}')

    async def _fail(self, id_: str, errors: list[Message] | Message) -> None:
        with contextlib.suppress(WebSocketDisconnect):
            await self._send({"type": "error", "id": id_, "payload": {"errors": errors}})

    async def _receive(self) -> Message:
        """Return the next message; an empty one for anything but a JSON object."""
        try:
            message = json.loads(await self._socket.receive_text())
        except (ValueError, RecursionError, KeyError):  # KeyError: a binary message
            return {}
        return message if isinstance(message, dict) else {}

    async def _send(self, message: Message) -> None:
        await self._socket.send_text(json.dumps(message))


def _error(error_type: str, message: str) -> Message:
    return {"errorType": error_type, "message": message}


def _from_graphql(error: GraphQLError) -> Message:
    if isinstance(error.original_error, InvalidOperationTypeError):
        return _error("UnsupportedOperation", "only subscriptions are supported through the realtime channel")
    described = describe(error)
    return {name: described[name] for name in ("errorType", "message", "path") if name in described}
