"""The queue of bundles to bookkeepers: SQS FIFO, in a group for each bookkeeper of each standings."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from botocore.session import Session

from core.storage.parallel import batched, run_all
from core.tree.bundle import Bundle, pack, unpack
from resolvers.settings import Settings

BATCH = 10  # messages a request, and an event, at most
_REQUEST_BYTES = 250_000  # SQS takes 262,144
_RETRY_SECONDS = 2  # until a bundle that could not be counted is delivered again


class BookkeeperQueue:
    """Sends bundles, those of one bookkeeper in order."""

    def __init__(self, settings: Settings) -> None:
        self._url = settings.bookkeeper_queue_url
        self._client: Any = Session().create_client("sqs", region_name=settings.region)

    def send(self, bundles: Iterable[Bundle]) -> None:
        """Send bundles: one request for up to ten of different bookkeepers.

        A bookkeeper's second bundle is sent once its first has been accepted, so that none can overtake.

        Raises:
            ClientError: the queue cannot be reached, or does not take a request.
            RuntimeError: the queue does not take some of the messages.
        """
        waves: list[list[dict[str, Any]]] = []
        sent = Counter[str]()
        for bundle in bundles:
            for body in pack(bundle):
                message = _message(bundle, body)
                group = message["MessageGroupId"]
                if sent[group] == len(waves):
                    waves.append([])
                waves[sent[group]].append(message)
                sent[group] += 1
        for wave in waves:
            run_all([partial(self._send, some) for some in _requests(wave)])

    def _send(self, messages: Sequence[Mapping[str, Any]]) -> None:
        entries = [{"Id": str(at), **message} for at, message in enumerate(messages)]
        answer = self._client.send_message_batch(QueueUrl=self._url, Entries=entries)
        if answer.get("Failed"):
            raise RuntimeError(f"the bookkeepers' queue refused messages: {answer['Failed']}")

    def retry_soon(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Have records that could not be counted delivered again in a moment, not after their time-out."""
        for some in batched(records, BATCH):
            entries = [
                {
                    "Id": str(at),
                    "ReceiptHandle": record["receiptHandle"],
                    "VisibilityTimeout": _RETRY_SECONDS,
                }
                for at, record in enumerate(some)
            ]
            self._client.change_message_visibility_batch(QueueUrl=self._url, Entries=entries)


def read_bundle(record: Mapping[str, Any]) -> tuple[int, Bundle]:
    """Return a bundle's number in its group, and the bundle, from a record of an event."""
    return int(record["attributes"]["SequenceNumber"]), unpack(record["body"])


def _message(bundle: Bundle, body: str) -> dict[str, Any]:
    # Ids may hold neither every character of a board's id nor all of its length.
    group = _digest(bundle.standings, bundle.bookkeeper)
    return {"MessageBody": body, "MessageGroupId": group, "MessageDeduplicationId": _digest(body)}


def _requests(messages: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the messages in requests that SQS takes."""
    some: list[dict[str, Any]] = []
    size = 0
    for message in messages:
        length = len(message["MessageBody"])
        if some and (len(some) == BATCH or size + length > _REQUEST_BYTES):
            yield some
            some, size = [], 0
        some.append(message)
        size += length
    if some:
        yield some


def _digest(*parts: object) -> str:
    return hashlib.blake2b("\n".join(map(str, parts)).encode(), digest_size=16).hexdigest()
