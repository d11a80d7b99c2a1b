"""The materialised top: the best entries of some standings in one item, kept by the stream's consumer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.counters.guard import GUARD, guard_name, guard_value, not_counted, outdated
from core.counters.nodes import Item, expiry, get_node, node_key
from core.domain.entry_item import PROJECTED, entry_key, is_ranked, sanitize_item
from core.domain.keys import split_standings
from core.domain.model import Board
from core.storage.clock import now_ms
from core.storage.database import Database, batch_get
from core.storage.rank_index import read_run
from core.tree.changes import Change, latest

TOP_NODE = "top"
TOP_KEPT = 26  # the top 25, and one more to see whether a tie goes on
_INDEX_LAG = 5_000  # milliseconds until the index shows what the stream has shown

_ENTRY_ATTRIBUTES = ("participant", "rank_key", "rank_shard", *PROJECTED)


@dataclass(frozen=True, slots=True)
class Top:
    """The best entries as items, best first; `whole` if there are no others.

    `recheck_at` is when the index must be read again, in ms since 1970, as it may have lagged; None if never.
    """

    items: list[dict[str, Any]]
    whole: bool
    recheck_at: int | None = field(default=None, compare=False)


def read_top(db: Database, standings: str, *, consistent: bool = False) -> Top | None:
    """Read the materialised top, None before the first count: half a unit (consistent: one) for each 4 KB."""
    item = get_node(db, standings, TOP_NODE, consistent=consistent)
    return _top(item) if item else None


def update_top(db: Database, shard_id: str, board: Board, standings: str, changes: Sequence[Change]) -> bool:
    """Bring the materialised top up to one stream shard's changes; return whether it must be rechecked.

    Costs reading the top (a unit for each 4 KB), and writing it if it changes (a unit a KB). The rank index
    is read if entries leave the top and those behind it are not known; and once more a little later, since
    it may lag: by this or, on a quiet board, by `recheck_top`.
    """
    guard = guard_name(shard_id)
    while True:
        item = get_node(db, standings, TOP_NODE, consistent=True)
        changes = not_counted(changes, item, guard)
        if not changes:
            return False
        known = _top(item) if item else Top([], whole=False)
        top = _merge(known, latest(changes))
        recheck_at = known.recheck_at
        recheck = recheck_at is not None and now_ms() > recheck_at
        if recheck or (not top.whole and len(top.items) < TOP_KEPT):
            recheck_at = None if recheck else now_ms() + _INDEX_LAG
            top = _merge(_read_best(db, board, standings, known), latest(changes))
        # The guard must move even for an entry that came into the top and left it again.
        elif item and top == known and not any(_ranks_within(top, change.new) for change in changes):
            return False
        counted = {guard: guard_value(changes[-1].sequence, now_ms())}
        if _replace(db, board, standings, item, top, recheck_at, counted):
            return recheck_at is not None and recheck_at != known.recheck_at


def recheck_top(db: Database, board: Board, standings: str) -> Top:
    """Read the best entries from the index again if the top waits for that; return the top.

    Costs reading the top and the index, consistent reads of what differs, and writing the top.
    """
    while True:
        item = get_node(db, standings, TOP_NODE, consistent=True)
        known = _top(item)
        if known.recheck_at is None:
            return known
        top = _read_best(db, board, standings, known)
        if _replace(db, board, standings, item, top, None, {}):
            return top


def renew_top(db: Database, board: Board, standings: str) -> None:
    """Build the top anew from the index and the table, whatever it holds now."""
    replaced = False
    while not replaced:
        item = get_node(db, standings, TOP_NODE, consistent=True)
        top = _read_best(db, board, standings, Top([], whole=False))
        replaced = _replace(db, board, standings, item, top, now_ms() + _INDEX_LAG, {})


def _replace(
    db: Database, board: Board, standings: str, item: Item, top: Top, recheck_at: int | None, counted: Item
) -> bool:
    """Write a top in the place of `item`. Return whether no other consumer was faster."""
    revision = item.get("revision", {"N": "0"})
    guards = {name: value for name, value in {**item, **counted}.items() if name.startswith(GUARD)}
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
                "entries": {"L": [{"M": entry} for entry in top.items]},
                **({"recheck_at": {"N": str(recheck_at)}} if recheck_at else {}),
            },
            ConditionExpression="attribute_not_exists(revision) OR revision = :revision",
            ExpressionAttributeValues={":revision": revision},
        )
    except db.client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def _read_best(db: Database, board: Board, standings: str, known: Top) -> Top:
    """Read the best entries from the index, and from the table those of which it differs from the known top.

    Costs reading the index, and a consistent read of each entry that differs.
    """
    period = split_standings(standings)[1]
    found = read_run(db, board, period, TOP_KEPT)
    whole = len(found) < TOP_KEPT
    last = None if whole else _rank_key(found[-1])
    indexed = {item["participant"]["S"]: item for item in found if item["standings"]["S"] == standings}
    kept = {item["participant"]["S"]: item for item in known.items}
    differing = [
        participant
        for participant in sorted(indexed.keys() | kept.keys())
        if indexed.get(participant, {}).get("version") != kept.get(participant, {}).get("version")
    ]
    keys = [entry_key(board, period, participant) for participant in differing]
    items = [item for participant, item in indexed.items() if participant not in differing]
    items += batch_get(db, db.tables.scores, keys, consistent=True)
    entries = (sanitize_item(standings, item) for item in items)
    best = [
        _shown(entry)
        for entry in entries
        if entry is not None and is_ranked(entry) and (last is None or _rank_key(entry) <= last)
    ]
    return Top(sorted(best, key=_rank_key), whole)


def _merge(known: Top, changed: dict[str, Change]) -> Top:
    """Put changed entries in their places. Behind the last known entry only a whole top is known."""
    items = [item for item in known.items if item["participant"]["S"] not in changed]
    items += [
        _shown(change.new) for change in changed.values() if change.new and _ranks_within(known, change.new)
    ]
    items.sort(key=_rank_key)
    return Top(items[:TOP_KEPT], whole=known.whole and len(items) <= TOP_KEPT)


def _ranks_within(top: Top, image: Mapping[str, Any] | None) -> bool:
    """Return whether an entry's place is in the part of the standings that a top covers."""
    if image is None or not is_ranked(image):
        return False
    return top.whole or (bool(top.items) and _rank_key(image) <= _rank_key(top.items[-1]))


def _shown(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: item[name] for name in _ENTRY_ATTRIBUTES if name in item}


def _rank_key(item: Mapping[str, Any]) -> bytes:
    return bytes(item["rank_key"]["B"])


def _top(item: Mapping[str, Any]) -> Top:
    recheck_at = int(item["recheck_at"]["N"]) if "recheck_at" in item else None
    return Top([entry["M"] for entry in item["entries"]["L"]], item["whole"]["BOOL"], recheck_at)
