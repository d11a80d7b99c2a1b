"""Marks: whom the tick is to look at, left by the stream's consumer (see core.notifications.notifier).

A batch leaves one item for each order in which someone's bucket may have changed; a batch that comes again
leaves the same, and looking twice changes nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from core.counters.guard import guard_name
from core.counters.nodes import Item, expiry, get_node, node_key
from core.domain.entry_item import IN_TOP_CHANGE, is_ranked
from core.domain.keys import live_partition
from core.domain.model import Board
from core.notifications.announced import Announced, bucket_at, from_item, rules_of
from core.storage.database import Database, batch_write
from core.tree.changes import Change

ANNOUNCED_NODE = "told"
MOVERS = "marks:"
MOVERS_PER_ITEM = 250  # of 1.4 KB each at most, into an item of 400 KB


@dataclass(frozen=True, slots=True)
class Mover:
    """A participant to look at: the bucket told for the rank key before, None where there was no entry.

    `known` is false where nothing had been told by these buckets; `own` says whether the own score moved
    the participant out of the bucket, so that it is not others' doing.
    """

    participant: str
    sequence: int
    previous: str | None
    key: bytes | None
    known: bool
    own: bool


@dataclass(frozen=True, slots=True)
class MoverBatch:
    """A batch's marks, and the newest change in it, in milliseconds since 1970."""

    node: str
    rules: str
    at: int
    marks: tuple[Mover, ...]


def read_announced(db: Database, standings: str) -> Announced | None:
    """Read by what an order's subscribers have been told: a read unit for each 4 KB."""
    item = get_node(db, live_partition(standings), ANNOUNCED_NODE, consistent=True)
    return from_item(item) if item else None


def record_movers(
    db: Database, shard_id: str, board: Board, standings: str, changes: Sequence[Change]
) -> bool:
    """Mover whose bucket a batch's changes may have changed; says whether the order's tick is due.

    Costs a read unit, and a write unit a KB (some 15 marks) where there are any.
    """
    told = read_announced(db, standings)
    if told is not None and told.rules != rules_of(board):
        told = None
    due = told is None
    marks = []
    for first, last in _moves(changes):
        old, new = (_key(change) for change in (first.old, last.new))
        due = due or _concerns_top(told, first.old, last.new)
        if old == new:
            continue
        mark = _mark(board, told, first, old, new)
        if mark:
            marks.append(mark)
    newest = max(int(change.at.timestamp() * 1000) for change in changes)
    name = f"{MOVERS}{newest:015}:{guard_name(shard_id)}:{changes[0].sequence}-{changes[-1].sequence}"
    for start in range(0, len(marks), MOVERS_PER_ITEM):
        some = tuple(marks[start : start + MOVERS_PER_ITEM])
        write_movers(db, board, standings, MoverBatch(f"{name}:{start}", rules_of(board), newest, some))
    return due or bool(marks)


def read_movers(db: Database, standings: str, limit: int) -> Iterator[MoverBatch]:
    """Read the oldest marks, `limit` or an item's more at most: a read unit for each 4 KB."""
    answer = db.client.query(
        TableName=db.tables.counters,
        KeyConditionExpression="standings = :live AND begins_with(node, :marks)",
        ExpressionAttributeValues={":live": {"S": live_partition(standings)}, ":marks": {"S": MOVERS}},
        ConsistentRead=True,
        Limit=100,
    )
    found = 0
    for item in answer["Items"]:
        read = _read(item)
        yield read
        found += len(read.marks)
        if found >= limit:
            return


def write_movers(db: Database, board: Board, standings: str, marks: MoverBatch) -> None:
    """Leave marks: a write unit a KB."""
    db.client.put_item(
        TableName=db.tables.counters,
        Item={
            **node_key(live_partition(standings), marks.node),
            **expiry(board, standings),
            "rules": {"S": marks.rules},
            "at": {"N": str(marks.at)},
            "marks": {"L": [_write(mark) for mark in marks.marks]},
        },
    )


def delete_movers(db: Database, standings: str, items: Iterable[MoverBatch]) -> None:
    """Take marks away that have been looked at: a write unit a KB."""
    keys = [node_key(live_partition(standings), one.node) for one in items]
    batch_write(db, db.tables.counters, [{"DeleteRequest": {"Key": key}} for key in keys])


def _moves(changes: Sequence[Change]) -> Iterator[tuple[Change, Change]]:
    """Give each participant's first and last change."""
    first: dict[str, Change] = {}
    last: dict[str, Change] = {}
    for change in changes:
        first.setdefault(change.participant, change)
        last[change.participant] = change
    return ((first[one], last[one]) for one in first)


def _mark(
    board: Board, told: Announced | None, first: Change, old: bytes | None, new: bytes | None
) -> Mover | None:
    if told is None:
        return Mover(first.participant, first.sequence, None, old, known=old is None, own=True)
    was, is_now = (None if key is None else bucket_at(told.cuts, key) for key in (old, new))
    between = any(key is not None and told.is_between(key) for key in (old, new))
    if was == is_now and not between and not any(_crosses(tie, old, new) for tie in told.ties):
        return None
    previous = None if was is None else board.rank_buckets[was].name
    return Mover(first.participant, first.sequence, previous, old, known=True, own=was != is_now)


def _key(image: Item | None) -> bytes | None:
    return bytes(image["rank_key"]["B"]) if image is not None and is_ranked(image) else None


def _crosses(cut: bytes, old: bytes | None, new: bytes | None) -> bool:
    return (old is not None and old < cut) != (new is not None and new < cut)


def _concerns_top(told: Announced | None, old: Item | None, new: Item | None) -> bool:
    """Say whether a change shows in the top."""
    keys = [key for key in (_key(old), _key(new)) if key is not None]
    if told is None or not any(told.top_end is None or key <= told.top_end for key in keys):
        return False
    return len(keys) == 1 or any((old or {}).get(name) != (new or {}).get(name) for name in IN_TOP_CHANGE)


def _write(mark: Mover) -> dict[str, Any]:
    return {
        "L": [
            {"S": mark.participant},
            {"N": str(mark.sequence)},
            {"NULL": True} if mark.previous is None else {"S": mark.previous},
            {"NULL": True} if mark.key is None else {"B": mark.key},
            {"BOOL": mark.known},
            {"BOOL": mark.own},
        ]
    }


def _read(item: Item) -> MoverBatch:
    marks = []
    for one in item["marks"]["L"]:
        participant, sequence, previous, key, known, own = one["L"]
        marks.append(
            Mover(
                participant["S"],
                int(sequence["N"]),
                previous.get("S"),
                bytes(key["B"]) if "B" in key else None,
                known["BOOL"],
                own["BOOL"],
            )
        )
    return MoverBatch(item["node"]["S"], item["rules"]["S"], int(item["at"]["N"]), tuple(marks))
