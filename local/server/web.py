"""The local stack's HTTP server: plain on one port, and over TLS on another where there is a certificate."""

import asyncio
import contextlib
import socket
import ssl
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette

from local.errors import StackError
from resolvers.http import MAX_BODY_BYTES

_HOST = "127.0.0.1"

Tls = tuple[socket.socket, ssl.SSLContext]


@contextlib.contextmanager
def listener(port: int, option: str) -> Iterator[socket.socket]:
    """Take a port, before anything else is started: it is the likeliest thing to be in the way.

    Raises:
        StackError: it is taken; `option` chooses another.
    """
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind((_HOST, port))
            taken.listen()
        except OSError as error:
            raise StackError(
                f"port {port} cannot be had ({error.strerror}); choose another: {option} N"
            ) from error
        yield taken


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Read a certificate and its key, in PEM.

    Raises:
        StackError: they cannot be read, or do not belong together.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise StackError(f"--tls-cert {certificate}, --tls-key {key}: {error}") from error
    return context


def config(app: Starlette, **more: Any) -> uvicorn.Config:
    """Configure uvicorn; `more` is its own."""
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=3,
        ws_max_size=MAX_BODY_BYTES,
        ws_per_message_deflate=False,  # events are small; each connection's compressor would not be
        **more,
    )


class Server(uvicorn.Server):
    """Takes requests in plain, and over TLS besides; says where everything is once it does."""

    def __init__(self, app: Starlette, welcome: str, tls: Tls | None) -> None:
        super().__init__(config(app))
        self._welcome = welcome
        self._tls = tls

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, as uvicorn does, and in the same way over TLS."""
        await super().startup(sockets)
        if self._tls is not None:
            taken, context = self._tls
            protocol = partial(
                self.config.http_protocol_class,  # type: ignore[call-arg]
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
            )
            loop = asyncio.get_running_loop()
            self.servers.append(await loop.create_server(protocol, sock=taken, ssl=context))
        sys.stdout.write(self._welcome)
        sys.stdout.flush()
