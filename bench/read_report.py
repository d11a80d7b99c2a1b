"""The costs of reads as Markdown."""

from collections.abc import Callable, Iterator, Sequence

from bench.limits import judge_reads
from bench.markdown import table, verdicts
from bench.probe import Reading
from bench.reads import COLD, PAUSED, PLACES, RANK_READS, WARM, BoardCosts, RankRead
from core.domain.model import RankStrategy

_SHOWN = (
    RankRead(RankStrategy.TREE, WARM, positions=False),
    RankRead(RankStrategy.TREE, WARM, positions=True),
    RankRead(RankStrategy.LADDER, WARM, positions=False),
    RankRead(RankStrategy.LADDER, WARM, positions=True),
    RankRead(RankStrategy.APPROXIMATE, WARM, positions=False),
    RankRead(RankStrategy.INDEX, COLD, positions=False),
)

_INTRODUCTION = f"""## Reads

Each cell is **read units / requests / round trips that follow one another**. An entry's own read is part of
its rank's cost. What one process knows beforehand is *{COLD}*: nothing; *{WARM}*: the tree's shape, or the
ladder, as after one earlier read; *{PAUSED}*: the shape, but not how many entries there are. *+position* asks
for the unique place among equal scores too."""


def report(costs: Sequence[BoardCosts]) -> str:
    """Return the report: what reads cost, and whether that is within the limits."""
    size = max(one.size for one in costs)
    largest = [one for one in costs if one.size == size]
    return "\n\n".join(
        [
            _INTRODUCTION,
            "### Limits",
            verdicts(judge_reads(costs)),
            "### The worst of all distributions and places, by the size of the board",
            _summary(costs),
            f"### Rank at {size:,} entries, by distribution and place",
            table(
                ["", "place", "in its leaf", *map(str, _SHOWN)],
                (
                    [
                        one.distribution.name,
                        place.name,
                        f"{place.in_leaf}, {'one score' if place.one_score else 'several'}",
                        *(place.costs[read] for read in _SHOWN),
                    ]
                    for one in largest
                    for place in one.places
                ),
            ),
            f"### The counter trees at {size:,} entries",
            "A *touch* is one write unit on the scores table, once, when a leaf that holds the entry grows.",
            table(
                [
                    "",
                    "scores",
                    "nodes",
                    "levels",
                    "leaves",
                    "entries in the fullest",
                    "bytes of the largest node",
                    "nodes over 1 KB",
                    "touches an entry",
                ],
                map(_shape, largest),
            ),
        ]
    )


def _summary(costs: Sequence[BoardCosts]) -> str:
    sizes = sorted({one.size for one in costs})
    rows: list[tuple[str, Callable[[BoardCosts], Iterator[Reading]]]] = []
    for read in RANK_READS:
        if read.strategy is RankStrategy.INDEX:
            rows += [(f"rank, {read}, {name}", _of_place(read, name)) for name in PLACES]
        else:
            rows.append((f"rank, {read}", _of_place(read)))
    rows += [(name, _of_other(name)) for name in costs[0].others]

    def worst(of: Callable[[BoardCosts], Iterator[Reading]], size: int) -> str:
        return _worst([found for one in costs if one.size == size for found in of(one)])

    return table(
        ["", *(f"{size:,}" for size in sizes)],
        ([name, *(worst(of, size) for size in sizes)] for name, of in rows),
    )


def _of_place(read: RankRead, name: str | None = None) -> Callable[[BoardCosts], Iterator[Reading]]:
    return lambda one: (place.costs[read] for place in one.places if name in {None, place.name})


def _of_other(name: str) -> Callable[[BoardCosts], Iterator[Reading]]:
    return lambda one: iter([one.others[name]])


def _worst(found: Sequence[Reading]) -> str:
    if not found:
        return ""
    return str(
        Reading(
            read_units=max(one.read_units for one in found),
            requests=max(one.requests for one in found),
            round_trips=max(one.round_trips for one in found),
        )
    )


def _shape(one: BoardCosts) -> list[object]:
    shape = one.shape
    return [
        one.distribution.name,
        one.distribution.about,
        f"{shape.nodes:,}",
        shape.levels,
        f"{shape.leaves:,}",
        f"{shape.fullest_leaf:,}",
        f"{shape.largest_node:,}",
        shape.large_nodes,
        f"{shape.touches:.2f}",
    ]
