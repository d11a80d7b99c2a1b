"""Faults that AWS has and the local engine has not: conflicts with transactions, lost answers."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.compat import HTTPHeaders
from botocore.exceptions import ReadTimeoutError
from urllib3 import HTTPResponse

from core.storage.database import Database

Request = dict[str, Any]
# Takes a request's operation and body; returns an answer, or None to let the engine answer.
Intercept = Callable[[str, Request], AWSResponse | None]


def intercept(monkeypatch: pytest.MonkeyPatch, db: Database, before: Intercept) -> None:
    """Let `before` answer the client's requests in place of the engine."""
    _wrap(monkeypatch, db, lambda operation, body, send: before(operation, body) or send())


def lose_answers(
    monkeypatch: pytest.MonkeyPatch, db: Database, chosen: Callable[[str, Request], bool]
) -> None:
    """Lose the engine's answers to the chosen requests, so that the client retries what is done."""

    def lossy(operation: str, body: Request, send: Callable[[], AWSResponse]) -> AWSResponse:
        answer = send()
        if chosen(operation, body):
            raise ReadTimeoutError(endpoint_url="the engine's")
        return answer

    _wrap(monkeypatch, db, lossy)


def _wrap(
    monkeypatch: pytest.MonkeyPatch,
    db: Database,
    around: Callable[[str, Request, Callable[[], AWSResponse]], AWSResponse],
) -> None:
    session = db.client._endpoint.http_session  # type: ignore[attr-defined]
    send = session.send

    def wrapped(request: Any) -> AWSResponse:
        target = request.headers["X-Amz-Target"]
        operation = (target.decode() if isinstance(target, bytes) else target).rpartition(".")[2]
        return around(operation, json.loads(request.body), lambda: send(request))

    monkeypatch.setattr(session, "send", wrapped)


def refused(code: str, **details: Any) -> AWSResponse:
    """Return DynamoDB's answer to a request that it refuses."""
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": code, **details}
    content = json.dumps(body).encode()
    headers = {"content-type": "application/x-amz-json-1.0", "content-length": str(len(content))}
    raw = HTTPResponse(io.BytesIO(content), headers=headers, status=400, preload_content=False)
    return AWSResponse("", 400, HTTPHeaders.from_dict(headers), raw)


def cancelled(*reasons: str) -> AWSResponse:
    """Return DynamoDB's answer to a cancelled transaction, with a reason for each of its items."""
    return refused(
        "TransactionCanceledException", CancellationReasons=[{"Code": reason} for reason in reasons]
    )
