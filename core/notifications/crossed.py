"""Participants whom a boundary has crossed since it was announced."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.domain.keys import split_standings
from core.domain.model import Board
from core.domain.rank_key import just_below
from core.notifications.boundaries import Boundary
from core.notifications.bucket_cuts import Cut, Cuts, cut_order, is_inside
from core.ranking.top import Top
from core.storage.database import Database
from core.storage.rank_index import read_run

_READ_SIZES = (16, 64, 256)  # entries: boundaries rarely move far

Keyed = list[tuple[str, bytes]]  # participants with their rank keys


@dataclass(frozen=True, slots=True)
class Crossed:
    """Participants between the announced boundaries and those now, with their rank keys.

    Those in the top are `certain`: it is at the same point of the stream as the boundaries. The index, read
    for boundaries behind the top, may be ahead of the stream or lag.
    """

    cuts: Cuts  # up to which all are found: the boundaries now if it is `complete`
    certain: Mapping[str, bytes]
    from_index: Mapping[str, bytes]
    on_index: frozenset[int]  # the numbers of the boundaries that the index was read for
    complete: bool


def find_crossed(
    db: Database,
    board: Board,
    standings: str,
    top: Top,
    announced: Cuts,
    boundaries: Sequence[Boundary | None],
    limit: int,
) -> Crossed:
    """Find the participants between the announced boundaries and those now, `limit` at most.

    An unknown boundary stays where it was announced. Costs nothing for boundaries that have not moved or lie
    within the top, and half a read unit a shard for each other one; more from some ten entries a shard on.
    """
    cuts = list(announced)
    certain: dict[str, bytes] = {}
    from_index: dict[str, bytes] = {}
    on_index = set()
    complete = True
    for at, (old, boundary) in enumerate(zip(announced, boundaries, strict=True)):
        if boundary is None or boundary.cut == old:
            continue
        new = boundary.cut
        low, high = sorted((old, new), key=cut_order)
        outward = new == high
        room = limit - len(certain) - len(from_index)
        if _shows_all_before(top, high):
            run = _select(top.items, standings, low, high)
            run, found = run if outward else run[::-1], certain
        else:
            on_index.add(at)
            run = read_between(db, board, standings, low, high, room + 1, backward=not outward)
            found = from_index
        cuts[at] = new
        if len(run) > room:
            complete = False
            # Notify by the farthest cut with nobody missing: outward before the first entry left out, inward
            # before the last one found. A cut must be an entry's key here: `just_below` would leave out an
            # entry right below a cut that ends in zeros.
            cuts[at] = old if room == 0 else run[room][1] if outward else run[room - 1][1]
        found.update(run[:room])
    return Crossed(tuple(cuts), certain, from_index, frozenset(on_index), complete)


def read_between(
    db: Database, board: Board, standings: str, low: Cut, high: Cut, limit: int, *, backward: bool = False
) -> Keyed:
    """Read the index from one cut (inclusive) to another (exclusive), forward from `low` or backward.

    Costs half a read unit a shard, more from some ten entries a shard on.
    """
    period = split_standings(standings)[1]
    start = high if backward else just_below(low or b"")
    found: Keyed = []
    for size in [*(size for size in _READ_SIZES if size < limit), limit]:
        run = read_run(db, board, period, size, from_key=start, backward=backward)
        found = _select(run, standings, low, high)
        if len(run) < size or not _is_between(bytes(run[-1]["rank_key"]["B"]), low, high):
            break
    return found


def _select(items: Iterable[Mapping[str, Any]], standings: str, low: Cut, high: Cut) -> Keyed:
    ours = (
        (item["participant"]["S"], bytes(item["rank_key"]["B"]))
        for item in items
        if item.get("standings", {"S": standings})["S"] == standings  # any shard may hold a foreign item
    )
    return [(participant, key) for participant, key in ours if _is_between(key, low, high)]


def _is_between(key: bytes, low: Cut, high: Cut) -> bool:
    return is_inside(key, high) and not is_inside(key, low)


def _shows_all_before(top: Top, cut: Cut) -> bool:
    last = bytes(top.items[-1]["rank_key"]["B"]) if top.items else b""
    return top.whole or (cut is not None and cut <= last)
