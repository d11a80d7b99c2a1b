"""Receipts: what is kept of a submission that came with an id, so that a retry changes nothing.

A receipt is written in the transaction that changes the entries. So there is one exactly if the submission
counts, wherever a process dies, and of many retries at once one is first. It is not part of an entry: it
outlives a removed one, so a late retry does not bring that back. It holds nothing of the participant but the
previous score.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from core.domain.errors import SubmissionConflict
from core.domain.keys import SEPARATOR
from core.domain.model import Board
from core.storage.database import Database
from core.storage.tables import TTL_ATTRIBUTE

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef, TransactWriteItemTypeDef

_DIGEST_BYTES = 16


@dataclass(frozen=True, slots=True)
class Receipt:
    """A submission's outcome; `previous_score` is the all-time one, `periods` are those that it reached."""

    accepted: bool
    previous_score: tuple[int, ...] | None
    periods: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class IdentifiedSubmission:
    """A submission with an id. `body` is everything that a retry repeats."""

    board: Board
    submission_id: str
    body: Sequence[Any]
    now: datetime

    @property
    def name(self) -> str:
        """The receipt's key."""
        return SEPARATOR.join((self.board.id, self.board.generation, self.submission_id))

    def put(self, db: Database, receipt: Receipt) -> "TransactWriteItemTypeDef":
        """Return the write of a receipt, on condition that there is none for the id."""
        expires = self.now + timedelta(days=self.board.retention.submission_id_days)
        item: dict[str, AttributeValueTypeDef] = {
            "receipt": {"S": self.name},
            "body": {"B": self._digest()},
            "accepted": {"BOOL": receipt.accepted},
            "periods": {"L": [{"S": period} for period in receipt.periods]},
            TTL_ATTRIBUTE: {"N": str(int(expires.timestamp()))},
        }
        if receipt.previous_score is not None:
            item["previous"] = {"L": [{"N": str(value)} for value in receipt.previous_score]}
        return {
            "Put": {
                "TableName": db.tables.receipts,
                "Item": item,
                "ConditionExpression": "attribute_not_exists(receipt)",
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            }
        }

    def read(self, item: Mapping[str, Any]) -> Receipt:
        """Return the receipt that is stored for the id.

        Raises:
            SubmissionConflict: it is another submission's.
        """
        if bytes(item["body"]["B"]) != self._digest():
            raise SubmissionConflict(
                f"submissionId: {self.submission_id!r} came with another submission before; nothing is stored"
            )
        previous = item.get("previous")
        return Receipt(
            accepted=item["accepted"]["BOOL"],
            previous_score=None if previous is None else tuple(int(value["N"]) for value in previous["L"]),
            periods=tuple(period["S"] for period in item["periods"]["L"]),
        )

    def _digest(self) -> bytes:
        text = json.dumps(self.body, separators=(",", ":"))
        return hashlib.blake2b(text.encode(), digest_size=_DIGEST_BYTES).digest()
