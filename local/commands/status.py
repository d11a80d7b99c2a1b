"""`leaderboard status`: print what runs, what the tables hold, and what background work is left."""

import argparse
from collections.abc import Iterator
from dataclasses import fields
from datetime import UTC, datetime, timedelta

import boto3
from botocore.exceptions import ClientError

from core.counters.growing_list import growing
from core.records.jobs import pending_jobs
from local.console import add_json, print_pairs
from local.stack.engine import find_engine
from local.stack.running import find_running
from local.stack.stream_reader import StreamReader, connect_streams
from local.stack.target import Stack, add_target, opened

_LAG_WINDOW = timedelta(minutes=5)


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `status` command."""
    parser = subparsers.add_parser(
        "status",
        help="print what runs, the tables, how far counting lags, and the work left",
        description="Prints the stack's engine and tables, how far the counters lag behind the scores, the "
        "pending jobs, and the standings whose counter tree has a leaf to grow. On AWS, DynamoDB updates the "
        "numbers of items every six hours, and the lag is the stream function's IteratorAge in CloudWatch.",
    )
    add_json(parser)
    add_target(parser)
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    with opened(args) as stack:
        pairs = list(_status(args, stack))
    print_pairs(args, pairs, args.stack or str(args.data))
    return 0


def _status(args: argparse.Namespace, stack: Stack) -> Iterator[tuple[str, str]]:
    yield from _running(args, stack)
    tables = stack.db.tables
    for table in (getattr(tables, field.name) for field in fields(tables)):
        try:
            found = stack.db.client.describe_table(TableName=table)["Table"]
        except stack.db.client.exceptions.ResourceNotFoundException:
            yield f"table {table}", "missing"
        else:
            items, size = found.get("ItemCount", 0), found.get("TableSizeBytes", 0)
            yield f"table {table}", f"{found['TableStatus']}, {items:,} items, {size:,} bytes"
    yield "counting lag", _lag_on_aws(args, stack) if args.stack else _lag(stack)
    jobs = [f"{job.value} {name}" for job, name, _ in pending_jobs(stack.db)]
    yield "jobs", ", ".join(jobs) or "none"
    yield "growing trees", ", ".join(growing(stack.db)) or "none"


def _running(args: argparse.Namespace, stack: Stack) -> Iterator[tuple[str, str]]:
    if args.stack is not None:
        yield "stack", f"{args.stack} on AWS, region {stack.db.client.meta.region_name}"
        return
    running = find_running(args.data)
    yield "stack", f"runs at {running.url}" if running else "does not run; to start it: leaderboard run"
    engine = find_engine()
    at = f", at {running.endpoint}" if running else ""
    yield (
        "engine",
        (str(engine) if engine else "moto, which is slow and keeps nothing: run `make setup`") + at,
    )


def _lag(stack: Stack) -> str:
    oldest = StreamReader(stack.db, stack.boards, connect_streams(stack.db)).oldest_uncounted()
    if oldest is None:
        return "none: every score is counted"
    return f"{max(0.0, (datetime.now(UTC) - oldest).total_seconds()):,.1f} s"


def _lag_on_aws(args: argparse.Namespace, stack: Stack) -> str:
    now = datetime.now(UTC)
    try:
        points = boto3.client(
            "cloudwatch", region_name=stack.db.client.meta.region_name
        ).get_metric_statistics(
            Namespace="AWS/Lambda",
            MetricName="IteratorAge",
            Dimensions=[{"Name": "FunctionName", "Value": f"{args.stack}-stream"}],
            StartTime=now - _LAG_WINDOW,
            EndTime=now,
            Period=60,
            Statistics=["Maximum"],
        )["Datapoints"]
    except ClientError as error:
        return f"unknown: {error}"
    if not points:
        return "unknown: the stream function counted nothing in the last 5 minutes"
    newest = max(points, key=lambda point: point["Timestamp"])
    return f"{newest['Maximum'] / 1000:,.1f} s at {newest['Timestamp']:%H:%M} UTC"
