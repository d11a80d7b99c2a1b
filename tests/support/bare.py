"""A DynamoDB client with a tenth of boto3's overhead, for tests that make tens of thousands of requests.

Unlike the lean client it has no hooks and signs nothing. There is one connection for each thread.
"""

import base64
import http.client
import json
import threading
from typing import Any
from urllib.parse import urlsplit

_HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    # The local engine requires a signature and accepts any.
    "Authorization": "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request,"
    " SignedHeaders=host, Signature=0",
    "X-Amz-Date": "20260101T000000Z",
}


class BareClient:
    """Makes the calls of a boto3 client, of DynamoDB or of its streams."""

    def __init__(self, client: Any) -> None:
        self.meta = client.meta
        self.exceptions = client.exceptions
        self._of_thread = threading.local()
        self._prefix = client.meta.service_model.metadata["targetPrefix"]

    @property
    def _connection(self) -> http.client.HTTPConnection:
        if not hasattr(self._of_thread, "connection"):
            netloc = urlsplit(self.meta.endpoint_url).netloc
            self._of_thread.connection = http.client.HTTPConnection(netloc)
        connection: http.client.HTTPConnection = self._of_thread.connection
        return connection

    def __getattr__(self, name: str) -> Any:
        operation = self.meta.method_to_api_mapping[name]
        headers = {**_HEADERS, "X-Amz-Target": f"{self._prefix}.{operation}"}

        def request(**arguments: Any) -> Any:
            connection = self._connection
            connection.request("POST", "/", json.dumps(arguments, default=_encode), headers)
            answer = connection.getresponse()
            body = json.loads(answer.read(), object_hook=_decode)
            if answer.status == http.client.OK:
                return body
            code = body["__type"].rpartition("#")[2]
            error = {**body, "Error": {"Code": code, "Message": body.get("message", body.get("Message", ""))}}
            raise self.exceptions.from_code(code)(error, operation)

        return request


def _encode(value: Any) -> str:
    return base64.b64encode(value).decode()


def _decode(value: dict[str, Any]) -> dict[str, Any]:
    if len(value) == 1 and isinstance(binary := value.get("B"), str):
        return {"B": base64.b64decode(binary)}
    return value
