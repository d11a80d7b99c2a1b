"""The guard of derived items: up to where each stream shard is counted in them.

Each derived item carries, per stream shard, the sequence number up to which that shard's records are in it.
It changes only on condition that this number has not moved, in the write that moves it; so redelivered,
re-split and raced batches, and a death between two items, count every record once.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

if TYPE_CHECKING:
    from botocore.exceptions import ClientError

GUARD = "counted_"


class Sequenced(Protocol):
    """Something that a stream record of this sequence number brought about."""

    @property
    def sequence(self) -> int:
        """The record's sequence number."""


S = TypeVar("S", bound=Sequenced)


def guard_name(shard_id: str) -> str:
    """Name the attribute that guards an item against one stream shard's records."""
    return GUARD + hashlib.blake2b(shard_id.encode(), digest_size=6).hexdigest()


def not_counted(changes: Sequence[S], item: Mapping[str, Any], guard: str) -> list[S]:
    """Keep what is not in an item yet."""
    counted = int(item[guard]["N"]) if guard in item else -1
    return [change for change in changes if change.sequence > counted]


def failed_item(error: "ClientError") -> Mapping[str, Any]:
    """Give the item that failed a condition, empty where there is none."""
    item: Mapping[str, Any] = cast("dict[str, Any]", error.response).get("Item", {})
    return item
