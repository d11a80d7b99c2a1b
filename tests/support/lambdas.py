"""The Lambdas' events and queues, as AWS makes them."""

import base64
import json
from collections.abc import Callable
from datetime import datetime
from types import ModuleType
from typing import Any

import boto3

from core.storage.database import Database
from local.stack.stream_reader import connect_streams

SECRET = "0b4e7a52-secret"
Load = Callable[[str], ModuleType]


class Queue:
    """A queue of SQS; first in, first out if its name says so."""

    def __init__(self, endpoint: str, name: str) -> None:
        session = boto3.Session("local", "local", region_name="us-east-1")
        self._client: Any = session.client("sqs", endpoint_url=endpoint)
        fifo = {"FifoQueue": "true", "DeduplicationScope": "messageGroup", "VisibilityTimeout": "2"}
        attributes = fifo if name.endswith(".fifo") else {}
        self.url: str = self._client.create_queue(QueueName=name, Attributes=attributes)["QueueUrl"]

    def take(self) -> list[dict[str, Any]]:
        """Receive the messages that are not delayed, in the form of an event source mapping."""
        records = self.receive()
        self.delete(records)
        return records

    def receive(self) -> list[dict[str, Any]]:
        """Receive messages without deleting them."""
        answer = self._client.receive_message(
            QueueUrl=self.url, MaxNumberOfMessages=10, AttributeNames=["All"]
        )
        return [
            {
                "messageId": message["MessageId"],
                "receiptHandle": message["ReceiptHandle"],
                "body": message["Body"],
                "attributes": message["Attributes"],
            }
            for message in answer.get("Messages", [])
        ]

    def delete(self, records: list[dict[str, Any]]) -> None:
        """Delete messages that have been received."""
        for record in records:
            self._client.delete_message(QueueUrl=self.url, ReceiptHandle=record["receiptHandle"])

    def delayed(self) -> int:
        """Count the messages that are delayed."""
        name = "ApproximateNumberOfMessagesDelayed"
        found = self._client.get_queue_attributes(QueueUrl=self.url, AttributeNames=[name])
        return int(found["Attributes"][name])


def lambda_event(db: Database) -> dict[str, Any]:
    """The whole stream as one event of a mapping with a tumbling window, in Lambda's JSON."""
    streams = connect_streams(db)
    arn = db.client.describe_table(TableName=db.tables.scores)["Table"]["LatestStreamArn"]
    (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
    iterator = streams.get_shard_iterator(
        StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
    )["ShardIterator"]

    def plain(value: object) -> object:
        if isinstance(value, bytes):
            return base64.b64encode(value).decode()
        assert isinstance(value, datetime)
        return value.timestamp()

    records = streams.get_records(ShardIterator=iterator)["Records"]
    event: dict[str, Any] = json.loads(json.dumps({"Records": records}, default=plain))
    return event | {"shardId": shard["ShardId"], "window": {}, "state": {}, "isFinalInvokeForWindow": False}


def metrics(out: str) -> dict[str, Any]:
    """All metrics of the printed lines, each found where its metadata says."""
    found: dict[str, Any] = {}
    for line in map(json.loads, out.splitlines()):
        for group in line.get("_aws", {}).get("CloudWatchMetrics", ()):
            assert group["Namespace"] == "Leaderboard"
            assert all(name in line for names in group["Dimensions"] for name in names)
            found |= {metric["Name"]: line[metric["Name"]] for metric in group["Metrics"]}
    return found
