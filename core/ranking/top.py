"""The materialised top of an order: its best entries, kept by the stream's consumer in one item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from core.counters.guard import GUARD, guard_name, guard_value, not_counted, outdated
from core.counters.nodes import Item, expiry, get_node, node_key
from core.domain.entry_item import PROJECTED, is_ranked, sanitize_item
from core.domain.keys import split_standings
from core.domain.model import Board
from core.storage.clock import now_ms
from core.storage.database import Database, batch_get
from core.storage.rank_index import read_run
from core.tree.changes import Change, latest

if TYPE_CHECKING:
    from core.domain.entry_item import Key

TOP_NODE = "top"
TOP_KEPT = 26  # the top 25, and one more to see whether a tie goes on
_INDEX_LAG = 5_000  # milliseconds that the index is given to show what the stream has shown

_ENTRY_ATTRIBUTES = ("participant", "rank_key", "rank_shard", *PROJECTED)


@dataclass(frozen=True, slots=True)
class Top:
    """The best entries as items, best first; `whole` where the board holds no others."""

    items: list[dict[str, Any]]
    whole: bool


def read_top(db: Database, standings: str, *, consistent: bool = False) -> Top | None:
    """Read the materialised top, None before the first count.

    Costs half a read unit (consistent: one) for each 4 KB.
    """
    item = get_node(db, standings, TOP_NODE, consistent=consistent)
    return _top(item) if item else None


def follow_top(db: Database, shard_id: str, board: Board, standings: str, changes: Sequence[Change]) -> None:
    """Bring a materialised top up to one stream shard's changes.

    Reads the top (a unit for each 4 KB) and writes it (a unit a KB) if it changes. Only when entries leave a
    board's top and those behind it are unknown is the rank index read; and once more a little later, since
    the index may lag.
    """
    guard = guard_name(shard_id)
    while True:
        item = get_node(db, standings, TOP_NODE, consistent=True)
        changes = not_counted(changes, item, guard)
        if not changes:
            return
        known = _top(item) if item else Top([], whole=False)
        top = _merge(known, latest(changes))
        looked_at = int(item["looked_at"]["N"]) if "looked_at" in item else None
        again = looked_at is not None and now_ms() > looked_at + _INDEX_LAG
        if again or (not top.whole and len(top.items) < TOP_KEPT):
            looked_at = None if again else now_ms()
            top = _merge(_look(db, board, standings, known), latest(changes))
        elif item and top == known and not any(_belongs(change.new, top) for change in changes):
            return
        counted = {guard: guard_value(changes[-1].sequence, now_ms())}
        if _write(db, board, standings, item, top, looked_at, counted):
            return


def renew_top(db: Database, board: Board, standings: str) -> None:
    """Make a top anew from the index and the table, whatever it holds now."""
    written = False
    while not written:
        item = get_node(db, standings, TOP_NODE, consistent=True)
        top = _look(db, board, standings, Top([], whole=False))
        written = _write(db, board, standings, item, top, now_ms(), {})


def _write(
    db: Database,
    board: Board,
    standings: str,
    item: Item,
    top: Top,
    looked_at: int | None,
    counted: dict[str, Any],
) -> bool:
    """Write a top in the place of `item`, unless another consumer has been faster; says whether it did."""
    revision = item.get("revision", {"N": "0"})
    guards = {name: value for name, value in item.items() if name.startswith(GUARD)} | counted
    for name in outdated(guards, now_ms()):
        del guards[name]
    try:
        db.client.put_item(
            TableName=db.tables.counters,
            Item={
                **guards,
                **node_key(standings, TOP_NODE),
                **expiry(board, standings),
                "revision": {"N": str(int(revision["N"]) + 1)},
                "whole": {"BOOL": top.whole},
                "entries": {"L": [{"M": one} for one in top.items]},
                **({"looked_at": {"N": str(looked_at)}} if looked_at else {}),
            },
            ConditionExpression="attribute_not_exists(revision) OR revision = :revision",
            ExpressionAttributeValues={":revision": revision},
        )
    except db.client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def _look(db: Database, board: Board, standings: str, known: Top) -> Top:
    """Read the best from the index; where it and what is known differ, the table says what is true.

    Costs reading the index, and a consistent read of each entry in question.
    """
    found = read_run(db, board, split_standings(standings)[1], TOP_KEPT)
    whole = len(found) < TOP_KEPT
    last = None if whole else _rank_key(found[-1])
    best = {item["participant"]["S"]: item for item in found if item["standings"]["S"] == standings}
    others = {item["participant"]["S"]: item for item in known.items}
    doubtful = [
        one
        for one in sorted(best.keys() | others.keys())
        if best.get(one, {}).get("version") != others.get(one, {}).get("version")
    ]
    keys: list[Key] = [{"participant": {"S": one}, "standings": {"S": standings}} for one in doubtful]
    true = batch_get(db, db.tables.scores, keys, consistent=True)
    items = []
    for one in [*(item for name, item in best.items() if name not in doubtful), *true]:
        entry = sanitize_item(standings, one)
        if entry is not None and is_ranked(entry) and (last is None or _rank_key(entry) <= last):
            items.append(_shown(entry))
    return Top(sorted(items, key=_rank_key), whole)


def _merge(known: Top, changed: dict[str, Change]) -> Top:
    """Put changed entries where they belong now. Behind the last known entry only a whole top is known."""
    items = [one for one in known.items if one["participant"]["S"] not in changed]
    items += [_shown(one.new) for one in changed.values() if one.new is not None and _belongs(one.new, known)]
    items.sort(key=_rank_key)
    return Top(items[:TOP_KEPT], whole=known.whole and len(items) <= TOP_KEPT)


def _belongs(image: Mapping[str, Any] | None, known: Top) -> bool:
    """Say whether an entry stands where a top is known: even if it left again, the guard must then move."""
    if image is None or not is_ranked(image):
        return False
    return known.whole or (bool(known.items) and _rank_key(image) <= _rank_key(known.items[-1]))


def _shown(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: item[name] for name in _ENTRY_ATTRIBUTES if name in item}


def _rank_key(item: Mapping[str, Any]) -> bytes:
    return bytes(item["rank_key"]["B"])


def _top(item: Mapping[str, Any]) -> Top:
    return Top([one["M"] for one in item["entries"]["L"]], whole=item["whole"]["BOOL"])
