"""Reads the scores table's stream as Lambda's event source does, from a durable checkpoint per shard.

Delivery is at least once: the checkpoint is written after its batch is counted, so a crash in between
delivers the batch again. `core.stream.process` counts each record once.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from core.boards import Boards
from core.storage.backoff import delay
from core.storage.database import Database
from core.stream import process
from local.errors import StackError
from local.stack.roles import acting_as

if TYPE_CHECKING:
    from mypy_boto3_dynamodbstreams import DynamoDBStreamsClient
    from mypy_boto3_dynamodbstreams.type_defs import (
        GetRecordsOutputTypeDef,
        RecordTypeDef,
        ShardTypeDef,
    )

CONSUMER = "~consumer"  # partition of the counters table with the checkpoints
_BATCH = 1000  # records a request, DynamoDB's maximum
_IDLE_SECONDS = 0.1
_DESCRIBE_SECONDS = 10.0
_LONGEST_BACKOFF_SECONDS = 5.0
_STALLED_SECONDS = 30.0

log = logging.getLogger(__name__)


def connect_streams(db: Database) -> "DynamoDBStreamsClient":
    """Return a DynamoDB Streams client of the engine that holds the database."""
    meta = db.client.meta
    return boto3.client(
        "dynamodbstreams",
        endpoint_url=meta.endpoint_url,
        region_name=meta.region_name,
        aws_access_key_id="local",
        aws_secret_access_key="local",  # noqa: S106 - the engine takes any
        config=Config(parameter_validation=False),  # the engine's shard ids are shorter than boto3 expects
    )


class StreamReader:
    """Reads every shard, parents before children, and counts each batch before it reads the next.

    Calls `on_checkpoint` with the newest counted sequence number after each batch, and `on_due` with the
    standings that need a notification pass.
    """

    def __init__(
        self,
        db: Database,
        boards: Boards,
        streams: "DynamoDBStreamsClient",
        on_checkpoint: Callable[[str], object] = lambda _: None,
        on_due: Callable[[Iterable[str]], object] = lambda _: None,
    ) -> None:
        self._db = db
        self._boards = boards
        self._streams = streams
        self._on_checkpoint = on_checkpoint
        self._on_due = on_due
        self._stream_arn = ""
        self._shards: list[ShardTypeDef] = []
        self._described_at = float("-inf")
        self._shard_ended = False  # since the last DescribeStream
        self._iterators: dict[str, str | None] = {}  # None: the shard is closed and read to its end

    def run(self, stop: threading.Event) -> None:
        """Follow the stream until `stop` is set. A failed batch is retried with a growing delay."""
        failures = 0
        while not stop.is_set():
            try:
                count = self.read()
            except Exception as error:
                failures += 1
                wait = delay(failures, base=_IDLE_SECONDS, longest=_LONGEST_BACKOFF_SECONDS)
                log.warning("counting a stream batch failed; retry in %.1f s: %r", wait, error)
                stop.wait(wait)
            else:
                failures = 0
                if count == 0:
                    stop.wait(_IDLE_SECONDS)

    def drain(self) -> int:
        """Count all records in the stream; return how many. Raise on the first failure."""
        total = 0
        while (count := self.read()) or self._shard_ended:
            total += count
        return total

    def read(self) -> int:
        """Count one batch of every shard that is ready; return how many records."""
        return sum(self._read_shard(shard_id) for shard_id in self._ready_shards())

    def wait_until_counted(self) -> None:
        """Wait until another reader has counted all records that are in the stream now.

        Raises:
            StackError: the other reader made no progress for half a minute.
        """
        called_at = datetime.now(UTC)
        seen, deadline = "", time.monotonic() + _STALLED_SECONDS
        while (record := self._first_uncounted()) is not None:
            if record["dynamodb"]["ApproximateCreationDateTime"] > called_at:
                return
            sequence = record["dynamodb"]["SequenceNumber"]
            if sequence != seen:
                seen, deadline = sequence, time.monotonic() + _STALLED_SECONDS
            elif time.monotonic() > deadline:
                raise StackError("the running stack counts no submissions; its terminal shows the error")
            time.sleep(_IDLE_SECONDS)

    def oldest_uncounted(self) -> datetime | None:
        """Return when the oldest record that no reader has counted was written; None if there is none."""
        record = self._first_uncounted()
        return record["dynamodb"]["ApproximateCreationDateTime"] if record else None

    def _first_uncounted(self) -> "RecordTypeDef | None":
        self._describe()
        for shard in self._shards:
            iterator = self._iterator(shard["ShardId"])
            records = self._streams.get_records(ShardIterator=iterator, Limit=1)["Records"]
            if records:
                return records[0]
        return None

    def _ready_shards(self) -> Iterator[str]:
        """Yield the unfinished shards whose parent is finished or trimmed from the stream."""
        if self._shard_ended or time.monotonic() > self._described_at + _DESCRIBE_SECONDS:
            self._describe()
        unfinished = {
            shard["ShardId"]
            for shard in self._shards
            if self._iterators.get(shard["ShardId"], "") is not None
        }
        for shard in self._shards:
            if shard["ShardId"] in unfinished and shard.get("ParentShardId") not in unfinished:
                yield shard["ShardId"]

    def _describe(self) -> None:
        table = self._db.client.describe_table(TableName=self._db.tables.scores)["Table"]
        self._stream_arn = table["LatestStreamArn"]
        arguments: dict[str, Any] = {"StreamArn": self._stream_arn}
        self._shards = []
        while True:
            description = self._streams.describe_stream(**arguments)["StreamDescription"]
            self._shards += description["Shards"]
            if "LastEvaluatedShardId" not in description:
                break
            arguments["ExclusiveStartShardId"] = description["LastEvaluatedShardId"]
        self._described_at = time.monotonic()
        self._shard_ended = False

    def _read_shard(self, shard_id: str) -> int:
        answer = self._records(self._iterators.get(shard_id) or self._iterator(shard_id), shard_id)
        if answer["Records"]:
            self._count(shard_id, answer["Records"])
        self._iterators[shard_id] = answer.get("NextShardIterator")
        if self._iterators[shard_id] is None:
            self._shard_ended = True  # its children are next
        return len(answer["Records"])

    def _records(self, iterator: str, shard_id: str) -> "GetRecordsOutputTypeDef":
        try:
            return self._streams.get_records(ShardIterator=iterator, Limit=_BATCH)
        except (
            self._streams.exceptions.ExpiredIteratorException,
            self._streams.exceptions.TrimmedDataAccessException,
        ):
            return self._streams.get_records(ShardIterator=self._iterator(shard_id), Limit=_BATCH)

    def _count(self, shard_id: str, records: "list[RecordTypeDef]") -> None:
        with acting_as("stream"):
            report = process(self._db, self._boards, shard_id, records)
        self._on_due(report.due)
        newest = records[-1]["dynamodb"]["SequenceNumber"]
        self._db.client.put_item(
            TableName=self._db.tables.counters,
            Item={"standings": {"S": CONSUMER}, "node": {"S": shard_id}, "sequence": {"S": newest}},
        )
        self._on_checkpoint(newest)

    def _iterator(self, shard_id: str) -> str:
        """Return an iterator after the shard's checkpoint, or at the oldest record left."""
        place: dict[str, Any] = {"StreamArn": self._stream_arn, "ShardId": shard_id}
        checkpoint = self._db.client.get_item(
            TableName=self._db.tables.counters,
            Key={"standings": {"S": CONSUMER}, "node": {"S": shard_id}},
            ConsistentRead=True,
        ).get("Item")
        if checkpoint is not None:
            try:
                return self._streams.get_shard_iterator(
                    **place,
                    ShardIteratorType="AFTER_SEQUENCE_NUMBER",
                    SequenceNumber=checkpoint["sequence"]["S"],
                )["ShardIterator"]
            except self._streams.exceptions.TrimmedDataAccessException:
                log.warning("records of stream shard %s were trimmed before they were counted", shard_id)
        return self._streams.get_shard_iterator(**place, ShardIteratorType="TRIM_HORIZON")["ShardIterator"]
