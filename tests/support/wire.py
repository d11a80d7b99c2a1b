"""Faults that AWS has and the local engine has not: conflicts with transactions, lost answers."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from core.storage.connections import Answer
from core.storage.database import Database

Request = dict[str, Any]
# Takes a request's operation and body; returns an answer, or None to let the engine answer.
Intercept = Callable[[str, Request], Answer | None]


def intercept(monkeypatch: pytest.MonkeyPatch, db: Database, before: Intercept) -> None:
    """Let `before` answer the client's requests in place of the engine."""
    wrap(monkeypatch, db, lambda operation, body, send: before(operation, body) or send())


def lose_answers(
    monkeypatch: pytest.MonkeyPatch, db: Database, chosen: Callable[[str, Request], bool]
) -> None:
    """Lose the engine's answers to the chosen requests, so that the client retries what is done."""

    def lossy(operation: str, body: Request, send: Callable[[], Answer]) -> Answer:
        answer = send()
        if chosen(operation, body):
            raise ReadTimeoutError(endpoint_url="the engine's")
        return answer

    wrap(monkeypatch, db, lossy)


def wrap(
    monkeypatch: pytest.MonkeyPatch,
    db: Database,
    around: Callable[[str, Request, Callable[[], Answer]], Answer],
) -> None:
    """Call `around` for each request, with its operation, its body, and what sends it."""
    connections = db.client._connections  # type: ignore[attr-defined]
    send = connections.send

    def wrapped(headers: dict[str, str], body: bytes) -> Answer:
        operation = headers["X-Amz-Target"].rpartition(".")[2]
        return around(operation, json.loads(body), lambda: send(headers, body))

    monkeypatch.setattr(connections, "send", wrapped)


def refused(code: str, **details: Any) -> Answer:
    """Return DynamoDB's answer to a request that it refuses."""
    body = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": code, **details}
    return Answer(400, {}, json.dumps(body).encode())


def cancelled(*reasons: str) -> Answer:
    """Return DynamoDB's answer to a cancelled transaction, with a reason for each of its items."""
    return refused(
        "TransactionCanceledException", CancellationReasons=[{"Code": reason} for reason in reasons]
    )
