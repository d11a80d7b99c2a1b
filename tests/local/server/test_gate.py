"""Which pages may use the local stack."""

import asyncio

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, WebSocketRoute
from starlette.types import Message
from starlette.websockets import WebSocket

from local.server.gate import Gate

HERE = [
    {"host": "localhost:8080"},
    {"host": "127.0.0.1:8080", "origin": "http://localhost:3000"},
    {"host": "[::1]:8080", "origin": "http://[::1]:3000"},
    {"host": "LOCALHOST", "origin": "https://app.localhost"},
    {"host": "10.0.2.2:8080"},  # an Android emulator's name for this machine
]
ELSEWHERE = [
    {"host": "localhost:8080", "origin": "https://evil.example"},
    {"host": "localhost:8080", "origin": "null"},  # a page in a sandboxed frame
    {"host": "localhost:8080", "origin": "http://localhost.evil.example"},
    {"host": "localhost:8080", "origin": "http://192.168.1.9"},
    {"host": "localhost:8080", "origin": "http://localhost@evil.example"},
    {"host": "localhost:8080", "origin": "http://[bad"},
    {"host": "rebound.example:8080"},
    {"host": ""},
]


def gated(*origins: str) -> Gate:
    async def page(_: Request) -> JSONResponse:
        return JSONResponse("ok")

    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        await websocket.close()

    return Gate(Starlette(routes=[Route("/", page), WebSocketRoute("/", socket)]), origins)


def status(gate: Gate, headers: dict[str, str], method: str = "GET") -> int:
    async def ask() -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(gate), base_url="http://x") as http:
            return await http.request(method, "/", headers=headers)

    return asyncio.run(ask()).status_code


def socket_answer(gate: Gate, headers: dict[str, str]) -> list[str]:
    """Connect a socket; return the kinds of message that the server sends."""
    sent: list[str] = []
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"type": "websocket", "path": "/", "headers": raw, "subprotocols": [], "query_string": b""}

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message["type"])

    asyncio.run(gate(scope, receive, send))
    return sent


@pytest.mark.parametrize("headers", HERE)
def test_pages_and_programs_of_this_machine_are_let_in(headers: dict[str, str]) -> None:
    assert status(gated(), headers) == 200


@pytest.mark.parametrize("headers", ELSEWHERE)
def test_pages_from_elsewhere_are_refused(headers: dict[str, str]) -> None:
    assert status(gated(), headers) == 403
    preflight = {**headers, "access-control-request-method": "POST"}
    assert status(gated(), preflight, "OPTIONS") == 403
    assert socket_answer(gated(), headers) == ["websocket.close"]


def test_an_option_lets_in_others() -> None:
    gate = gated("https://game.example/")
    assert status(gate, {"host": "localhost", "origin": "https://game.example"}) == 200
    assert status(gate, {"host": "game.example", "origin": "https://game.example"}) == 200
    assert status(gate, {"host": "localhost", "origin": "http://game.example"}) == 403
    assert status(gated("null"), {"host": "localhost", "origin": "null"}) == 200
    assert all(status(gated("*"), headers) == 200 for headers in ELSEWHERE)


def test_sockets_of_this_machine_are_let_in() -> None:
    assert socket_answer(gated(), {"host": "localhost"}) == ["websocket.accept", "websocket.close"]
