"""Faults of DynamoDB, injected between its client and the engine."""

import json
import random
from collections import Counter
from typing import Any

from botocore.exceptions import ConnectionClosedError, ReadTimeoutError

from core.storage.connections import Answer
from core.storage.database import Database
from tests.support.wire import Request, cancelled, refused

_URL = "the engine's"
_THROTTLES = ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"]
_PASSING = ["TransactionConflict", "ThrottlingError", "ProvisionedThroughputExceeded"]
_UNPROCESSED = {"BatchGetItem": "UnprocessedKeys", "BatchWriteItem": "UnprocessedItems"}


class Faults:
    """Answers some requests with a fault, at a rate from 0 to 1; counts them by kind."""

    def __init__(self, db: Database, chance: random.Random) -> None:
        self.rate = 0.0
        self.made = Counter[str]()
        self._chance = chance
        self._connections: Any = db.client._connections  # type: ignore[attr-defined]
        self._send = self._connections.send
        self._connections.send = self._answer

    def remove(self) -> None:
        """Let all requests through again."""
        self._connections.send = self._send

    def _answer(self, headers: dict[str, str], body: bytes) -> Answer:
        operation = headers["X-Amz-Target"].rpartition(".")[2]
        if self._chance.random() >= self.rate:
            answer: Answer = self._send(headers, body)
            return answer
        kinds = ["throttled", "failed", "dropped", "failed after it was done", "lost after it was done"]
        if operation in _UNPROCESSED:
            kinds += ["in part"] * 3
        if operation in {"TransactWriteItems", "UpdateItem", "PutItem", "DeleteItem"}:
            kinds += ["in conflict"] * 2
        kind = self._chance.choice(kinds)
        self.made[kind] += 1
        match kind:
            case "throttled":
                return refused(self._chance.choice(_THROTTLES))
            case "in conflict":
                return self._conflict(operation, json.loads(body))
            case "failed":
                return _failed()
            case "dropped":
                raise ConnectionClosedError(endpoint_url=_URL, request=None)
            case "in part":
                return self._in_part(operation, headers, json.loads(body))
        self._send(headers, body)
        if kind == "failed after it was done":
            return _failed()
        raise ReadTimeoutError(endpoint_url=_URL)

    def _conflict(self, operation: str, body: Request) -> Answer:
        if operation != "TransactWriteItems":
            return refused("TransactionConflictException")
        reasons = ["None"] * len(body["TransactItems"])
        reasons[self._chance.randrange(len(reasons))] = self._chance.choice(_PASSING)
        return cancelled(*reasons)

    def _in_part(self, operation: str, headers: dict[str, str], body: Request) -> Answer:
        """Serve some of a batch and leave the others unprocessed."""
        [(table, of_table)] = body["RequestItems"].items()
        everything = of_table["Keys"] if operation == "BatchGetItem" else of_table
        served = [one for one in everything if self._chance.random() < 0.5]
        left = [one for one in everything if one not in served]

        def batch(of: list[Any]) -> Any:
            return {**of_table, "Keys": of} if operation == "BatchGetItem" else of

        found: dict[str, Any] = {"Responses": {table: []}} if operation == "BatchGetItem" else {}
        if served:
            some = json.dumps({**body, "RequestItems": {table: batch(served)}}).encode()
            found = json.loads(self._send(headers, some).content)
        found[_UNPROCESSED[operation]] = {table: batch(left)} if left else {}
        return Answer(200, {}, json.dumps(found).encode())


def _failed() -> Answer:
    return Answer(500, {}, json.dumps({"__type": "x#InternalServerError", "message": "failed"}).encode())
