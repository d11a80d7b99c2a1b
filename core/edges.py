"""Where to cut a stretch that has filled up, from the rank keys that stand in it. Pure."""

from collections.abc import Sequence
from itertools import groupby

from core.rank_key import just_above
from core.scale import FANOUT

_INNER = 96  # edges among the keys that are there
_OUTER = 15  # edges on either side of them, each twice as far out as the one before
_TIME_BYTES = 8


def choose_edges(
    keys: Sequence[bytes], score_bytes: int, low: bytes, high: bytes | None
) -> tuple[bytes, ...]:
    """Cut a stretch from `low` to `high` so that its sorted keys spread evenly over the children.

    Scores stay whole: a cut falls between two scores, and one with many entries stands alone, so that its
    rank is known without looking into it. Only where all have one score are its ties cut. Beyond the keys on
    either side the cuts go on, ever wider: scores that climb, and ties that queue up, land in new children
    and not all in the last one. Fewer cuts, or none, where the keys leave no room.
    """
    scores = [key[:score_bytes] for key in keys]
    if scores[0] == scores[-1]:
        cuts = [keys[at] for at in _quantiles(len(keys), _INNER - 2)]
        cuts += [scores[0], just_above(scores[0]), *_outward(keys, score_bytes + _TIME_BYTES)]
    else:
        starts = [next(group)[0] for _, group in groupby(enumerate(scores), key=lambda pair: pair[1])]
        if len(starts) > _INNER // 2:
            starts = _thin(starts, len(scores))
        cuts = [scores[at] for at in starts]
        cuts += [just_above(score) for score in cuts]
        if len(cuts) > _INNER:
            cuts = cuts[: len(starts)]
        cuts += _outward(scores, score_bytes)
    inside = sorted({cut for cut in cuts if cut > low and (high is None or cut < high)})
    return tuple(inside[: FANOUT - 1])


def _thin(starts: Sequence[int], size: int) -> list[int]:
    """Keep the starts of scores nearest to even shares of the entries."""
    kept = []
    due = 0.0
    for start in starts:
        if start >= due:
            kept.append(start)
            due = start + size / _INNER
    return kept[:_INNER]


def _quantiles(size: int, parts: int) -> list[int]:
    return sorted({size * part // parts for part in range(1, parts)})


def _outward(keys: Sequence[bytes], length: int) -> list[bytes]:
    """Cut beyond the first and last key, at distances that double, seen as numbers of `length` bytes."""
    first, last = (int.from_bytes(key[:length].ljust(length, b"\0"), "big") for key in (keys[0], keys[-1]))
    gap = max(1, (last - first) // len(keys))
    top = 1 << (8 * length)
    cuts = []
    for power in range(_OUTER):
        distance = gap << power
        cuts += [cut for cut in (first - distance, last + distance) if 0 < cut < top]
    return [cut.to_bytes(length, "big") for cut in cuts]
