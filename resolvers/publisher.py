"""Publishes events as mutations, from which AppSync fires subscriptions.

One mutation a request, since AppSync loses aliased fields. It selects every field of the event, since
subscribers receive only those.
"""

import json
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from enum import Enum
from http import HTTPStatus

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.exceptions import (
    BotoCoreError,
    ConnectTimeoutError,
    EndpointConnectionError,
    NoCredentialsError,
)
from botocore.httpsession import URLLib3Session
from botocore.session import Session

from core.domain import scores
from core.domain.limits import MAX_EVENT_BYTES
from core.domain.model import Entry
from core.domain.periods import current_name
from core.notifications.events import Event, Published, RankChange, TopChange
from core.storage.backoff import delay

CONCURRENCY = 16  # requests at the same time: some 500 events a second
_ATTEMPTS = 4
_SECONDS = 10.0  # for all events of one call; what is left by then is failed
_TIMEOUT = 5  # seconds to connect, and again to wait for the response
_BASE_DELAY, _MAX_DELAY = 0.1, 2.0  # seconds
# What a retry cannot cure. An error without a type comes from the schema's validation.
_PERMANENT_STATUSES = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE})
_PERMANENT = frozenset({None, "InvalidInput", "LeaderboardNotFound", "MalformedHttpRequestException"})

RANK_FIELDS = (
    "leaderboardId",
    "participantId",
    "period",
    "periodAlias",
    "previousBucket",
    "bucket",
    "previousRank",
    "rank",
    "cause",
    "version",
    "at",
)
TOP_FIELDS = (
    "leaderboardId",
    "period",
    "periodAlias",
    "entries { rank participantId displayName score { value number display } achievedAt }",
    "version",
    "at",
)
PUBLISH_RANK = (
    "mutation ($input: RankBucketChangeInput!)"
    f" {{ publishRankBucketChange(input: $input) {{ {' '.join(RANK_FIELDS)} }} }}"
)
PUBLISH_TOP = (
    f"mutation ($input: TopChangeInput!) {{ publishTopChange(input: $input) {{ {' '.join(TOP_FIELDS)} }} }}"
)

Authorize = Callable[[AWSRequest], None]

_log = logging.getLogger(__name__)


class _Outcome(Enum):
    DELIVERED = "delivered"
    REFUSED = "refused"  # permanently
    FAILED = "failed"  # for now
    UNCERTAIN = "uncertain"  # it may have been delivered


_NOT_SENT = (EndpointConnectionError, ConnectTimeoutError, NoCredentialsError)


def signed(region: str) -> Authorize:
    """Sign requests to AppSync in a region with the credentials of the process."""
    session = Session()

    def sign(request: AWSRequest) -> None:
        credentials = session.get_credentials()
        if credentials is None:
            raise NoCredentialsError
        SigV4Auth(credentials.get_frozen_credentials(), "appsync", region).add_auth(request)

    return sign


def with_key(key: str) -> Authorize:
    """Send an API key."""

    def add(request: AWSRequest) -> None:
        request.headers["x-api-key"] = key

    return add


