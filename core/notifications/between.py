"""Who stands between the bucket edges now and those that everyone was told by."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from core.domain.keys import split_standings
from core.domain.model import Board
from core.domain.rank_key import just_below
from core.notifications.announced import Cut, Cuts
from core.notifications.boundaries import Boundary
from core.ranking.top import Top
from core.storage.database import Database
from core.storage.rank_index import read_run

_READ_AT_ONCE = (16, 64, 256)  # entries: edges rarely move far


@dataclass
class Sweep:
    """Whom it found, by rank keys, and up to which cuts that goes: the edges now if it is `whole`.

    The top shows what the stream has shown, `sure`; the index, read for the `doubtful` edges, less or more.
    """

    cuts: Cuts
    sure: dict[str, bytes] = field(default_factory=dict)
    found: dict[str, bytes] = field(default_factory=dict)
    whole: bool = True
    doubtful: set[int] = field(default_factory=set)


def sweep(
    db: Database,
    board: Board,
    standings: str,
    top: Top,
    told: Cuts,
    edges: Sequence[Boundary | None],
    limit: int,
) -> Sweep:
    """Find who stands between the cuts told by and the edges now, `limit` participants at most.

    An edge that is not known stays where it is. Costs nothing for edges that have not moved, or within the
    top; else a read of the index: half a unit for each shard, more for more than some ten entries a shard.
    """
    found = Sweep(told)
    cuts = list(told)
    for at, (cut, edge) in enumerate(zip(told, edges, strict=True)):
        if edge is None or edge.cut == cut:
            continue
        outward = cut is not None and (edge.cut is None or edge.cut > cut)
        low, high = (cut, edge.cut) if outward else (edge.cut, cut)
        room = limit - len(found.sure) - len(found.found)
        in_top = _is_in(top, high)
        if in_top:
            run = _between(top.items, standings, low, high)
            run = run if outward else run[::-1]
        else:
            found.doubtful.add(at)
            run = read_between(db, board, standings, low, high, room + 1, backward=not outward)
        cuts[at] = edge.cut
        if len(run) > room:
            found.whole = False
            behind, run = run[room][1], run[:room]
            # As far as it goes: the last one that was found stands on the side that it will be told. The cut
            # is an entry's key: below one with zeros behind it, `just_below` would leave out that entry.
            cuts[at] = cut if not run else behind if outward else run[-1][1]
        (found.sure if in_top else found.found).update(run)
    found.cuts = tuple(cuts)
    return found


def read_between(
    db: Database, board: Board, standings: str, low: Cut, high: Cut, limit: int, *, backward: bool = False
) -> list[tuple[str, bytes]]:
    """Read who stands from one cut (inclusive) to another (exclusive), from `low` on or backward."""
    period = split_standings(standings)[1]
    start = high if backward else just_below(low or b"")
    inside: list[tuple[str, bytes]] = []
    for ask in [*(size for size in _READ_AT_ONCE if size < limit), limit]:
        run = read_run(db, board, period, ask, from_key=start, backward=backward)
        inside = _between(run, standings, low, high)
        if len(run) < ask or not _is_between(bytes(run[-1]["rank_key"]["B"]), low, high):
            break
    return inside


def _between(items: Sequence[Any], standings: str, low: Cut, high: Cut) -> list[tuple[str, bytes]]:
    keyed = [
        (item["participant"]["S"], bytes(item["rank_key"]["B"]))
        for item in items
        if item.get("standings", {"S": standings})["S"] == standings  # a stranger's may stand in any shard
    ]
    return [(participant, key) for participant, key in keyed if _is_between(key, low, high)]


def _is_between(key: bytes, low: Cut, high: Cut) -> bool:
    return (low is None or key >= low) and (high is None or key < high)


def _is_in(top: Top, cut: Cut) -> bool:
    """Say whether a top shows all that stands before a cut."""
    last = bytes(top.items[-1]["rank_key"]["B"]) if top.items else b""
    return top.whole or (cut is not None and cut <= last)
