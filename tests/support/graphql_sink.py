"""A small GraphQL endpoint that keeps the requests it receives and answers as a test asks."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]


def accept(request: "Received") -> Answer:
    """Answer as AppSync does when a mutation succeeds."""
    return 200, {"data": {"field": request.input}}


@dataclass(frozen=True)
class Received:
    """A request that was received."""

    headers: dict[str, str]
    body: dict[str, Any]
    raw: bytes

    @property
    def input(self) -> dict[str, Any]:
        found: dict[str, Any] = self.body["variables"]["input"]
        return found


@dataclass
class Sink:
    """The requests received, and how the next one is answered."""

    url: str = ""
    answer: Callable[[Received], Answer] = accept
    received: list[Received] = field(default_factory=list)
    connections: set[tuple[str, int]] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)


@contextmanager
def running_sink() -> Iterator[Sink]:
    sink = Sink()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            raw = self.rfile.read(int(self.headers["content-length"]))
            request = Received(
                {name.lower(): value for name, value in self.headers.items()}, json.loads(raw), raw
            )
            with sink.lock:
                sink.received.append(request)
                sink.connections.add(self.client_address)
            status, content = sink.answer(request)
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    sink.url = f"http://127.0.0.1:{server.server_port}/graphql"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield sink
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
