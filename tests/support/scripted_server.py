"""An HTTP server in DynamoDB's place that answers as it is told, and keeps what it was asked."""

import hashlib
import hmac
import json
import ssl
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple

SECRET = "a secret"  # what all requests are signed with


class Reply(NamedTuple):
    """What the server answers; without a status it closes the connection."""

    body: bytes = b"{}"
    status: int | None = 200
    headers: Mapping[str, str] = {}
    closes: bool = False  # the connection, after the answer and without saying so
    chunked: bool = False
    seconds: float = 0.0  # until it answers


class Request(NamedTuple):
    """What the server was asked."""

    headers: Mapping[str, str]
    body: bytes
    connection: int  # a number for each

    @property
    def operation(self) -> str:
        return self.headers["X-Amz-Target"].rpartition(".")[2]

    @property
    def credential(self) -> str:
        """Return the access key that signed it."""
        return self.headers["Authorization"].partition("Credential=")[2].partition("/")[0]

    def is_signed_with(self, secret: str) -> bool:
        """Return whether the signature is right, by AWS's description of version 4."""
        fields = dict(
            part.split("=", 1) for part in self.headers["Authorization"].partition(" ")[2].split(", ")
        )
        _, *scope = fields["Credential"].split("/")
        names = fields["SignedHeaders"]
        canonical = [
            "POST",
            "/",
            "",
            *(f"{name}:{self.headers[name].strip()}" for name in names.split(";")),
            "",
            names,
            hashlib.sha256(self.body).hexdigest(),
        ]
        digest = hashlib.sha256("\n".join(canonical).encode()).hexdigest()
        to_sign = "\n".join(["AWS4-HMAC-SHA256", self.headers["X-Amz-Date"], "/".join(scope), digest])
        key = f"AWS4{secret}".encode()
        for part in (*scope, to_sign):
            key = hmac.digest(key, part.encode(), "sha256")
        return key.hex() == fields["Signature"]


@dataclass
class ScriptedServer:
    """Answers with the replies in turn, and with an empty object after the last."""

    url: str
    replies: deque[Reply] = field(default_factory=deque)
    requests: list[Request] = field(default_factory=list)

    def reply(self, *replies: Reply) -> None:
        """Answer the next requests so."""
        self.replies.extend(replies)


def error(code: str, status: int = 400, **details: Any) -> Reply:
    """Return DynamoDB's answer to a request that it refuses."""
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": f"{code} it is", **details}
    return Reply(json.dumps(body).encode(), status)


DROPPED = Reply(status=None)


@contextmanager
def scripted_server(certificate: tuple[Path, Path] | None = None) -> Iterator[ScriptedServer]:
    """Serve for the length of the block, with TLS if there is a certificate."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer is one packet

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            scripted.requests.append(Request(self.headers, body, id(self)))  # type: ignore[arg-type]
            reply = scripted.replies.popleft() if scripted.replies else Reply()
            if reply.seconds:
                time.sleep(reply.seconds)
            self.close_connection = reply.closes or reply.status is None
            if reply.status is None:
                return
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.chunked:
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                for start in range(0, len(reply.body), 7):
                    chunk = reply.body[start : start + 7]
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(chunk), chunk))
                self.wfile.write(b"0\r\n\r\n")
            else:
                self.send_header("Content-Length", str(len(reply.body)))
                self.end_headers()
                self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    scheme = "http"
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    scripted = ScriptedServer(f"{scheme}://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=[0.01], daemon=True)
    thread.start()
    try:
        yield scripted
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
