"""The guard of derived items: up to where each stream shard is counted in them.

Each derived item carries, per stream shard, the sequence number up to which that shard's records are in it.
It changes only on condition that this number has not moved, in the write that moves it; so redelivered,
re-split and raced batches, and a death between two items, count every record once.

Beside the number stands the hour when it moved. A stream keeps its records for a day: a guard that has not
moved for longer has nothing left to guard, and goes. Some 33 bytes each.
"""

import base64
import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

GUARD = "seq_"
_KEPT_HOURS = 26
_HOUR = 3_600_000  # milliseconds


class Sequenced(Protocol):
    """Something that a stream record of this sequence number brought about."""

    @property
    def sequence(self) -> int:
        """The record's sequence number."""


S = TypeVar("S", bound=Sequenced)


def guard_name(shard_id: str) -> str:
    """Name the attribute that guards an item against one stream shard's records."""
    digest = hashlib.blake2b(shard_id.encode(), digest_size=5).digest()
    return GUARD + base64.b32encode(digest).decode().lower()


def guard_value(sequence: int, now: int) -> "AttributeValueTypeDef":
    """Write down that a shard is counted up to `sequence`, as of `now`, in milliseconds since 1970."""
    return {"L": [{"N": str(sequence)}, {"N": str(now // _HOUR)}]}


def not_counted(changes: Sequence[S], item: Mapping[str, Any], guard: str) -> list[S]:
    """Keep what is not in an item yet."""
    counted = int(item[guard]["L"][0]["N"]) if guard in item else -1
    return [change for change in changes if change.sequence > counted]


def outdated(item: Mapping[str, Any], now: int) -> list[str]:
    """Name an item's guards against shards that are long gone."""
    oldest = now // _HOUR - _KEPT_HOURS
    return [name for name in item if name.startswith(GUARD) and int(item[name]["L"][1]["N"]) < oldest]
