"""The materialised top of an order: its best entries, kept by the stream's consumer in one item."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.database import Database
from core.deltas import Change, is_ranked, latest
from core.guard import GUARD, guard_name, not_counted
from core.index import read_run
from core.keys import split_standings
from core.model import Board
from core.nodes import get_node, node_key

TOP_NODE = "top"
TOP_KEPT = 26  # the top 25, and one more to see whether a tie goes on

_ENTRY_ATTRIBUTES = (
    "participant",
    "rank_key",
    "rank_shard",
    "achieved_at",
    "submissions",
    "version",
    "display_name",
    "metadata",
)


@dataclass(frozen=True, slots=True)
class Top:
    """The best entries as items, best first; `whole` where the board holds no others."""

    items: list[dict[str, Any]]
    whole: bool


def read_top(db: Database, standings: str) -> Top | None:
    """Read the materialised top, None before the first count: half a read unit for each 4 KB."""
    item = get_node(db, standings, TOP_NODE)
    return _top(item) if item else None


def follow_top(db: Database, shard_id: str, board: Board, standings: str, changes: Sequence[Change]) -> None:
    """Bring a materialised top up to one stream shard's changes.

    Reads the top (a unit for each 4 KB) and writes it (a unit a KB) if it changes. Only when entries leave a
    board's top and those behind it are unknown is the rank index read.
    """
    guard = guard_name(shard_id)
    _, period, _ = split_standings(standings)
    while True:
        item = get_node(db, standings, TOP_NODE, consistent=True)
        changes = not_counted(changes, item, guard)
        if not changes:
            return
        known = _top(item) if item else Top([], whole=False)
        top = _merge(known, latest(changes))
        if not top.whole and len(top.items) < TOP_KEPT:
            found = read_run(db, board, period, TOP_KEPT)
            # The index lags behind the stream at times: the later version of an entry counts.
            top = _merge(Top(_newest(known.items, found), whole=len(found) < TOP_KEPT), latest(changes))
        if item and top == known and not any(_belongs(change.new, top) for change in changes):
            return
        try:
            db.client.put_item(
                TableName=db.tables.counters,
                Item={
                    **{name: value for name, value in item.items() if name.startswith(GUARD)},
                    **node_key(standings, TOP_NODE),
                    guard: {"N": str(changes[-1].sequence)},
                    "revision": {"N": str(int(item.get("revision", {"N": "0"})["N"]) + 1)},
                    "whole": {"BOOL": top.whole},
                    "entries": {"L": [{"M": one} for one in top.items]},
                },
                ConditionExpression="attribute_not_exists(revision) OR revision = :revision",
                ExpressionAttributeValues={":revision": item.get("revision", {"N": "0"})},
            )
        except db.client.exceptions.ConditionalCheckFailedException:
            continue  # another stream shard's consumer was faster: again, on what it left
        return


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


def _newest(known: Sequence[dict[str, Any]], found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    versions = {one["participant"]["S"]: one for one in known}
    newest = []
    for one in found:
        other = versions.get(one["participant"]["S"], one)
        best = max(one, other, key=lambda item: int(item["version"]["N"]))
        newest.append(_shown(best))
    return sorted(newest, key=_rank_key)


def _shown(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: item[name] for name in _ENTRY_ATTRIBUTES if name in item}


def _rank_key(item: Mapping[str, Any]) -> bytes:
    return bytes(item["rank_key"]["B"])


def _top(item: Mapping[str, Any]) -> Top:
    return Top([one["M"] for one in item["entries"]["L"]], whole=item["whole"]["BOOL"])
