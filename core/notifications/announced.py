"""The boundaries by which participants were last notified, and the claim on some standings: one stored item.

While boundaries move, some participants have been notified by the old cuts and some by the new ones. For each
boundary, `low` and `high` are the first and the last cut that anyone may have been notified by. Where they
differ the boundary is uncertain, and whoever moves between them is recorded as a mover.

A stream that is late brings changes that were made before a boundary moved. An index that was ahead of it did
not show those participants where they had been. So where boundaries were uncertain stays in `crossed` for
changes made until then.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from core.counters.nodes import expiry, get_node, node_key
from core.domain.keys import live_partition
from core.domain.model import Board
from core.notifications.bucket_cuts import Cut, Cuts, bucket_at, cut_order, is_inside
from core.notifications.codec import pack, unpack
from core.storage.database import Database

ANNOUNCED_NODE = "announced"


class CrossedRange(NamedTuple):
    """Where a boundary was uncertain, and where it had been before; for changes made `until` then."""

    boundary: int
    low: Cut
    high: Cut
    base: Cut
    since: int  # milliseconds since 1970
    until: int

    def holds(self, key: bytes, at: int) -> bool:
        """Return whether the boundary may have crossed a rank key after a change that was made then."""
        return at <= self.until and is_inside(key, self.low) != is_inside(key, self.high)


@dataclass(frozen=True, slots=True)
class Announced:
    """What participants and the top's subscribers were last notified by. Times are in ms since 1970."""

    buckets: str  # a digest of the rank buckets that the cuts are for
    cuts: Cuts
    ties: Cuts  # scores of ties that reach beyond a bucket's last place
    low: Cuts
    high: Cuts
    base: Cuts  # the cuts before `low` and `high` parted
    uncertain_since: int = 0  # when they parted; 0 while all are equal
    version: int = 0
    leased_until: int = 0
    published_at: int = 0
    watermark: int = 0  # when the newest change that the last pass knew of was made
    top: str = ""  # a digest of the top that was published last
    top_end: bytes | None = None  # the last rank key in it; None where it shows all entries
    crossed: tuple[CrossedRange, ...] = ()

    @property
    def certain(self) -> frozenset[int]:
        """The numbers of the boundaries that everyone was notified by."""
        ranges = zip(self.low, self.high, strict=True)
        return frozenset(at for at, (low, high) in enumerate(ranges) if low == high)

    def is_uncertain(self, key: bytes) -> bool:
        """Return whether different buckets may have been announced for a rank key."""
        ranges = zip(self.low, self.high, strict=True)
        return any(is_inside(key, low) != is_inside(key, high) for low, high in ranges)

    def crossed_before(self, key: bytes, at: int) -> bool:
        """Return whether a rank key may have had other buckets announced when a change was made."""
        return any(crossed.holds(key, at) for crossed in self.crossed)

    def bucket_before(self, key: bytes, at: int) -> int:
        """Return the bucket of a rank key at the time when a change was made, 0 for the best."""
        cuts = list(self.cuts)
        for crossed in reversed(self.crossed):
            if crossed.holds(key, at):
                cuts[crossed.boundary] = crossed.base
        return bucket_at(tuple(cuts), key)

    def remembering(self, before: "Announced", now: int) -> "Announced":
        """Return the state with the ranges in which `before` was uncertain kept for late changes.

        Ranges of one boundary and minute are joined. They are dropped a minute behind the stream.
        """
        kept = [crossed for crossed in before.crossed if crossed.until > before.watermark - _KEPT]
        for at, ends in enumerate(zip(before.low, before.high, strict=True)):
            if ends[0] == ends[1]:
                continue
            new = CrossedRange(at, *ends, before.base[at], now, now)
            for crossed in kept:
                if crossed.boundary == at and now < crossed.since + _KEPT:
                    low, high = (
                        min(crossed.low, new.low, key=cut_order),
                        max(crossed.high, new.high, key=cut_order),
                    )
                    new = crossed._replace(low=low, high=high, until=now)
                    kept.remove(crossed)
                    break
            kept.append(new)
        return replace(self, crossed=tuple(kept))

    def resolved(self, boundaries: Collection[int]) -> "Announced":
        """Return the state with these boundaries certain."""
        low, high, base = (
            tuple(self.cuts[at] if at in boundaries else cut for at, cut in enumerate(cuts))
            for cuts in (self.low, self.high, self.base)
        )
        since = 0 if low == high else self.uncertain_since
        return replace(self, low=low, high=high, base=base, uncertain_since=since)

    def claimed(self, cuts: Cuts, version: int, now: int, lease: int) -> "Announced":
        """Return the state while a pass notifies by other cuts: uncertain up to those, and leased."""
        return replace(
            self,
            low=tuple(min(pair, key=cut_order) for pair in zip(self.low, cuts, strict=True)),
            high=tuple(max(pair, key=cut_order) for pair in zip(self.high, cuts, strict=True)),
            uncertain_since=self.uncertain_since or (now if cuts != self.cuts else 0),
            version=version,
            leased_until=now + lease,
        )


_KEPT = 60_000  # milliseconds that a stream shard may be behind the others
_FIELDS = [field.name for field in fields(Announced)]


def read_announced(db: Database, standings: str) -> Announced | None:
    """Read the state, None before the first pass: a read unit for each 4 KB."""
    item = get_node(db, live_partition(standings), ANNOUNCED_NODE, consistent=True)
    if not item:
        return None
    values = {name: unpack(item[name]) for name in _FIELDS if name in item}
    values["crossed"] = tuple(CrossedRange(*crossed) for crossed in values.get("crossed", ()))
    return Announced(**values)


def write_announced(
    db: Database, board: Board, standings: str, stored: Announced | None, new: Announced
) -> bool:
    """Store the state if it still is `stored`; return whether it was. Costs a write unit a KB."""
    condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(node)"}
    if stored is not None:
        values = {":version": pack(stored.version), ":until": pack(stored.leased_until)}
        condition = {
            "ConditionExpression": "version = :version AND leased_until = :until",
            "ExpressionAttributeValues": values,
        }
    key = node_key(live_partition(standings), ANNOUNCED_NODE)
    item = {**key, **expiry(board, standings), **{name: pack(getattr(new, name)) for name in _FIELDS}}
    try:
        db.client.put_item(TableName=db.tables.counters, Item=item, **condition)
    except db.client.exceptions.ConditionalCheckFailedException:
        return False
    return True
