"""A DynamoDB client of a tenth of boto3's work a request, for tests that make tens of thousands of them.

The same engine, requests, answers and exceptions; one connection, for one thread at a time.
"""

import base64
import http.client
import json
from typing import Any
from urllib.parse import urlsplit

_HEADERS = {
    "Content-Type": "application/x-amz-json-1.0",
    # The local engine looks for a signature and takes any.
    "Authorization": "AWS4-HMAC-SHA256 Credential=local/20260101/us-east-1/dynamodb/aws4_request,"
    " SignedHeaders=host, Signature=0",
    "X-Amz-Date": "20260101T000000Z",
}


class LeanClient:
    """Makes the calls of a boto3 client of DynamoDB or of its streams."""

    def __init__(self, client: Any) -> None:
        self.meta = client.meta
        self.exceptions = client.exceptions
        self._connection = http.client.HTTPConnection(urlsplit(client.meta.endpoint_url).netloc)
        self._prefix = client.meta.service_model.metadata["targetPrefix"]

    def __getattr__(self, name: str) -> Any:
        operation = self.meta.method_to_api_mapping[name]
        headers = {**_HEADERS, "X-Amz-Target": f"{self._prefix}.{operation}"}

        def request(**arguments: Any) -> Any:
            self._connection.request("POST", "/", json.dumps(arguments, default=_written), headers)
            answer = self._connection.getresponse()
            body = json.loads(answer.read(), object_hook=_read)
            if answer.status == http.client.OK:
                return body
            code = body["__type"].rpartition("#")[2]
            error = {**body, "Error": {"Code": code, "Message": body.get("message", body.get("Message", ""))}}
            raise self.exceptions.from_code(code)(error, operation)

        return request


def _written(value: Any) -> str:
    return base64.b64encode(value).decode()


def _read(found: dict[str, Any]) -> dict[str, Any]:
    if len(found) == 1 and isinstance(binary := found.get("B"), str):
        return {"B": base64.b64decode(binary)}
    return found
