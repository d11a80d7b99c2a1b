"""The record of what was done to boards and participants: what, when, by whom, why. It outlives them.

    archive          chunk                               what
    ~audit#race      2026-11-30T12:00:00.000000Z#5f0c    what was done on the board `race`
    ~audit           ...                                 what was done to a participant everywhere
    ~person#<hash>   ~audit#race#2026-...                which records name a participant
    ~secret          participants                        the key of the hashes
    ~secret          participants 9f2c...                the key of those that came with a backup

A record names its participant by a keyed hash, and as long as they are not forgotten also by their id.
Forgetting takes the id and the reason, a text that may name them, off every record. The rest stays: an
operator who is told an id again can still say when it was forgotten.
"""

import hashlib
import hmac
import secrets
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from core.domain.limits import MAX_REASON_BYTES
from core.domain.model import Page
from core.domain.pages import every_item
from core.domain.text import check_text
from core.records.table import newest_page, query_records, record_key
from core.storage.database import Database

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, TransactWriteItemTypeDef

_AUDIT = "~audit"
SECRETS = "~secret"
_SECRET = record_key(SECRETS, "participants")


class AuditAction(StrEnum):
    """What was done."""

    HIDE = "HIDE"
    RESTORE = "RESTORE"
    REMOVE = "REMOVE"
    FORGET = "FORGET"
    CLOSE = "CLOSE"
    REOPEN = "REOPEN"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class AuditContext:
    """Something done: by whom, why, and when."""

    actor: str
    at: datetime
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One record. `participant_id` and `reason` are None once the participant is forgotten."""

    at: datetime
    action: AuditAction
    actor: str
    board_id: str | None
    participant_id: str | None
    participant_hash: str | None
    reason: str | None


@dataclass
class _SecretCache:
    secret: bytes | None = None


def check_reason(reason: str | None) -> None:
    """Refuse a reason that is too long or no plain text.

    Raises:
        InvalidInput: naming the rule.
    """
    if reason is not None:
        check_text("reason", reason, MAX_REASON_BYTES)


def record(
    db: Database,
    action: AuditAction,
    audit: AuditContext,
    *,
    board_id: str | None = None,
    participant_id: str | None = None,
    named: bool = True,
) -> "list[TransactWriteItemTypeDef]":
    """Describe the writes of a record, to go into the transaction that does what it tells of.

    With `named` false the participant is told by the hash alone. Costs a read unit once a process, and the
    writes 2 units, 4 with a participant.
    """
    partition = _partition(board_id)
    chunk = f"{_time(audit.at)}#{secrets.token_hex(4)}"
    item: dict[str, AttributeValueTypeDef] = {
        **record_key(partition, chunk),
        "action": {"S": action.value},
        "actor": {"S": audit.actor},
    }
    if audit.reason:
        item["reason"] = {"S": audit.reason}
    if participant_id is None:
        return [_put(db, item)]
    digest = participant_hash(db, participant_id)
    item["participant_hash"] = {"S": digest}
    if not named:
        return [_put(db, item)]
    item["participant"] = {"S": participant_id}
    return [_put(db, item), _put(db, record_key(_person(digest), f"{partition}#{chunk}"))]


def audit_page(
    db: Database, board_id: str | None, limit: int, next_token: str | None = None
) -> Page[AuditRecord]:
    """Read records of a board, newest first; without a board those of what was done everywhere.

    Raises:
        InvalidInput: the token.

    Costs half a read unit for each 4 KB.
    """
    listed_as = f"audit {board_id or ''}"
    items, token = newest_page(db, _partition(board_id), listed_as, limit, next_token)
    return Page([_read(board_id, item) for item in items], token)


def forget_name(db: Database, participant_id: str) -> None:
    """Take a participant's id, and the reasons, off every record: 1 to 2 write units each.

    If this dies, run it again.
    """
    for item in query_records(db, SECRETS):
        person = _person(_hash(bytes(item["secret"]["B"]), participant_id))
        for pointer in query_records(db, person, keys_only=True):
            partition, chunk = _split(pointer["record_id"]["S"])
            with suppress(db.client.exceptions.ConditionalCheckFailedException):
                db.client.update_item(
                    TableName=db.tables.records,
                    Key=record_key(partition, chunk),
                    UpdateExpression="REMOVE participant, reason",
                    ConditionExpression="attribute_exists(record_id)",
                )
            key = record_key(person, pointer["record_id"]["S"])
            db.client.delete_item(TableName=db.tables.records, Key=key)


def participant_hash(db: Database, participant_id: str) -> str:
    """Give the hash that stands for a participant, keyed with the stack's own secret."""
    return _hash(_secret(db), participant_id)


def adopt_secret(db: Database, secret: bytes) -> None:
    """Know the participants of another stack's records, which are to be written into this one, too."""
    if not _put_secret(db, _SECRET, secret):
        digest = hashlib.sha256(secret).hexdigest()[:32]
        _put_secret(db, record_key(SECRETS, f"participants {digest}"), secret)


def _hash(secret: bytes, participant_id: str) -> str:
    return hmac.new(secret, participant_id.encode(), hashlib.sha256).hexdigest()[:32]


def _secret(db: Database) -> bytes:
    cache = db.cache(_SecretCache)
    while cache.secret is None:
        found = db.client.get_item(TableName=db.tables.records, Key=_SECRET, ConsistentRead=True).get("Item")
        if found is not None:
            cache.secret = bytes(found["secret"]["B"])
            break
        _put_secret(db, _SECRET, secrets.token_bytes(32))
    return cache.secret


def _put_secret(db: Database, key: "dict[str, AttributeValueTypeDef]", secret: bytes) -> bool:
    """Keep a secret, unless another is there; says whether it is kept."""
    value: AttributeValueTypeDef = {"B": secret}
    try:
        db.client.put_item(
            TableName=db.tables.records,
            Item={**key, "secret": value},
            ConditionExpression="attribute_not_exists(record_id) OR secret = :secret",
            ExpressionAttributeValues={":secret": value},
        )
    except db.client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def _read(board_id: str | None, item: Mapping[str, Any]) -> AuditRecord:
    def text(name: str) -> str | None:
        return str(item[name]["S"]) if name in item else None

    return AuditRecord(
        at=datetime.fromisoformat(item["record_id"]["S"].partition("#")[0]),
        action=AuditAction(item["action"]["S"]),
        actor=item["actor"]["S"],
        board_id=board_id,
        participant_id=text("participant"),
        participant_hash=text("participant_hash"),
        reason=text("reason"),
    )


def _put(db: Database, item: "dict[str, AttributeValueTypeDef]") -> "TransactWriteItemTypeDef":
    return {"Put": {"TableName": db.tables.records, "Item": item}}


def _partition(board_id: str | None) -> str:
    return _AUDIT if board_id is None else f"{_AUDIT}#{board_id}"


def _person(digest: str) -> str:
    return f"~person#{digest}"


def _split(pointer: str) -> tuple[str, str]:
    partition, moment, chance = pointer.rsplit("#", 2)
    return partition, f"{moment}#{chance}"


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def all_records(db: Database, board_id: str | None) -> Iterator[AuditRecord]:
    """Read every record of a board, newest first."""
    return every_item(lambda token: audit_page(db, board_id, 100, token))
