"""Where to cut a stretch that has filled up, from the rank keys that stand in it. Pure."""

from collections.abc import Sequence
from itertools import groupby

from core.domain.rank_key import just_above
from core.tree.shape import FANOUT

_OUTER = 62  # edges beyond the keys that are there, where there is room; all others are among them
_ROOM = 16  # times the mean gap between two keys; less room than that is likely just one more gap
_TELLING_BYTES = 8  # of ties' keys, from where they differ


def choose_edges(
    keys: Sequence[bytes], score_bytes: int, low: bytes, high: bytes | None
) -> tuple[bytes, ...]:
    """Cut a stretch from `low` to `high` so that its sorted keys spread evenly over the children.

    Scores stay whole: a cut falls between two scores, and one with many entries stands alone, so that its
    rank is known without looking into it. Only where all have one score are its ties cut. Where the stretch
    goes on beyond its keys, so do the cuts: scores that climb, and ties that queue up, land in new children
    and not all in the last one. Fewer cuts, or none, where the keys leave no room.
    """
    scores = [key[:score_bytes] for key in keys]
    if scores[0] == scores[-1]:
        pairs = enumerate(zip(keys[0], keys[-1], strict=False))
        telling = next((at for at, (one, other) in pairs if one != other), len(keys[0]))
        outer = _outward(keys, telling + _TELLING_BYTES, low, high)
        cuts = [scores[0], just_above(scores[0]), *outer]
        cuts += [keys[at] for at in _quantiles(len(keys), FANOUT - len(cuts))]
    else:
        outer = _outward(scores, score_bytes, low, high)
        room = FANOUT - 1 - len(outer)
        starts = [next(group)[0] for _, group in groupby(enumerate(scores), key=lambda pair: pair[1])]
        if len(starts) > room // 2:
            starts = _thin(starts, len(scores), room)
        cuts = [scores[at] for at in starts]
        alone = {*cuts, *map(just_above, cuts)}
        cuts = [*(alone if len(alone) <= room else cuts), *outer]
    inside = sorted({cut for cut in cuts if cut > low and (high is None or cut < high)})
    return tuple(inside[: FANOUT - 1])


def _thin(starts: Sequence[int], size: int, parts: int) -> list[int]:
    """Keep the starts of scores nearest to even shares of the entries."""
    kept = []
    due = 0.0
    for start in starts:
        if start >= due:
            kept.append(start)
            due = start + size / parts
    return kept


def _quantiles(size: int, parts: int) -> list[int]:
    return sorted({size * part // parts for part in range(1, parts)})


def _outward(keys: Sequence[bytes], length: int, low: bytes, high: bytes | None) -> list[bytes]:
    """Cut the room before the first key and behind the last, seen as numbers of `length` bytes."""
    first, last = (_number(key, length) for key in (keys[0], keys[-1]))
    before = first - _number(low, length)
    behind = (1 << (8 * length) if high is None else _number(high, length)) - last
    gap = max(1, (last - first) // len(keys))
    sides = [side for side in ((first, -1, before), (last, 1, behind)) if side[2] > _ROOM * gap]
    return [
        (start + sign * distance).to_bytes(length, "big")
        for start, sign, room in sides
        for distance in _distances(gap, room, _OUTER // len(sides) // 2)
    ]


def _distances(gap: int, room: int, parts: int) -> set[int]:
    """Go through some room in even steps, for entries that come at a steady rate, and in ever wider ones.

    The even steps keep a tree shallow where a stretch fills from one end; the wider ones serve where its
    other end is out of reach.
    """
    even = {room * part // (parts + 1) for part in range(1, parts + 1)}
    doublings = (room // gap).bit_length() - 1
    wider = {gap << (doublings * part // parts) for part in range(parts)}
    return {distance for distance in even | wider if 0 < distance < room}


def _number(key: bytes, length: int) -> int:
    return int.from_bytes(key[:length].ljust(length, b"\0"), "big")
