"""Connections to DynamoDB that are kept open; errors are botocore's."""

import ssl
from binascii import crc32
from collections import deque
from collections.abc import Mapping
from functools import cached_property
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

from botocore.exceptions import (
    ConnectionClosedError,
    ConnectTimeoutError,
    EndpointConnectionError,
    ReadTimeoutError,
    SSLError,
)
from botocore.httpsession import get_cert_path
from urllib3.util import wait_for_read


class Answer:
    """An HTTP answer, by the names that botocore's hooks use."""

    def __init__(self, status_code: int, headers: Any, content: bytes) -> None:
        self.status_code = status_code
        self.headers = headers
        self.content = content
        checksum = headers.get("x-amz-crc32")
        arrived_whole = checksum is None or int(checksum) == crc32(content)
        self.is_sound = arrived_whole and status_code == HTTPStatus.OK


class Connections:
    """Open connections to one endpoint. Threads may share it: each request has a connection to itself.

    `config` is botocore's, for the timeouts and how many idle connections are kept; `certificates` is a file
    of those that are trusted, None for botocore's own.
    """

    def __init__(self, endpoint_url: str, config: Any, certificates: str | None = None) -> None:
        parts = urlsplit(endpoint_url)
        self.host = parts.netloc
        self._url = endpoint_url
        self._is_encrypted = parts.scheme == "https"
        self._path = parts.path or "/"
        self._config = config
        self._certificates = certificates
        self._idle: deque[HTTPConnection] = deque()

    def send(self, headers: Mapping[str, str], body: bytes) -> Answer:
        """Post a request and return the answer.

        Raises:
            botocore.exceptions.ConnectionError: there is no connection.
            botocore.exceptions.HTTPClientError: there is no answer; the request may have been served.
        """
        lines = [f"POST {self._path} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        head = "\r\n".join([*lines, f"Content-Length: {len(body)}", "\r\n"])
        connection = self._take()
        reusable = False
        try:
            connection.send(head.encode("latin-1") + body)  # at once: a packet less than http.client's own
            response = HTTPResponse(connection.sock, method="POST")
            response.begin()
            content = response.read()
            reusable = not response.will_close
        except TimeoutError as error:
            raise ReadTimeoutError(endpoint_url=self._url, error=error) from error
        except (OSError, HTTPException) as error:
            raise ConnectionClosedError(endpoint_url=self._url, error=error, request=None) from error
        finally:
            if reusable and len(self._idle) < self._config.max_pool_connections:
                self._idle.append(connection)
            else:
                connection.close()
        return Answer(response.status, response.headers, content)

    def _take(self) -> HTTPConnection:
        """Return the connection that was used last, if it is still open; else a new one."""
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return self._connect()
            if not wait_for_read(connection.sock, timeout=0):
                return connection
            connection.close()  # there is something to read, which must be its end

    def _connect(self) -> HTTPConnection:
        connection = (
            HTTPSConnection(self.host, context=self._tls_context)
            if self._is_encrypted
            else HTTPConnection(self.host)
        )
        connection.timeout = self._config.connect_timeout
        try:
            connection.connect()
        except TimeoutError as error:
            raise ConnectTimeoutError(endpoint_url=self._url, error=error) from error
        except ssl.SSLError as error:
            raise SSLError(endpoint_url=self._url, error=error) from error
        except OSError as error:
            raise EndpointConnectionError(endpoint_url=self._url, error=error) from error
        connection.sock.settimeout(self._config.read_timeout)
        return connection

    @cached_property
    def _tls_context(self) -> ssl.SSLContext:
        # Not until it is needed: to read the certificates takes as long as a hundred requests.
        return ssl.create_default_context(cafile=self._certificates or get_cert_path(verify=True))
