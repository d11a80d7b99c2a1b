"""Publishes events as mutations: AppSync fires its subscriptions for nothing else.

One mutation a request, since AppSync loses aliased fields, and it selects every field of the event, since
subscribers get those alone.
"""

import json
import logging
import random
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

AT_ONCE = 16  # requests: some 500 events a second
_ATTEMPTS = 4
_SECONDS = 10.0  # for all events of one call: what is left then is tried another time
_TIMEOUT = 5  # seconds to connect, and again to wait for an answer
_BASE_DELAY, _MAX_DELAY = 0.1, 2.0  # seconds
# What trying again does not mend. A refusal without a type is one by the schema.
_LASTING_STATUSES = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE})
_LASTING = frozenset({None, "InvalidInput", "LeaderboardNotFound", "MalformedHttpRequestException"})

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


class _Answer(Enum):
    DELIVERED = "delivered"
    REFUSED = "refused"  # for good
    FAILED = "failed"  # for now
    LOST = "lost"  # it may have been delivered, or not


_SURE = (EndpointConnectionError, ConnectTimeoutError, NoCredentialsError)  # that nothing was delivered


def signed(region: str) -> Authorize:
    """Sign requests as whoever this runs as, for AppSync in a region."""
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
    """Posts mutations to one GraphQL API over connections that it keeps.

    Threads may share it.
    """

    def __init__(self, url: str, authorize: Authorize) -> None:
        self._url = url
        self._authorize = authorize
        self._session = URLLib3Session(timeout=_TIMEOUT, max_pool_connections=AT_ONCE)
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="publish")
        self._lock = threading.Lock()
        self._counts = Counter[str]()

    def publish(self, events: Sequence[Event]) -> Published:
        """Publish events; what is not done then is to be tried another time.

        Takes some ten seconds at most. If no attempt delivers the first of them the others are not tried,
        so an outage costs little. An answer lost on its way makes an event come twice, of one version.
        """
        call = _Call(time.monotonic() + _SECONDS)
        futures = [self._pool.submit(self._send, event, call) for event in events]
        answers = [future.result() for future in futures]
        done, unsure = (
            [event for event, answer in zip(events, answers, strict=True) if answer in kinds]
            for kinds in ((_Answer.DELIVERED, _Answer.REFUSED), (_Answer.LOST,))
        )
        left = len(events) - len(done)
        if left and call.reason:  # else only time has run out
            self._count("failed", left)
            _log.warning("%d of %d events are left for later: %s", left, len(events), call.reason)
        return Published(done, unsure)

    def take_counts(self) -> Counter[str]:
        """Say how many events were `published`, `refused` for good and `failed` for now since last asked."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return counts

    def _send(self, event: Event, call: "_Call") -> _Answer:
        body = body_of(event)
        if len(body) > MAX_EVENT_BYTES:
            return self._refuse(event, f"{len(body)} bytes are more than AppSync delivers")
        outcome = _Answer.FAILED
        for attempt in range(_ATTEMPTS):
            if call.is_over:
                return outcome
            answer, reason = self._try(body)
            if answer is _Answer.DELIVERED:
                call.delivered = True
                self._count("published")
                return answer
            if answer is _Answer.REFUSED:
                return self._refuse(event, reason)
            call.reason = reason
            if answer is _Answer.LOST:
                outcome = answer
            if attempt < _ATTEMPTS - 1:
                call.down.wait(random.uniform(0, min(_MAX_DELAY, _BASE_DELAY * 2**attempt)))
        if not call.delivered:
            call.down.set()
        return outcome

    def _try(self, body: bytes) -> tuple[_Answer, str]:
        request = AWSRequest("POST", self._url, {"content-type": "application/json"}, body)
        try:
            self._authorize(request)
            response = self._session.send(request.prepare())
            answer = json.loads(response.content)
        except (BotoCoreError, ValueError) as error:
            return _Answer.FAILED if isinstance(error, _SURE) else _Answer.LOST, repr(error)
        errors = answer.get("errors") if isinstance(answer, dict) else answer
        reason = f"{response.status_code} {str(errors)[:500]}"
        if response.status_code == HTTPStatus.OK:
            if not errors:
                return _Answer.DELIVERED, ""
            lasting = isinstance(errors, list) and all(
                isinstance(one, dict) and one.get("errorType") in _LASTING for one in errors
            )
            return _Answer.REFUSED if lasting else _Answer.LOST, reason
        if response.status_code in _LASTING_STATUSES:
            return _Answer.REFUSED, reason
        server = response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR
        return _Answer.LOST if server else _Answer.FAILED, reason

    def _refuse(self, event: Event, reason: str) -> _Answer:
        self._count("refused")
        _log.error("an event of %s was given up on: %s", event.board.id, reason)
        return _Answer.REFUSED

    def _count(self, what: str, by: int = 1) -> None:
        with self._lock:
            self._counts[what] += by


class _Call:
    """How a call of `publish` fares: until when it may take, and whether nothing gets through."""

    def __init__(self, until: float) -> None:
        self._until = until
        self.down = threading.Event()
        self.delivered = False
        self.reason = ""

    @property
    def is_over(self) -> bool:
        """Whether no event need be tried any more."""
        return self.down.is_set() or time.monotonic() > self._until


def body_of(event: Event) -> bytes:
    """Write the request that publishes an event."""
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
    """Return the alias at which subscribers to the current period receive an event."""
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
