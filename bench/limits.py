"""The limits that reads must keep, each judged in one line: PASS or FAIL."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bench.reads import WARM, BoardCosts, Place, RankRead
from core.domain.model import RankStrategy
from core.tree.shape import GROW_AT, TIES_GROW_AT

_UNITS = 4.0
_ROUND_TRIPS = 2
_READ_BYTES = 8192  # of a read unit, eventually consistent


@dataclass(frozen=True)
class Verdict:
    """Whether a limit is kept, and what was measured."""

    holds: bool
    text: str

    def __str__(self) -> str:
        return f"{'PASS' if self.holds else 'FAIL'}  {self.text}"


def judge_reads(costs: Sequence[BoardCosts]) -> list[Verdict]:
    """Judge all boards, and the cost of ranks on those of the largest size."""
    size = max(one.size for one in costs)
    places = [(one, place) for one in costs if one.size == size for place in one.places]
    ladders = [RankRead(RankStrategy.LADDER, WARM, positions) for positions in (False, True)]
    return [
        _nothing(
            "each rank is what the sorted list says", (f"{one}: {it}" for one in costs for it in one.wrong)
        ),
        _nothing("no counter has drifted", (f"{one}: {one.drifts}" for one in costs if one.drifts)),
        *(
            _rank_limit(RankRead(strategy, WARM, positions), places, one_score=one_score)
            for strategy in (RankStrategy.TREE, RankStrategy.AUTO)
            for positions in (False, True)
            for one_score in (True, False)
        ),
        _nothing(
            f"a leaf holds at most {GROW_AT} entries, {TIES_GROW_AT:,} if of one score",
            (
                f"{one}: {place.in_leaf} at the {place.name}, {one.shape.fullest_leaf} in the fullest leaf"
                for one, place in places
                if place.in_leaf > _capacity(place) or one.shape.fullest_leaf > TIES_GROW_AT
            ),
        ),
        _nothing(
            "a warm ladder reads no counters",
            (
                f"{one}, {place.name}"
                for one, place in places
                if any(place.costs[read].counter_reads for read in ladders)
            ),
        ),
        _nothing(
            "100 of a page have their ranks in one round trip more, without a read per entry",
            (
                f"{one}, {page}"
                for one in costs
                for page in ("first 100", "100 from the middle")
                if _extra(one, page, "round_trips") > 1 or _extra(one, page, "requests") > 3 * one.shards + 1
            ),
        ),
        _nothing("the top 10 is one item", (str(one) for one in costs if one.others["top 10"].requests != 1)),
    ]


def leaf_units(one: BoardCosts, entries: int) -> float:
    """Return the read units of a leaf's entries, without the half unit for each index shard."""
    return entries * one.entry_bytes / _READ_BYTES


def _rank_limit(read: RankRead, places: Sequence[tuple[BoardCosts, Place]], *, one_score: bool) -> Verdict:
    concerned = [(one, place) for one, place in places if place.one_score is one_score]
    text = f"{read}, {'one score' if one_score else 'several scores'} in the leaf"
    if not concerned:
        return Verdict(holds=True, text=f"{text}: no such place")
    in_leaf = read.positions or not one_score

    def over(one: BoardCosts, place: Place) -> float:
        more = 0.5 * one.shards + leaf_units(one, _capacity(place)) if in_leaf else 0.0
        return place.costs[read].read_units - _UNITS - more

    worst, at = max(concerned, key=lambda pair: over(*pair))
    trips = max(place.costs[read].round_trips for _, place in concerned)
    limit = f"{_UNITS:g} units" + (
        f" + {0.5 * worst.shards:g} for the shards + {leaf_units(worst, _capacity(at)):.1f} for the leaf"
        if in_leaf
        else ""
    )
    return Verdict(
        holds=over(worst, at) <= 0 and trips <= _ROUND_TRIPS,
        text=f"{text}: at most {limit} and {_ROUND_TRIPS} round trips; "
        f"worst {at.costs[read].read_units:g} and {trips} ({worst}, {at.name})",
    )


def _capacity(place: Place) -> int:
    return TIES_GROW_AT if place.one_score else GROW_AT


def _extra(one: BoardCosts, page: str, what: str) -> int:
    extra: int = getattr(one.others[f"{page}, ranks warm"], what) - getattr(one.others[page], what)
    return extra


def _nothing(text: str, exceptions: Iterable[str]) -> Verdict:
    """Return the verdict on a rule to which these exceptions were found."""
    found = list(exceptions)
    shown = "; ".join(found[:3]) + (f"; and {len(found) - 3} more" if len(found) > 3 else "")
    return Verdict(not found, f"{text}: not so: {shown}" if found else text)
