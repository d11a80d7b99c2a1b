"""The outbox: what each participant is to be told, or was told last.

One item a participant and order, so that changes that could not be told yet come to one: from the bucket
told last to the bucket now. `pending` lists those not told yet, each since which version; who dies between
writing the list and the items leaves versions that the items have not reached, and nobody is told of those.
Those of whom it is `unsure` whether they were told are told again, even of where they were before.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from core.counters.nodes import expiry, get_node, node_key
from core.domain.keys import live_partition
from core.domain.limits import MAX_ID_BYTES
from core.domain.model import Board
from core.notifications.events import RankChangeCause
from core.storage.database import Database, batch_get, batch_write
from core.storage.tables import TTL_ATTRIBUTE

_PENDING = "pending"
_OF = "of:"
# As long as a batch of the stream may come again, and then some: till then the item tells that it is told.
_KEPT_SECONDS = 26 * 3600
# The list of who waits is one item, of at most 400 KB: ids, and with each a number.
_LISTED_BYTES = 390_000
_NUMBER_BYTES = 12


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The bucket that a participant is told, None after leaving the board, and what was told before that."""

    participant: str
    rules: str  # which buckets these are
    bucket: str | None
    rank: int
    previous: str | None
    previous_rank: int | None
    cause: RankChangeCause
    version: int
    at: int  # milliseconds since 1970

    @property
    def is_news(self) -> bool:
        """Whether the participant is told of it: nobody is of having left the board."""
        return self.bucket is not None and self.bucket != self.previous


@dataclass(frozen=True, slots=True)
class Pending:
    """Who has not been told yet, each since which version, and who may have been all the same."""

    since: Mapping[str, int] = field(default_factory=dict)
    unsure: frozenset[str] = frozenset()

    @property
    def room(self) -> int:
        """For how many more there is certainly room in the list, however long their ids."""
        used = sum(len(one.encode()) + _NUMBER_BYTES for one in self.since)
        return max(0, _LISTED_BYTES - used) // (MAX_ID_BYTES + _NUMBER_BYTES)


def read_outgoing(db: Database, standings: str, participants: Iterable[str]) -> dict[str, Outgoing]:
    """Read what some participants are or were told: a read unit for each."""
    partition = live_partition(standings)
    keys = [node_key(partition, _OF + one) for one in participants]
    items = batch_get(db, db.tables.counters, keys, consistent=True)
    return {one.participant: one for one in map(_read, items)}


def write_outgoing(db: Database, standings: str, outgoing: Iterable[Outgoing]) -> None:
    """Write what participants are to be told: a write unit for each."""
    partition = live_partition(standings)
    puts: Any = [{"PutRequest": {"Item": _write(partition, one)}} for one in outgoing]
    batch_write(db, db.tables.counters, puts)


def delete_outgoing(db: Database, orders: Iterable[str], participant: str) -> None:
    """Erase what a participant was told in some orders: a write unit for each."""
    keys = [node_key(live_partition(standings), _OF + participant) for standings in orders]
    batch_write(db, db.tables.counters, [{"DeleteRequest": {"Key": key}} for key in keys])


def read_pending(db: Database, standings: str) -> Pending:
    """Read who has not been told yet: a read unit for each 4 KB."""
    item = get_node(db, live_partition(standings), _PENDING, consistent=True)
    if not item:
        return Pending()
    versions = {one: int(version["N"]) for one, version in item["of"]["M"].items()}
    unsure = frozenset(one for one, version in versions.items() if version < 0)
    return Pending({one: abs(version) for one, version in versions.items()}, unsure)


def write_pending(db: Database, board: Board, standings: str, pending: Pending) -> None:
    """Write who has not been told yet: a write unit a KB, some 40 participants."""
    key = node_key(live_partition(standings), _PENDING)
    if pending.since:
        # Negative where it is unsure: the ids once more would be too much for one item.
        listed: Any = {
            one: {"N": str(-version if one in pending.unsure else version)}
            for one, version in pending.since.items()
        }
        item = {**key, **expiry(board, standings), "of": {"M": listed}}
        db.client.put_item(TableName=db.tables.counters, Item=item)
    else:
        db.client.delete_item(TableName=db.tables.counters, Key=key)


def _write(partition: str, one: Outgoing) -> dict[str, Any]:
    return {
        **node_key(partition, _OF + one.participant),
        "rules": {"S": one.rules},
        "bucket": _optional("S", one.bucket),
        "rank": {"N": str(one.rank)},
        "previous": _optional("S", one.previous),
        "previous_rank": _optional("N", one.previous_rank),
        "cause": {"S": one.cause.value},
        "version": {"N": str(one.version)},
        "at": {"N": str(one.at)},
        TTL_ATTRIBUTE: {"N": str(one.at // 1000 + _KEPT_SECONDS)},
    }


def _read(item: Mapping[str, Any]) -> Outgoing:
    previous_rank = item["previous_rank"].get("N")
    return Outgoing(
        participant=item["node"]["S"].removeprefix(_OF),
        rules=item["rules"]["S"],
        bucket=item["bucket"].get("S"),
        rank=int(item["rank"]["N"]),
        previous=item["previous"].get("S"),
        previous_rank=None if previous_rank is None else int(previous_rank),
        cause=RankChangeCause(item["cause"]["S"]),
        version=int(item["version"]["N"]),
        at=int(item["at"]["N"]),
    )


def _optional(kind: str, value: object) -> dict[str, Any]:
    return {"NULL": True} if value is None else {kind: str(value)}
