"""Audit records: what was done to boards and participants, by whom, when and why. They outlive both.

    record_set       record_id                           what
    ~audit#race      2026-11-30T12:00:00.000000Z#5f0c    something done on the board `race`
    ~audit           ...                                 something done to a participant everywhere
    ~person#<hash>   ~audit#race#2026-...                points to a record that names the participant
    ~secret          participants                        the key of the participants' hashes
    ~secret          participants 9f2c...                the key of hashes that came with a backup

A record names its participant by a keyed hash and, until they are forgotten, by their id. Forgetting removes
the id and the reason, a text that may name them, from every record. The rest stays, so an operator who is
given the id again can still find out when it was forgotten.
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
from core.domain.page_tokens import every_item
from core.domain.text import check_text
from core.records.table import newest_page, put_record, query_records, read_record, record_key
from core.storage.database import Database

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, TransactWriteItemTypeDef

    Attributes = dict[str, AttributeValueTypeDef]

_AUDIT = "~audit"
SECRETS = "~secret"
_OWN_SECRET = "participants"  # noqa: S105 (a record's id)


class AuditAction(StrEnum):
    """What was done."""

    HIDE = "HIDE"
    RESTORE = "RESTORE"
    REMOVE = "REMOVE"
    CORRECT = "CORRECT"
    FORGET = "FORGET"
    CLOSE = "CLOSE"
    REOPEN = "REOPEN"
    DELETE = "DELETE"


@dataclass(frozen=True, slots=True)
class AuditContext:
    """Who does something, when and why."""

    actor: str
    at: datetime
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One audit record. `participant_id` and `reason` are None once the participant is forgotten."""

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
    """Check that a reason, if there is one, is plain text and not too long.

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
    """Return the writes of an audit record, for the transaction that does what it records.

    Unless `named`, the record has the participant's hash alone. Costs a read unit once per process; the
    writes cost 2 units, 4 if they name a participant.
    """
    record_set = _record_set(board_id)
    record_id = f"{_timestamp(audit.at)}#{secrets.token_hex(4)}"
    attributes: Attributes = {"action": {"S": action.value}, "actor": {"S": audit.actor}}
    pointers = []
    if audit.reason:
        attributes["reason"] = {"S": audit.reason}
    if participant_id is not None:
        digest = participant_hash(db, participant_id)
        attributes["participant_hash"] = {"S": digest}
        if named:
            attributes["participant"] = {"S": participant_id}
            pointers = [put_record(db, _person(digest), f"{record_set}#{record_id}")]
    return [put_record(db, record_set, record_id, **attributes), *pointers]


def audit_page(
    db: Database, board_id: str | None, limit: int, next_token: str | None = None
) -> Page[AuditRecord]:
    """Read a page of a board's records, newest first; without a board, those that concern all boards.

    Raises:
        InvalidInput: the token.

    Costs half a read unit for each 4 KB.
    """
    listing = f"audit {board_id or ''}"
    items, token = newest_page(db, _record_set(board_id), listing, limit, next_token)
    return Page([_read(board_id, item) for item in items], token)


def all_records(db: Database, board_id: str | None) -> Iterator[AuditRecord]:
    """Yield every record that `audit_page` reads, newest first."""
    return every_item(lambda token: audit_page(db, board_id, 100, token))


def forget_name(db: Database, participant_id: str) -> None:
    """Remove a participant's id and the reasons from every record that names them.

    Costs 2 to 3 write units for each record. Idempotent: if interrupted, run it again.
    """
    for item in query_records(db, SECRETS):
        person = _person(_hash(bytes(item["secret"]["B"]), participant_id))
        for pointer in query_records(db, person, keys_only=True):
            record_set, time, token = pointer["record_id"]["S"].rsplit("#", 2)
            with suppress(db.client.exceptions.ConditionalCheckFailedException):
                db.client.update_item(
                    TableName=db.tables.records,
                    Key=record_key(record_set, f"{time}#{token}"),
                    UpdateExpression="REMOVE participant, reason",
                    ConditionExpression="attribute_exists(record_id)",
                )
            key = record_key(person, pointer["record_id"]["S"])
            db.client.delete_item(TableName=db.tables.records, Key=key)


def participant_hash(db: Database, participant_id: str) -> str:
    """Return the hash that stands for a participant, keyed with the stack's own secret."""
    return _hash(_secret(db), participant_id)


def adopt_secret(db: Database, secret: bytes) -> None:
    """Store the secret of another stack whose records are restored here: their hashes were made with it."""
    if not _put_secret(db, _OWN_SECRET, secret):
        _put_secret(db, f"{_OWN_SECRET} {hashlib.sha256(secret).hexdigest()[:32]}", secret)


def _hash(secret: bytes, participant_id: str) -> str:
    return hmac.new(secret, participant_id.encode(), hashlib.sha256).hexdigest()[:32]


def _secret(db: Database) -> bytes:
    cache = db.cache(_SecretCache)
    while cache.secret is None:
        item = read_record(db, SECRETS, _OWN_SECRET, consistent=True)
        if item is None:
            _put_secret(db, _OWN_SECRET, secrets.token_bytes(32))
        else:
            cache.secret = bytes(item["secret"]["B"])
    return cache.secret


def _put_secret(db: Database, record_id: str, secret: bytes) -> bool:
    """Store a secret unless another is there. Return whether this one is stored now."""
    value: AttributeValueTypeDef = {"B": secret}
    try:
        db.client.put_item(
            TableName=db.tables.records,
            Item={**record_key(SECRETS, record_id), "secret": value},
            ConditionExpression="attribute_not_exists(record_id) OR secret = :secret",
            ExpressionAttributeValues={":secret": value},
        )
    except db.client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def _read(board_id: str | None, item: Mapping[str, Any]) -> AuditRecord:
    at = datetime.fromisoformat(item["record_id"]["S"].partition("#")[0])
    names = ("participant", "participant_hash", "reason")
    participant_id, digest, reason = (item[name]["S"] if name in item else None for name in names)
    action, actor = AuditAction(item["action"]["S"]), item["actor"]["S"]
    return AuditRecord(at, action, actor, board_id, participant_id, digest, reason)


def _record_set(board_id: str | None) -> str:
    return _AUDIT if board_id is None else f"{_AUDIT}#{board_id}"


def _person(digest: str) -> str:
    return f"~person#{digest}"


def _timestamp(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
