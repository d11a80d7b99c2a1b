"""The boundaries by which participants were last notified, and the claim on some standings: one stored item.

While boundaries move, some participants have been notified by the old cuts and some by the new ones. For each
boundary, `low` and `high` are the first and the last cut that anyone may have been notified by. Where they
differ the boundary is uncertain, and whoever moves between them is recorded as a mover.
"""

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from typing import Any

from core.counters.nodes import expiry, get_node, node_key
from core.domain.keys import live_partition
from core.domain.model import Board
from core.notifications.codec import pack, unpack
from core.notifications.cuts import Cuts, cut_order, is_inside
from core.storage.database import Database

ANNOUNCED_NODE = "announced"


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

    @property
    def certain(self) -> frozenset[int]:
        """The numbers of the boundaries that everyone was notified by."""
        ranges = zip(self.low, self.high, strict=True)
        return frozenset(at for at, (low, high) in enumerate(ranges) if low == high)

    def is_uncertain(self, key: bytes) -> bool:
        """Return whether different buckets may have been announced for a rank key."""
        ranges = zip(self.low, self.high, strict=True)
        return any(is_inside(key, low) != is_inside(key, high) for low, high in ranges)

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


_FIELDS = [field.name for field in fields(Announced)]


def read_announced(db: Database, standings: str) -> Announced | None:
    """Read the state, None before the first pass: a read unit for each 4 KB."""
    item = get_node(db, live_partition(standings), ANNOUNCED_NODE, consistent=True)
    return Announced(**{name: unpack(item[name]) for name in _FIELDS}) if item else None


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
