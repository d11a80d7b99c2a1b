"""The connection to DynamoDB: tables, batches and pages, consumed units, throttling."""

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import chain, count
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

from botocore.config import Config
from botocore.credentials import Credentials
from botocore.session import Session
from botocore.utils import get_environ_proxies

from core.domain.errors import InvalidInput, Throttled
from core.storage import clock
from core.storage.backoff import back_off
from core.storage.connections import Connections
from core.storage.faults import is_throttled, retry_passing
from core.storage.lean_client import LeanClient
from core.storage.parallel import batched, run_all

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, WriteRequestTypeDef

T = TypeVar("T")

# DynamoDB answers in milliseconds: it is better to retry than to wait for longer.
_CONFIG = Config(
    connect_timeout=2,
    read_timeout=5,
    max_pool_connections=64,
    retries={"mode": "standard", "total_max_attempts": 5},
)


@dataclass(frozen=True, slots=True)
class Tables:
    """The names of the five tables."""

    scores: str
    counters: str
    boards: str
    records: str
    receipts: str

    @classmethod
    def with_prefix(cls, prefix: str) -> "Tables":
        """Return the names of the tables of the stack called `prefix`."""
        return cls(**{table.name: f"{prefix}-{table.name}" for table in fields(cls)})


@dataclass(frozen=True, slots=True)
class Database:
    """A client, its tables, and this process's caches of them. Threads may share it."""

    client: "DynamoDBClient"
    tables: Tables
    _caches: dict[type[Any], Any] = field(default_factory=dict, compare=False, repr=False)

    def cache(self, kind: type[T]) -> T:
        """Return the connection's cache of one kind, a new one at first."""
        found = self._caches.get(kind)
        return cast("T", self._caches.setdefault(kind, kind()) if found is None else found)


@dataclass(frozen=True, slots=True)
class Budget:
    """The most capacity units, and the most requests, that reads may take."""

    units: float
    requests: int


@dataclass
class Meter:
    """The units that DynamoDB reports as consumed; with a `budget`, requests beyond it are refused."""

    read_units: float = 0.0
    write_units: float = 0.0
    requests: int = 0
    budget: Budget | None = None
    _lock: Lock = field(default_factory=Lock, repr=False)

    def add(self, operation: str, parsed: dict[str, Any]) -> None:
        """Add what one answer reports."""
        reported = parsed.get("ConsumedCapacity") or []
        tables = reported if isinstance(reported, list) else [reported]
        units = sum(table.get("CapacityUnits", 0.0) for table in tables)
        with self._lock:
            self.requests += 1
            if operation in _READS:
                self.read_units += units
            else:
                self.write_units += units

    def check_budget(self) -> None:
        """Refuse the next request if the budget is used up.

        Raises:
            InvalidInput: naming the budget.
        """
        budget = self.budget
        if budget and (self.requests >= budget.requests or self.read_units >= budget.units):
            raise InvalidInput(
                f"query: takes more than {budget.units:,.0f} read units or {budget.requests:,} requests of "
                "the database; ask for less at once"
            )


_BATCH_GET_LIMIT = 100
_BATCH_WRITE_LIMIT = 25
_BATCH_SECONDS = 10.0  # far below the 30 s of a request
_READS = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"})
_METERED = _READS | {"PutItem", "UpdateItem", "DeleteItem", "BatchWriteItem", "TransactWriteItems"}
_meters: ContextVar[tuple[Meter, ...]] = ContextVar("meters", default=())


@contextmanager
def metered(budget: Budget | None = None) -> Iterator[Meter]:
    """Measure what the block consumes, also in the threads of `core.storage.parallel`.

    With a budget, a request beyond it raises InvalidInput. A block that writes must not have one: it would
    end between two writes.
    """
    meter = Meter(budget=budget)
    token = _meters.set((*_meters.get(), meter))
    try:
        yield meter
    finally:
        _meters.reset(token)


