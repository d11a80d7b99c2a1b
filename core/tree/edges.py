"""Where to cut a leaf that has filled up, from the rank keys in it. Pure."""

from collections.abc import Sequence
from itertools import groupby

from core.domain.rank_key import just_above
from core.tree.shape import FANOUT

_OUTER = 62  # edges before and after the present keys, if there is room; all others are among them
_ROOM = 16  # mean gaps between two keys; less than that is not worth edges
_DIFFERING_BYTES = 8  # of keys in a tie, from where they differ


def choose_edges(
    keys: Sequence[bytes], score_bytes: int, low: bytes, high: bytes | None
) -> tuple[bytes, ...]:
    """Return edges that spread the sorted keys of the range from `low` to `high` evenly over the children.

    Scores stay whole: edges fall between scores, and a score with many entries gets a child of its own, so
    that its rank is known without reading into it. Only if there is but one score is its tie cut. Edges also
    go beyond the keys, as far as the range does: rising scores and growing ties then fall into new children,
    not all into the last one. There are fewer edges, or none, if the keys leave no room.
    """
    scores = [key[:score_bytes] for key in keys]
    if scores[0] == scores[-1]:
        pairs = enumerate(zip(keys[0], keys[-1], strict=False))
        differ_at = next((at for at, (first, last) in pairs if first != last), len(keys[0]))
        outer = _outward(keys, differ_at + _DIFFERING_BYTES, low, high)
        cuts = [scores[0], just_above(scores[0]), *outer]
        parts = FANOUT - len(cuts)
        cuts += [keys[len(keys) * part // parts] for part in range(1, parts)]
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
    """Return the starts of scores that are nearest to even shares of the entries."""
    kept = []
    due = 0.0
    for start in starts:
        if start >= due:
            kept.append(start)
            due = start + size / parts
    return kept


def _outward(keys: Sequence[bytes], length: int, low: bytes, high: bytes | None) -> list[bytes]:
    """Return cuts before the first key and after the last, taking keys for numbers of `length` bytes."""
    first, last = (_number(key, length) for key in (keys[0], keys[-1]))
    before = first - _number(low, length)
    after = (1 << (8 * length) if high is None else _number(high, length)) - last
    gap = max(1, (last - first) // len(keys))
    sides = [side for side in ((first, -1, before), (last, 1, after)) if side[2] > _ROOM * gap]
    return [
        (start + sign * distance).to_bytes(length, "big")
        for start, sign, room in sides
        for distance in _distances(gap, room, _OUTER // len(sides) // 2)
    ]


def _distances(gap: int, room: int, parts: int) -> set[int]:
    """Return distances into some room: in even steps, and in doubling ones.

    Even steps keep a tree shallow if a range fills from one end; doubling ones serve if its other end is out
    of reach.
    """
    even = {room * part // (parts + 1) for part in range(1, parts + 1)}
    powers = (room // gap).bit_length() - 1
    doubling = {gap << (powers * part // parts) for part in range(parts)}
    return {distance for distance in even | doubling if 0 < distance < room}


def _number(key: bytes, length: int) -> int:
    return int.from_bytes(key[:length].ljust(length, b"\0"), "big")
