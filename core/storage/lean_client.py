"""A DynamoDB client that answers as boto3's does, for a third of its CPU.

boto3 spends most of a request on checking it and on parsing the answer by the service's model. This client
leaves that out for the operations on items. Everything else stays botocore's: credentials, the signature,
events and their hooks, what is retried and when, errors.
"""

import time
from collections.abc import Mapping
from functools import partial
from http import HTTPStatus
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from botocore.auth import SigV4Auth
from botocore.compat import HTTPHeaders
from botocore.exceptions import BotoCoreError, HTTPClientError
from botocore.exceptions import ConnectionError as UnreachableError
from botocore.hooks import first_non_none_response
from botocore.parsers import create_parser

from core.storage.connections import Answer, Connections
from core.storage.wire_format import decode, encode

if TYPE_CHECKING:
    from botocore.credentials import Credentials
    from botocore.model import OperationModel

Response = tuple[Answer, dict[str, Any]]  # as it came, and parsed

OPERATIONS = {
    "get_item": "GetItem",
    "put_item": "PutItem",
    "update_item": "UpdateItem",
    "delete_item": "DeleteItem",
    "query": "Query",
    "batch_get_item": "BatchGetItem",
    "batch_write_item": "BatchWriteItem",
    "transact_get_items": "TransactGetItems",
    "transact_write_items": "TransactWriteItems",
}


class LeanClient:
    """Makes the calls of a boto3 client of DynamoDB. Threads may share it.

    Arguments are boto3's, but only DynamoDB checks them, and binary values must be bytes. What is no
    operation on items is left to boto3.
    """

    def __init__(self, client: Any, credentials: "Credentials | None", connections: Connections) -> None:
        service = client.meta.service_model
        self.boto3_client = client
        self._credentials = credentials
        self._connections = connections
        self._parser = create_parser(service.protocol)
        self._unsigned = {"Accept-Encoding": "identity", "User-Agent": client.meta.config.user_agent or ""}
        for method, operation in OPERATIONS.items():
            setattr(self, method, partial(self._call, service.operation_model(operation)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.boto3_client, name)

    def _call(self, model: "OperationModel", /, **params: Any) -> dict[str, Any]:
        emit = self.boto3_client.meta.events.emit
        context: dict[str, Any] = {}
        emit(f"before-parameter-build.dynamodb.{model.name}", params=params, model=model, context=context)
        request = {"headers": dict(self._unsigned), "body": encode(params), "context": context}
        emit(f"before-call.dynamodb.{model.name}", params=request, model=model, context=context)
        answer, parsed = self._send(model, request)
        event = f"after-call.dynamodb.{model.name}"
        emit(event, http_response=answer, parsed=parsed, model=model, context=context)
        if answer.status_code >= HTTPStatus.MULTIPLE_CHOICES:
            raise self.boto3_client.exceptions.from_code(parsed["Error"]["Code"])(parsed, model.name)
        return parsed

    def _send(self, model: "OperationModel", request: dict[str, Any]) -> Response:
        """Send a request, and again for as long as a hook of `needs-retry` asks for it."""
        attempts = 0
        while True:
            attempts += 1
            response: Response | None = None
            failure: BotoCoreError | None = None
            try:
                response = self._attempt(model, request)
                if response[0].is_sound:
                    break
            except (UnreachableError, HTTPClientError) as error:
                failure = error
            waits = self.boto3_client.meta.events.emit(
                f"needs-retry.dynamodb.{model.name}",
                response=response,
                endpoint=None,
                operation=model,
                attempts=attempts,
                caught_exception=failure,
                request_dict=request,
            )
            wait = first_non_none_response(waits)
            if wait is None:
                break
            time.sleep(wait)
        if response is None:
            raise cast("BotoCoreError", failure)
        response[1]["ResponseMetadata"]["RetryAttempts"] = attempts - 1
        return response

    def _attempt(self, model: "OperationModel", request: dict[str, Any]) -> Response:
        signed = self._signed_headers(model, request["body"])
        answer = self._connections.send({**request["headers"], **signed}, request["body"])
        if answer.is_sound:
            return answer, {**decode(answer.content), "ResponseMetadata": _about(answer)}
        response = {
            "status_code": answer.status_code,
            "headers": answer.headers,
            "body": answer.content,
            "context": {"operation_name": model.name},
        }
        parsed: dict[str, Any] = self._parser.parse(response, model.output_shape)  # type: ignore[arg-type]
        shape = model.service_model.shape_for_error_code(parsed.get("Error", {}).get("Code"))
        if shape is not None:
            parsed.update(self._parser.parse(response, shape))
        return answer, parsed

    def _signed_headers(self, model: "OperationModel", body: bytes) -> Mapping[str, str]:
        """Return the headers of a request that need a signature, and the signature."""
        service = model.service_model
        headers = HTTPHeaders()
        headers["Host"] = self._connections.host
        headers["Content-Type"] = "application/x-amz-json-1.0"
        headers["X-Amz-Target"] = f"DynamoDB_20120810.{model.name}"
        # The attributes of an AWSRequest that the signer reads: to make one takes as long as to sign it.
        request: Any = SimpleNamespace(
            method="POST",
            url=self.boto3_client.meta.endpoint_url,
            params={},
            headers=headers,
            body=body,
            context={},
        )
        # Each time, since they may have been renewed.
        credentials: Any = self._credentials and self._credentials.get_frozen_credentials()
        SigV4Auth(credentials, service.signing_name, self.boto3_client.meta.region_name).add_auth(request)
        return dict(headers.items())


def _about(answer: Answer) -> dict[str, Any]:
    headers = {name.lower(): value for name, value in answer.headers.items()}
    about = {"HTTPStatusCode": answer.status_code, "HTTPHeaders": headers}
    if "x-amzn-requestid" in headers:
        about["RequestId"] = headers["x-amzn-requestid"]
    return about
