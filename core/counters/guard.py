"""The guard of a derived item: up to which sequence number each stream shard's records are counted in it.

An item changes only on condition that the shard's number in it has not moved, in the write that moves it. So
every record counts once, though batches come again, are split otherwise or race, and a consumer may die
between two items.

Beside the number stands the hour when it last moved. A stream keeps its records for a day: a guard that has
not moved for longer is of no use, and is removed. Each takes some 33 bytes.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from core.tree.changes import Change
from core.tree.node import Step

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

GUARD = "seq_"
_KEPT_HOURS = 26
_HOUR = 3_600_000  # milliseconds


Counted = TypeVar("Counted", Change, Step)  # each has the sequence number of its record


def guard_name(shard_id: str) -> str:
    """Return the name of the attribute that guards an item against one stream shard's records."""
    digest = hashlib.blake2b(shard_id.encode(), digest_size=5).digest()
    return GUARD + base64.b32encode(digest).decode().lower()


def guard_value(sequence: int, now: int) -> "AttributeValueTypeDef":
    """Return the guard of a shard that is counted up to `sequence`, moved at `now` (ms since 1970)."""
    return {"L": [{"N": str(sequence)}, {"N": str(now // _HOUR)}]}


def not_counted(changes: Sequence[Counted], item: Mapping[str, Any], guard: str) -> list[Counted]:
    """Return the changes that are not counted in an item yet."""
    counted = int(item[guard]["L"][0]["N"]) if guard in item else -1
    return [change for change in changes if change.sequence > counted]


def outdated(item: Mapping[str, Any], now: int) -> list[str]:
    """Return the names of an item's guards that have not moved for longer than a stream keeps records."""
    oldest = now // _HOUR - _KEPT_HOURS
    return [name for name in item if name.startswith(GUARD) and int(item[name]["L"][1]["N"]) < oldest]
