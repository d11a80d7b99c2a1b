"""The local stack's HTTP server: plain HTTP on one port, TLS on another if there is a certificate."""

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
    """Listen on a port. Call it before anything else starts: a port in use is the likeliest failure.

    Raises:
        StackError: the port is in use; `option` is the command line option that chooses another.
    """
    with socket.socket() as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((_HOST, port))
            listening.listen()
        except OSError as error:
            raise StackError(
                f"cannot listen on port {port} ({error.strerror}); choose another with {option} N"
            ) from error
        yield listening


def tls_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Load a certificate and its key, in PEM.

    Raises:
        StackError: they cannot be read, or do not match.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise StackError(f"--tls-cert {certificate}, --tls-key {key}: {error}") from error
    return context


def config(app: Starlette, **options: Any) -> uvicorn.Config:
    """Return uvicorn's configuration; `options` are passed on to it."""
    return uvicorn.Config(
        app,
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=3,
        ws_max_size=MAX_BODY_BYTES,
        ws_per_message_deflate=False,  # events are small; a compressor per connection is not
        **options,
    )


class Server(uvicorn.Server):
    """Serves plain HTTP, and TLS if configured; prints the welcome once it accepts requests."""

    def __init__(self, app: Starlette, welcome: str, tls: Tls | None) -> None:
        super().__init__(config(app))
        self._welcome = welcome
        self._tls = tls

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start uvicorn's server, then the same protocol over TLS."""
        await super().startup(sockets)
        if self._tls is not None:
            listening, context = self._tls
            protocol = partial(
                self.config.http_protocol_class,  # type: ignore[call-arg]
                config=self.config,
                server_state=self.server_state,
                app_state=self.lifespan.state,
            )
            loop = asyncio.get_running_loop()
            self.servers.append(await loop.create_server(protocol, sock=listening, ssl=context))
        sys.stdout.write(self._welcome)
        sys.stdout.flush()
