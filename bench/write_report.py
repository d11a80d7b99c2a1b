"""The costs of counter writes as Markdown, and the limits that they must keep."""

from collections.abc import Sequence

from bench.limits import Verdict
from bench.markdown import table, verdicts
from bench.writes import PACES, WRITERS, Pace, TraceCosts
from core.domain.model import CounterMode
from core.tree.shape import GROW_AT

_DENSE_UNITS = 0.05
_SHARE_OF_SEEDS = 0.5
_STRICT = Pace(window=1, shards=1)

_INTRODUCTION = f"""## Counter writes

Write units of counters **an accepted update**, at 1,000 updates a second. Scores are drawn *anew*, or are
*climbing* by 0.2 % of their range on average. The tree's are measured: the real consumer on stream records in
batches as Lambda makes them (6 MB at most), the real submissions of the other modes. The other designs are
modelled in `bench/seeds.py` on the same updates: one item a bucket, an ADD a unit, two in a transaction.
Beside common widths of theirs there is, *fitted*, the widest whose buckets hold no more entries than a leaf
may ({GROW_AT}): with wider ones an exact rank counts more on the index than the tree ever does."""


def judge_writes(costs: Sequence[TraceCosts]) -> list[Verdict]:
    """Judge the costs of counter writes."""
    return [
        *(_dense(one) for one in costs if "dense" in one.scenario.name),
        *(_beside_seeds(one) for one in costs if "dense" not in one.scenario.name),
        *(_same_leaf(one) for one in costs),
        Verdict(not any(one.drifts for one in costs), "no counter has drifted over the traces"),
    ]


def report(costs: Sequence[TraceCosts]) -> str:
    """Return the report: what counter writes cost, and whether that is within the limits."""
    parts = [_INTRODUCTION, verdicts(judge_writes(costs))]
    for one in costs:
        parts += [f"### {one}", _from_the_stream(one), _in_the_submission(one), _notes(one)]
    return "\n\n".join(parts)


def _from_the_stream(one: TraceCosts) -> str:
    paces = [one.stream[pace] for pace in PACES]
    return table(
        ["from the stream, every", *map(str, PACES)],
        [
            ["**tree, STREAM**", *(f"**{cost.nodes:.3f}**" for cost in paces)],
            ["besides: its materialised top", *(f"{cost.top:.3f}" for cost in paces)],
            ["besides: noting growth", *(f"{cost.other:.3f}" for cost in paces)],
            ["besides: read units", *(f"{cost.reads:.3f}" for cost in paces)],
            [one.seeds[_STRICT][0].design, *(f"{one.seeds[pace][0].units:.3f}" for pace in PACES)],
        ],
    )


def _in_the_submission(one: TraceCosts) -> str:
    trees = (
        [
            f"**tree, {mode}**",
            f"**{one.writers[mode].nodes:.3f}**",
            _few(one.shape.mean_leaf),
            "see Reads",
        ]
        for mode in WRITERS
    )
    seeds = (
        [
            f"{seed.design}{' (fitted)' if seed.fitted else ''}",
            f"{seed.units:.3f}",
            _few(seed.in_bucket) if seed.in_bucket else "one score",
            f"{seed.rank_units:,.1f}",
        ]
        for seed in one.seeds[_STRICT][1:]
    )
    return table(
        [
            "in the submission",
            "units",
            "entries in a leaf or bucket",
            "read units of an exact rank, at worst",
        ],
        [*trees, *seeds],
    )


def _notes(one: TraceCosts) -> str:
    guarded = ", ".join(f"{units:.2f} units with {guards}" for guards, units in one.shape.units.items())
    batches = ", ".join(f"{one.stream[pace].batches} ({pace})" for pace in PACES)
    return (
        f"The tree has {one.shape.nodes:,} node(s) a board on {one.shape.levels} level(s), of up to "
        f"{one.shape.largest_node:,} bytes. Growth's touches due after it: {one.touches:.3f} an update. "
        f"Batches: {batches}. A write of a node takes {guarded} guards."
    )


def _few(entries: float) -> str:
    return f"{entries:,.0f}" if entries >= 10 else f"{entries:.2g}"


def _dense(one: TraceCosts) -> Verdict:
    units = one.stream[_STRICT].nodes
    return Verdict(
        units <= _DENSE_UNITS, f"{one}, STREAM, {_STRICT}: at most {_DENSE_UNITS} units; {units:.3f}"
    )


def _beside_seeds(one: TraceCosts) -> Verdict:
    units = one.stream[_STRICT].nodes
    rivals = [seed for seed in one.seeds[_STRICT] if seed.equally_exact and not seed.fitted]
    best = min(rivals, key=lambda seed: seed.units)
    return Verdict(
        units <= _SHARE_OF_SEEDS * best.units,
        f"{one}, STREAM, {_STRICT}: at most half of the others' best; {units:.3f} beside {best.units:.3f} "
        f"({best.design})",
    )


def _same_leaf(one: TraceCosts) -> Verdict:
    cost = one.writers[CounterMode.TRANSACTIONAL]
    return Verdict(
        cost.same_leaf_units == 0,
        f"{one}, TRANSACTIONAL: {cost.same_leaf} updates within a leaf wrote {cost.same_leaf_units:g} units",
    )
