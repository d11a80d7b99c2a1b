"""What is left to be done in the background, written down in the transaction that asks for it.

Each job is one item; whoever does it takes it off when it is done, and until then any process may go on.

    archive   chunk                what
    ~jobs   archive#<id>         an archive to be taken
    ~jobs   delete#race#g1       a board that is gone, with its definition: its entries have to go
    ~jobs   forget#<hash>        a participant to be taken out of the archives
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from core.records.table import query_records, record_key
from core.storage.database import Database

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, TransactWriteItemTypeDef

JOBS = "~jobs"

Item = Mapping[str, Any]


class Job(StrEnum):
    """What kinds there are."""

    ARCHIVE = "archive"
    DELETE = "delete"
    FORGET = "forget"


def add_job(
    db: Database, job: Job, name: str, **details: "AttributeValueTypeDef"
) -> "TransactWriteItemTypeDef":
    """Describe the write that asks for a job."""
    return {"Put": {"TableName": db.tables.records, "Item": {**job_key(job, name), **details}}}


def remove_job(db: Database, job: Job, name: str) -> "TransactWriteItemTypeDef":
    """Describe the write that takes a job off."""
    return {"Delete": {"TableName": db.tables.records, "Key": job_key(job, name)}}


def save_progress(db: Database, job: Job, name: str, **details: "AttributeValueTypeDef") -> None:
    """Note how far a job has come, if it is still there: a write unit a KB."""
    try:
        db.client.update_item(
            TableName=db.tables.records,
            Key=job_key(job, name),
            UpdateExpression="SET " + ", ".join(f"#{detail} = :{detail}" for detail in details),
            ConditionExpression="attribute_exists(record_id)",
            ExpressionAttributeNames={f"#{detail}": detail for detail in details},
            ExpressionAttributeValues={f":{detail}": value for detail, value in details.items()},
        )
    except db.client.exceptions.ConditionalCheckFailedException:
        return  # another process has done it


def pending_jobs(db: Database, job: Job | None = None) -> list[tuple[Job, str, Item]]:
    """List the jobs that are left, of one kind or of all: a read unit for each 4 KB."""
    found: list[tuple[Job, str, Item]] = []
    for item in query_records(db, JOBS, prefix=f"{job}#" if job else ""):
        kind, _, name = item["record_id"]["S"].partition("#")
        found.append((Job(kind), name, item))
    return found


def job_key(job: Job, name: str) -> "dict[str, AttributeValueTypeDef]":
    """Give the key of a job's item."""
    return record_key(JOBS, f"{job}#{name}")
