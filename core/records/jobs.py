"""Jobs: background work, each written down in the transaction that asks for it.

A job is one item. The process that completes the job deletes it; until then any process may go on with it.

    record_set   record_id         what
    ~jobs        archive#<id>      an archive to write
    ~jobs        delete#race#g1    the contents of a deleted board to delete; the job keeps its definition
    ~jobs        forget#<hash>     a participant to erase from the archives
"""

from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from core.records.table import put_record, query_records, record_key
from core.storage.database import Database

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, TransactWriteItemTypeDef

JOBS = "~jobs"

Item = Mapping[str, Any]


class Job(StrEnum):
    """The kinds of job."""

    ARCHIVE = "archive"
    DELETE = "delete"
    FORGET = "forget"


def add_job(
    db: Database, job: Job, name: str, **details: "AttributeValueTypeDef"
) -> "TransactWriteItemTypeDef":
    """Return the write that asks for a job."""
    return put_record(db, JOBS, f"{job}#{name}", **details)


def remove_job(db: Database, job: Job, name: str) -> "TransactWriteItemTypeDef":
    """Return the write that removes a job."""
    return {"Delete": {"TableName": db.tables.records, "Key": job_key(job, name)}}


def save_progress(db: Database, job: Job, name: str, **details: "AttributeValueTypeDef") -> None:
    """Save how far a job has come, unless another process has completed it: a write unit a KB."""
    with suppress(db.client.exceptions.ConditionalCheckFailedException):
        db.client.update_item(
            TableName=db.tables.records,
            Key=job_key(job, name),
            UpdateExpression="SET " + ", ".join(f"#{detail} = :{detail}" for detail in details),
            ConditionExpression="attribute_exists(record_id)",
            ExpressionAttributeNames={f"#{detail}": detail for detail in details},
            ExpressionAttributeValues={f":{detail}": value for detail, value in details.items()},
        )


def pending_jobs(db: Database, job: Job | None = None) -> list[tuple[Job, str, Item]]:
    """Read the jobs that are left, of one kind or of all: a read unit for each 4 KB.

    Returns the kind, the name and the item of each.
    """
    found: list[tuple[Job, str, Item]] = []
    for item in query_records(db, JOBS, prefix=f"{job}#" if job else ""):
        kind, _, name = item["record_id"]["S"].partition("#")
        found.append((Job(kind), name, item))
    return found


def job_key(job: Job, name: str) -> "dict[str, AttributeValueTypeDef]":
    """Return the key of a job's item."""
    return record_key(JOBS, f"{job}#{name}")