def connect(
    tables: Tables,
    *,
    region: str,
    endpoint_url: str | None = None,
    access_key: str | None = None,
    secret_key: str | None = None,
) -> Database:
    """Return a connection; no call is made. Without keys, the usual AWS credentials apply.

    The client is lean (decision 19); boto3's if LEADERBOARD_DYNAMODB_CLIENT is "boto3" or a proxy is set.
    """
    # Not boto3.client: it imports S3's transfer manager, a third of a cold start.
    session = Session()
    client: Any = session.create_client(
        "dynamodb",
        region_name=region,
        endpoint_url=endpoint_url,
        aws_access_key_id=access_key,
        aws_secret_access_key=secret_key,
        config=_CONFIG,
    )
    events = client.meta.events
    events.register("before-parameter-build.dynamodb", _before_call)
    events.register("after-call.dynamodb", _after_call)
    events.register("needs-retry.dynamodb", retry_passing)
    url = client.meta.endpoint_url
    if os.environ.get("LEADERBOARD_DYNAMODB_CLIENT", "lean") != "boto3" and not get_environ_proxies(url):
        credentials = (
            Credentials(access_key, secret_key) if access_key and secret_key else session.get_credentials()
        )
        certificates = session.get_config_variable("ca_bundle")
        client = LeanClient(client, credentials, Connections(url, client.meta.config, certificates))
    return Database(client, tables)


def _before_call(params: dict[str, Any], model: Any, context: dict[str, Any], **_: object) -> None:
    context["sent"] = clock.steady()
    if model.name in _METERED:
        for meter in _meters.get():
            meter.check_budget()
        params["ReturnConsumedCapacity"] = "TOTAL"


def _after_call(
    http_response: Any, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: object
) -> None:
    clock.learn(http_response.headers.get("Date"), context["sent"])
    if model.name in _METERED:
        for meter in _meters.get():
            meter.add(model.name, parsed)
    if is_throttled(parsed):
        raise Throttled("the database is busy; try again in a moment")


def query_pages(db: Database, **query: Any) -> Iterator[dict[str, Any]]:
    """Yield the pages of a query: one round trip for each MB."""
    while True:
        answer: Any = db.client.query(**query)
        yield answer
        if "LastEvaluatedKey" not in answer:
            return
        query["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def query_all(db: Database, **query: Any) -> Iterator[dict[str, Any]]:
    """Yield the items of a query: half a read unit for each 4 KB (consistent: one)."""
    for answer in query_pages(db, **query):
        yield from answer["Items"]


def batch_get(
    db: Database,
    table: str,
    keys: "Sequence[Mapping[str, AttributeValueTypeDef]]",
    *,
    consistent: bool = False,
) -> list[dict[str, Any]]:
    """Read items by their keys, in no order: half a read unit for each 4 KB of an item (consistent: one).

    One round trip, and more if DynamoDB leaves keys unprocessed.

    Raises:
        Throttled: it leaves them unprocessed for too long.
    """
    reads = [partial(_get_batch, db, table, batch, consistent) for batch in batched(keys, _BATCH_GET_LIMIT)]
    return list(chain.from_iterable(run_all(reads)))


def _get_batch(
    db: Database,
    table: str,
    keys: "Sequence[Mapping[str, AttributeValueTypeDef]]",
    consistent: bool,  # noqa: FBT001
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    pauses = _pauses()
    while keys:
        next(pauses)
        answer = db.client.batch_get_item(RequestItems={table: {"Keys": keys, "ConsistentRead": consistent}})
        found += answer["Responses"].get(table, [])
        keys = answer.get("UnprocessedKeys", {}).get(table, {"Keys": []})["Keys"]
    return found


def batch_write(db: Database, table: str, requests: "Sequence[WriteRequestTypeDef]") -> None:
    """Put or delete items unconditionally, in no order: a write unit a KB of each.

    Raises:
        Throttled: DynamoDB leaves some unprocessed for too long; others may be written.
    """
    run_all([partial(_write_batch, db, table, batch) for batch in batched(requests, _BATCH_WRITE_LIMIT)])


def _write_batch(db: Database, table: str, requests: "Sequence[WriteRequestTypeDef]") -> None:
    pauses = _pauses()
    left: Any = requests
    while left:
        next(pauses)
        answer = db.client.batch_write_item(RequestItems={table: left})
        left = answer.get("UnprocessedItems", {}).get(table, [])


def _pauses() -> Iterator[None]:
    """Yield at once, then after growing pauses, for what a batch has left unprocessed.

    Raises:
        Throttled: it has been left unprocessed for ten seconds.
    """
    until = time.monotonic() + _BATCH_SECONDS
    yield
    for attempt in count(1):
        if time.monotonic() > until:
            raise Throttled("the database is busy; try again in a moment")
        back_off(attempt, base=0.025, longest=1.0)
        yield
