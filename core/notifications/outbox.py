"""The outbox: what each participant is to be sent, or was sent last.

One item for each participant and standings, so that changes that could not be delivered yet merge into one:
from the bucket sent last to the bucket now. `pending` lists the participants with an undelivered event. It
is written before their items: a process that dies in between leaves versions in the list that the items have
not reached, and those are not pending.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, fields, replace
from typing import Any

from core.counters.nodes import expiry, get_node, node_key
from core.domain.keys import live_partition
from core.domain.limits import MAX_ID_BYTES
from core.domain.model import Board
from core.domain.rank_key import instant
from core.notifications.codec import pack, unpack
from core.notifications.events import Published, RankChange, RankChangeCause
from core.storage.database import Database, batch_get, batch_write
from core.storage.tables import TTL_ATTRIBUTE

_PENDING = "pending"
_PREFIX = "outbox:"
# The stream may deliver a batch again for a day: until then the item shows what has been sent.
_KEPT_SECONDS = 26 * 3600
# The pending list is one item of at most 400 KB: ids, and a number for each.
_LIST_BYTES = 390_000
_NUMBER_BYTES = 12


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A participant's change of bucket."""

    participant: str
    buckets: str  # a digest of the rank buckets
    bucket: str | None  # None after leaving the board
    rank: int
    previous_bucket: str | None
    previous_rank: int | None
    cause: RankChangeCause
    version: int
    at: int  # milliseconds since 1970

    @property
    def is_news(self) -> bool:
        """Whether to send it: nobody is notified of having left the board."""
        return self.bucket is not None and self.bucket != self.previous_bucket

    def event(self, board: Board, period: str) -> RankChange:
        """Return the event that subscribers receive."""
        assert self.bucket is not None  # noqa: S101 - `is_news`
        return RankChange(
            board=board,
            period=period,
            participant_id=self.participant,
            previous_bucket=self.previous_bucket,
            bucket=self.bucket,
            previous_rank=self.previous_rank,
            rank=self.rank,
            cause=self.cause,
            version=self.version,
            at=instant(self.at * 1000),
        )


_STORED = [field.name for field in fields(Outgoing) if field.name != "participant"]


@dataclass(frozen=True, slots=True)
class Pending:
    """Participants with an undelivered event, each with the version since which there is one.

    For the `uncertain` ones the outcome of a delivery is unknown. They are sent their event again, even one
    that leads back to where they were.
    """

    since: Mapping[str, int] = field(default_factory=dict)
    uncertain: frozenset[str] = frozenset()

    @property
    def room(self) -> int:
        """For how many more participants the item certainly has room, however long their ids."""
        used = sum(len(participant.encode()) + _NUMBER_BYTES for participant in self.since)
        return max(0, _LIST_BYTES - used) // (MAX_ID_BYTES + _NUMBER_BYTES)

    def decided(self, participants: Set[str], due: Iterable[Outgoing]) -> "Pending":
        """Return the list after a decision on some participants: of these the ones with an event due."""
        others = {one: since for one, since in self.since.items() if one not in participants}
        added = {one.participant: self.since.get(one.participant, one.version) for one in due}
        return self._of(others | added)

    def published(self, published: Published) -> "Pending":
        """Return the list without those whose event is done with, noting the uncertain ones."""
        done, uncertain = (
            {event.participant_id for event in events if isinstance(event, RankChange)}
            for events in (published.done, published.uncertain)
        )
        noted = replace(self, uncertain=self.uncertain | uncertain)
        return noted._of({one: since for one, since in self.since.items() if one not in done})

    def _of(self, since: Mapping[str, int]) -> "Pending":
        return Pending(since, frozenset(self.uncertain & since.keys()))


def read_outgoing(db: Database, standings: str, participants: Iterable[str]) -> dict[str, Outgoing]:
    """Read some participants' items: a read unit for each."""
    partition = live_partition(standings)
    keys = [node_key(partition, _PREFIX + participant) for participant in participants]
    items = batch_get(db, db.tables.counters, keys, consistent=True)
    return {outgoing.participant: outgoing for outgoing in map(_from_item, items)}


def write_outgoing(db: Database, standings: str, changed: Iterable[Outgoing]) -> None:
    """Store participants' items: a write unit for each."""
    partition = live_partition(standings)
    puts: Any = [{"PutRequest": {"Item": _to_item(partition, outgoing)}} for outgoing in changed]
    batch_write(db, db.tables.counters, puts)


def delete_outgoing(db: Database, standings: Iterable[str], participant: str) -> None:
    """Delete a participant's items of some standings: a write unit for each."""
    keys = [node_key(live_partition(each), _PREFIX + participant) for each in standings]
    batch_write(db, db.tables.counters, [{"DeleteRequest": {"Key": key}} for key in keys])


def read_pending(db: Database, standings: str) -> Pending:
    """Read the pending list: a read unit for each 4 KB."""
    item = get_node(db, live_partition(standings), _PENDING, consistent=True)
    if not item:
        return Pending()
    versions: dict[str, int] = unpack(item["since"])
    uncertain = frozenset(participant for participant, version in versions.items() if version < 0)
    return Pending({participant: abs(version) for participant, version in versions.items()}, uncertain)


def write_pending(db: Database, board: Board, standings: str, pending: Pending) -> None:
    """Store the pending list: a write unit a KB, some 40 participants."""
    key = node_key(live_partition(standings), _PENDING)
    if pending.since:
        # Negative where uncertain: listing the ids again would be too much for one item.
        since = {one: -at if one in pending.uncertain else at for one, at in pending.since.items()}
        item = {**key, **expiry(board, standings), "since": pack(since)}
        db.client.put_item(TableName=db.tables.counters, Item=item)
    else:
        db.client.delete_item(TableName=db.tables.counters, Key=key)


def _to_item(partition: str, outgoing: Outgoing) -> dict[str, Any]:
    return {
        **node_key(partition, _PREFIX + outgoing.participant),
        **{name: pack(getattr(outgoing, name)) for name in _STORED},
        TTL_ATTRIBUTE: {"N": str(outgoing.at // 1000 + _KEPT_SECONDS)},
    }


def _from_item(item: Mapping[str, Any]) -> Outgoing:
    stored = {name: unpack(item[name]) for name in _STORED}
    stored["cause"] = RankChangeCause(stored["cause"])
    return Outgoing(participant=item["node"]["S"].removeprefix(_PREFIX), **stored)
