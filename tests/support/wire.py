"""What AWS does to requests and the local engine never does: refuse them for a conflict, lose the answer."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ReadTimeoutError
from urllib3 import HTTPResponse

from core.storage.database import Database

Request = dict[str, Any]
# Is given each request's operation and body; answers in the engine's stead, or leaves it to the engine.
Intercept = Callable[[str, Request], AWSResponse | None]


def intercept(monkeypatch: pytest.MonkeyPatch, db: Database, before: Intercept) -> None:
    """Let `before` answer the client's requests first."""
    _wrap(monkeypatch, db, lambda operation, body, send: before(operation, body) or send())


def lose_answers(
    monkeypatch: pytest.MonkeyPatch, db: Database, chosen: Callable[[str, Request], bool]
) -> None:
    """Let the engine do what the chosen requests say, and the client never hear of it; it will ask again."""

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
    """Give DynamoDB's answer to a request that it refuses."""
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": code, **details}
    content = json.dumps(body).encode()
    headers = {"content-type": "application/x-amz-json-1.0", "content-length": str(len(content))}
    raw = HTTPResponse(io.BytesIO(content), headers=headers, status=400, preload_content=False)
    return AWSResponse("", 400, headers, raw)


def cancelled(*reasons: str) -> AWSResponse:
    """Give DynamoDB's answer to a transaction that it cancels, with the reason for each of its items."""
    return refused(
        "TransactionCanceledException", CancellationReasons=[{"Code": reason} for reason in reasons]
    )
