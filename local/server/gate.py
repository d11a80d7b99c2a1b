"""Lets only pages of this machine use the local stack, whose keys everyone knows.

Any web page that a developer opens may send requests to localhost. A browser says in `Origin` which page
sends one. `Host` is checked too: a page whose domain has been pointed at 127.0.0.1 counts as of the same
origin, and sends none.
"""

import ipaddress
import json
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

ANY_ORIGIN = "*"


class Gate:
    """An ASGI middleware that refuses requests and sockets of other origins than this machine's.

    `origins` are let in too, such as `https://game.example`; `*` lets in all.
    """

    def __init__(self, app: ASGIApp, origins: Collection[str] = ()) -> None:
        self._app = app
        self._origins = frozenset(origin.rstrip("/").lower() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a socket, or refuse it with 403."""
        refusal = None if scope["type"] == "lifespan" else self._refusal(Headers(scope=scope))
        if refusal is None:
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": refusal})  # 403: not accepted yet
        else:
            errors = [{"errorType": "ForbiddenException", "message": refusal}]
            body = json.dumps({"errors": errors})
            await Response(body, 403, media_type="application/json")(scope, receive, send)

    def _refusal(self, headers: Headers) -> str | None:
        if ANY_ORIGIN in self._origins:
            return None
        host, origin = headers.get("host", ""), headers.get("origin")
        if not (_is_address(_name(f"//{host}")) or self._is_known(f"//{host}")):
            return "Host: must be this machine's name; `leaderboard run --allow-origin` lets in others"
        if origin is not None and not self._is_known(origin):
            return "Origin: must be a page of this machine; `leaderboard run --allow-origin` lets in others"
        return None

    def _is_known(self, url: str) -> bool:
        """Return whether a URL's host is this machine's, or the URL or its host is among the origins."""
        name = _name(url)
        if _is_local(name):
            return True
        if url.startswith("//"):
            return name in {_name(origin) for origin in self._origins}
        return url.lower() in self._origins


def _name(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _is_local(name: str) -> bool:
    if _is_address(name):
        return ipaddress.ip_address(name).is_loopback
    return name == "localhost" or name.endswith(".localhost")


def _is_address(name: str) -> bool:
    """Return whether a name is an IP address, which no domain can be pointed at."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