class Publisher:
    """Posts mutations to one GraphQL API over connections that it keeps open. Threads may share it."""

    def __init__(self, url: str, authorize: Authorize) -> None:
        self._url = url
        self._authorize = authorize
        self._session = URLLib3Session(timeout=_TIMEOUT, max_pool_connections=CONCURRENCY)
        self._pool = ThreadPoolExecutor(CONCURRENCY, thread_name_prefix="publish")
        self._lock = threading.Lock()
        self._counts = Counter[str]()

    def publish(self, events: Sequence[Event]) -> Published:
        """Publish events; those that are not done in the result are to be published another time.

        Takes some ten seconds at most. If no attempt delivers the first of them, the others are not tried, so
        that an outage costs little. An event whose response is lost is sent again with the same version.
        """
        call = _Call(time.monotonic() + _SECONDS)
        futures = [self._pool.submit(self._send, event, call) for event in events]
        outcomes = [future.result() for future in futures]
        done, uncertain = (
            [event for event, outcome in zip(events, outcomes, strict=True) if outcome in kinds]
            for kinds in ((_Outcome.DELIVERED, _Outcome.REFUSED), (_Outcome.UNCERTAIN,))
        )
        left = len(events) - len(done)
        if left and call.reason:  # otherwise only the time has run out
            self._count("failed", left)
            _log.warning(
                "could not publish %d of %d events, trying later: %s", left, len(events), call.reason
            )
        return Published(done, uncertain)

    def take_counts(self) -> Counter[str]:
        """Return how many events were `published`, `refused` and `failed` since the last call."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return counts

    def _send(self, event: Event, call: "_Call") -> _Outcome:
        body = body_of(event)
        if len(body) > MAX_EVENT_BYTES:
            return self._refuse(event, f"its {len(body)} bytes are more than AppSync delivers")
        result = _Outcome.FAILED
        for attempt in range(_ATTEMPTS):
            if call.is_over:
                return result
            outcome, reason = self._try(body)
            if outcome is _Outcome.DELIVERED:
                call.delivered = True
                self._count("published")
                return outcome
            if outcome is _Outcome.REFUSED:
                return self._refuse(event, reason)
            call.reason = reason
            if outcome is _Outcome.UNCERTAIN:
                result = outcome
            if attempt < _ATTEMPTS - 1:
                call.down.wait(delay(attempt, base=_BASE_DELAY, longest=_MAX_DELAY))
        if not call.delivered:
            call.down.set()
        return result

    def _try(self, body: bytes) -> tuple[_Outcome, str]:
        request = AWSRequest("POST", self._url, {"content-type": "application/json"}, body)
        try:
            self._authorize(request)
            response = self._session.send(request.prepare())
            content = json.loads(response.content)
        except (BotoCoreError, ValueError) as error:
            return _Outcome.FAILED if isinstance(error, _NOT_SENT) else _Outcome.UNCERTAIN, repr(error)
        errors = content.get("errors") if isinstance(content, dict) else content
        reason = f"{response.status_code} {str(errors)[:500]}"
        if response.status_code == HTTPStatus.OK:
            if not errors:
                return _Outcome.DELIVERED, ""
            permanent = isinstance(errors, list) and all(
                isinstance(error, dict) and error.get("errorType") in _PERMANENT for error in errors
            )
            return _Outcome.REFUSED if permanent else _Outcome.UNCERTAIN, reason
        if response.status_code in _PERMANENT_STATUSES:
            return _Outcome.REFUSED, reason
        server_error = response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
        return _Outcome.UNCERTAIN if server_error else _Outcome.FAILED, reason

    def _refuse(self, event: Event, reason: str) -> _Outcome:
        self._count("refused")
        _log.error("an event of board %s cannot be published, giving up: %s", event.board.id, reason)
        return _Outcome.REFUSED

    def _count(self, what: str, by: int = 1) -> None:
        with self._lock:
            self._counts[what] += by


class _Call:
    """The state of one call of `publish`: its deadline, and whether any event was delivered."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self.down = threading.Event()
        self.delivered = False
        self.reason = ""

    @property
    def is_over(self) -> bool:
        """Whether to make no more attempts."""
        return self.down.is_set() or time.monotonic() > self._deadline


def body_of(event: Event) -> bytes:
    """Return the body of the request that publishes an event."""
    if isinstance(event, RankChange):
        request = {"query": PUBLISH_RANK, "variables": {"input": _rank_input(event)}}
    else:
        request = {"query": PUBLISH_TOP, "variables": {"input": _top_input(event)}}
    return json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode()


def _rank_input(event: RankChange) -> dict[str, object]:
    return {
        "leaderboardId": event.board.id,
        "participantId": event.participant_id,
        "period": event.period,
        "periodAlias": _period_alias(event),
        "previousBucket": event.previous_bucket,
        "bucket": event.bucket,
        "previousRank": event.previous_rank,
        "rank": event.rank,
        "cause": event.cause.value,
        "version": str(event.version),
        "at": _written(event.at),
    }


def _top_input(event: TopChange) -> dict[str, object]:
    return {
        "leaderboardId": event.board.id,
        "period": event.period,
        "periodAlias": _period_alias(event),
        "entries": [_entry(rank, entry) for rank, entry in event.entries],
        "version": str(event.version),
        "at": _written(event.at),
    }


def _written(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _period_alias(event: Event) -> str | None:
    """Return the alias by which subscribers to the current period receive an event."""
    return current_name(event.board, event.period, datetime.now(UTC))


def _entry(rank: int, entry: Entry) -> dict[str, object]:
    components = entry.board.components
    return {
        "rank": rank,
        "participantId": entry.participant_id,
        "displayName": entry.display_name,
        "score": {
            "value": [
                scores.format_value(component, value)
                for component, value in zip(components, entry.score, strict=True)
            ],
            "number": scores.number(components[0], entry.score[0]),
            "display": scores.display(components, entry.score),
        },
        "achievedAt": _written(entry.achieved_at),
    }
