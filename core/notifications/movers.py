"""Movers: participants whose own change may have moved them over a boundary.

The stream's consumer stores the movers of a batch, one item for each standings; the next pass looks at them
and deletes the item (core.notifications.notifier). A batch that comes again stores the same item, and looking
at a mover twice changes nothing.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from core.counters.guard import guard_name
from core.counters.nodes import Item, expiry, node_key
from core.domain.entry_item import IN_TOP_CHANGE, is_ranked
from core.domain.keys import live_partition
from core.domain.model import Board
from core.notifications.announced import Announced, read_announced
from core.notifications.bucket_cuts import Cut, bucket_at, buckets_digest, is_inside
from core.notifications.codec import pack, unpack
from core.storage.database import Database, batch_write, query_all
from core.storage.parallel import batched
from core.tree.changes import Change, latest

MOVERS_PREFIX = "movers:"
MOVERS_PER_ITEM = 250  # of 1.4 KB each at most, into an item of 400 KB


class Mover(NamedTuple):
    """A participant to look at, as they were before the change."""

    participant: str
    sequence: int  # of the stream record
    bucket: str | None  # the one announced for the rank key; None where there was no entry
    key: bytes | None
    known: bool  # false where nothing had been announced for these rank buckets
    own_score: bool  # whether the change itself moved the participant out of the bucket


@dataclass(frozen=True, slots=True)
class MoverBatch:
    """The movers of one batch of stream records."""

    node: str
    buckets: str  # a digest of the rank buckets
    newest: int  # when the batch's newest change was made, in milliseconds since 1970
    movers: tuple[Mover, ...]


def record_movers(
    db: Database, shard_id: str, board: Board, standings: str, changes: Sequence[Change]
) -> bool:
    """Store the movers among a batch's changes; return whether a pass over the standings is due.

    Costs a read unit, and a write unit a KB (some 15 movers) where there are movers.
    """
    buckets = buckets_digest(board)
    announced = read_announced(db, standings)
    if announced is not None and announced.buckets != buckets:
        announced = None
    due = False
    movers = []
    keys: defaultdict[str, list[bytes | None]] = defaultdict(list)  # after each change
    for change in changes:
        keys[change.participant].append(_rank_key(change.new))
    last = latest(changes)
    for participant, first in latest(changes[::-1]).items():
        due = due or announced is None or _shows_in_top(announced, first.old, last[participant].new)
        mover = _mover(board, announced, first, _rank_key(first.old), keys[participant])
        if mover:
            movers.append(mover)
    newest = max(int(change.at.timestamp() * 1000) for change in changes)
    records = f"{changes[0].sequence}-{changes[-1].sequence}"
    name = f"{MOVERS_PREFIX}{newest:015}:{guard_name(shard_id)}:{records}"
    for number, some in enumerate(batched(movers, MOVERS_PER_ITEM)):
        _write_batch(db, board, standings, MoverBatch(f"{name}:{number}", buckets, newest, tuple(some)))
    return due or bool(movers)


def read_movers(db: Database, standings: str, limit: int) -> list[MoverBatch]:
    """Read the oldest movers, whole batches up to the one that reaches `limit`: a read unit for each 4 KB."""
    items = query_all(
        db,
        TableName=db.tables.counters,
        KeyConditionExpression="standings = :live AND begins_with(node, :movers)",
        ExpressionAttributeValues={
            ":live": {"S": live_partition(standings)},
            ":movers": {"S": MOVERS_PREFIX},
        },
        ConsistentRead=True,
        Limit=100,
    )
    batches: list[MoverBatch] = []
    found = 0
    for item in items:
        batches.append(_from_item(item))
        found += len(batches[-1].movers)
        if found >= limit:
            break
    return batches


def delete_movers(db: Database, standings: str, batches: Iterable[MoverBatch]) -> None:
    """Delete movers that have been looked at: a write unit a KB."""
    keys = [node_key(live_partition(standings), batch.node) for batch in batches]
    batch_write(db, db.tables.counters, [{"DeleteRequest": {"Key": key}} for key in keys])


def merge_movers(batches: Iterable[MoverBatch], buckets: str) -> dict[str, Mover]:
    """Return one mover for each participant: as before the first change, `own_score` if any change was.

    `buckets` is the digest of the present rank buckets. Of other ones nothing is known.
    """
    merged: dict[str, Mover] = {}
    for batch in batches:
        for read in batch.movers:
            mover = read if batch.buckets == buckets else read._replace(known=read.key is None)
            other = merged.get(mover.participant, mover)
            first = min(mover, other, key=lambda either: either.sequence)
            merged[mover.participant] = first._replace(own_score=mover.own_score or other.own_score)
    return merged


def _mover(
    board: Board, announced: Announced | None, first: Change, old: bytes | None, later: Sequence[bytes | None]
) -> Mover | None:
    """Return the mover of a participant's changes, from one rank key by way of later ones.

    One who comes back within the batch is a mover too: a pass that was ahead of the stream may have found the
    entry on its way, and gone by that.
    """
    if all(key == old for key in later):
        return None
    if announced is None:
        return Mover(first.participant, first.sequence, None, old, known=old is None, own_score=True)
    at = int(first.at.timestamp() * 1000)
    was = None if old is None else announced.bucket_before(old, at)
    buckets = [None if key is None else bucket_at(announced.cuts, key) for key in later]
    uncertain = any(key is not None and announced.is_uncertain(key) for key in (old, *later))
    uncertain = uncertain or (old is not None and announced.crossed_before(old, at))
    crosses = any(_crosses(tie, old, key) for tie in announced.ties for key in later)
    if all(bucket == was for bucket in buckets) and not uncertain and not crosses:
        return None
    name = None if was is None else board.rank_buckets[was].name
    return Mover(first.participant, first.sequence, name, old, known=True, own_score=was != buckets[-1])


def _rank_key(image: Item | None) -> bytes | None:
    return bytes(image["rank_key"]["B"]) if image is not None and is_ranked(image) else None


def _crosses(cut: Cut, old: bytes | None, new: bytes | None) -> bool:
    was, is_now = (key is not None and is_inside(key, cut) for key in (old, new))
    return was != is_now


def _shows_in_top(announced: Announced, old: Item | None, new: Item | None) -> bool:
    keys = [key for key in (_rank_key(old), _rank_key(new)) if key is not None]
    if not any(announced.top_end is None or key <= announced.top_end for key in keys):
        return False
    return len(keys) == 1 or any((old or {}).get(name) != (new or {}).get(name) for name in IN_TOP_CHANGE)


def _write_batch(db: Database, board: Board, standings: str, batch: MoverBatch) -> None:
    db.client.put_item(
        TableName=db.tables.counters,
        Item={
            **node_key(live_partition(standings), batch.node),
            **expiry(board, standings),
            **{name: pack(getattr(batch, name)) for name in ("buckets", "newest", "movers")},
        },
    )


def _from_item(item: Item) -> MoverBatch:
    movers = tuple(Mover(*values) for values in unpack(item["movers"]))
    return MoverBatch(item["node"]["S"], unpack(item["buckets"]), unpack(item["newest"]), movers)
