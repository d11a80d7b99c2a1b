"""Simulate contention on counters where writers count for themselves; no local engine has conflicts.

An update that moves an entry into another leaf writes the root and two nodes below it. TRANSACTIONAL: a
transaction locks its nodes; another that meets a lock is cancelled and retried with the back-off of
`core.entries.write`. INLINE: plain ADDs queue. A partition accepts 1,000 write units a second.
"""

import argparse
import heapq
import itertools
import random
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import quantiles

from rich.console import Console
from rich.markdown import Markdown

from bench.distributions import BY_NAME
from bench.markdown import replace_section, table
from core.domain.model import CounterMode
from core.storage import backoff, faults
from core.tree.shape import counter_shards

_FILE = Path("docs/capacity.md")
_PARTITION_UNITS = 1_000  # a second
_BURST_UNITS = 1_000  # that an idle partition accepts at once
_NODES_BELOW = 123  # the root, as on a board of a million entries
_SECONDS = 4
_SHARDS = (1, 2, 4, 8, 16, 32, 64)
_FEWER = 8
_HELD = (0.005, 0.010, 0.020)  # seconds that a transaction locks its items: assumed, AWS does not document it

_INTRODUCTION = f"""## Hot nodes

Simulated by `bench/hot_nodes.py`: crossings of leaves' edges on one board, by writers that count for
themselves, each in one counter shard picked by chance. A transaction holds the root and two nodes, at two
units each; one that is cancelled is taken to cost half. A partition takes {_PARTITION_UNITS:,} units a
second. How long DynamoDB holds a transaction's items is an assumption."""

_TRANSACTIONAL = f"""Attempts a crossing, and within how long 99 % of those that got through did. *Fewer
below* is another design: nodes below the root have one shard for {_FEWER} of the root's. The read units are
the entry's and the tree's on two levels; the leaf comes on top."""

Node = tuple[int, int, int]  # its partition, its counter shard, its number; the root is 0


@dataclass(frozen=True)
class Outcome:
    """The result of some seconds of crossings."""

    rate: float  # committed a second, once steady
    attempts: float  # a crossing
    given_up: float  # of all crossings
    late: float  # seconds that the slowest 1 % took

    def __str__(self) -> str:
        lost = f", **{self.given_up:.0%} given up**" if self.given_up >= 0.0005 else ""
        return f"{self.attempts:.2f} attempts, {1000 * self.late:,.0f} ms{lost}"


def transactional(shards: int, crossings: int, held: float, *, fewer_below: bool = False) -> Outcome:
    """Simulate transactions on the nodes of one board."""
    chance = random.Random(shards)
    order = itertools.count()
    waiting = [
        (at, next(order), 0, at, _nodes(chance, shards, fewer_below=fewer_below))
        for at in _arrivals(chance, crossings)
    ]
    heapq.heapify(waiting)
    free_at: dict[Node, float] = {}
    tokens: dict[int, tuple[float, float]] = {}
    took, attempts, given_up, committed_late = [], 0, 0, 0
    while waiting:
        now, _, attempt, since, nodes = heapq.heappop(waiting)
        attempts += 1
        busy = any(free_at.get(node, 0.0) > now for node in nodes)
        if _take(tokens, nodes, 1 if busy else 2, now) and not busy:
            free_at |= dict.fromkeys(nodes, now + held)
            took.append(now + held - since)
            committed_late += _SECONDS / 2 < now < _SECONDS
        elif attempt + 1 == faults._CONFLICT_ATTEMPTS:
            given_up += 1
        else:
            delay = chance.uniform(0, min(backoff.LONGEST, backoff.BASE * 2**attempt))
            heapq.heappush(waiting, (now + delay, next(order), attempt + 1, since, nodes))
    count = len(took) + given_up
    return Outcome(committed_late / (_SECONDS / 2), attempts / count, given_up / count, _slow(took))


def inline(shards: int, crossings: int) -> Outcome:
    """Simulate ADDs that queue at their partition: three a crossing."""
    chance = random.Random(shards)
    free_at: dict[int, float] = {}
    took, served = [], 0
    for at in _arrivals(chance, crossings):
        shard = chance.randrange(shards)
        free_at[shard] = max(free_at.get(shard, 0.0), at) + 3 / _PARTITION_UNITS
        took.append(free_at[shard] - at)
        served += free_at[shard] < _SECONDS
    return Outcome(served / _SECONDS, 1.0, 0.0, _slow(took))


def report(crossings: int) -> str:
    """Return the report: what each number of counter shards takes."""
    board = replace(BY_NAME["uniform"].board(1_000_000), peak_writes_per_second=crossings)
    chosen = {mode: counter_shards(replace(board, counter_mode=mode)) for mode in CounterMode}
    return "\n\n".join(
        [
            _INTRODUCTION,
            f"### {crossings:,} crossings a second, TRANSACTIONAL",
            _TRANSACTIONAL,
            table(
                [
                    "counter shards",
                    *(f"held {1000 * held:g} ms" for held in _HELD),
                    f"held {1000 * _HELD[1]:g} ms, fewer below",
                    "read units of a rank",
                    "fewer below",
                ],
                (
                    [
                        f"**{shards}**" if shards == chosen[CounterMode.TRANSACTIONAL] else shards,
                        *(transactional(shards, crossings, held) for held in _HELD),
                        transactional(shards, crossings, _HELD[1], fewer_below=True),
                        f"{1 + 0.5 * (shards + shards):g}",
                        f"{1 + 0.5 * (shards + _below(shards)):g}",
                    ]
                    for shards in _SHARDS
                ),
            ),
            f"`counter_shards` gives {chosen[CounterMode.TRANSACTIONAL]}.",
            f"### {crossings:,} crossings a second, INLINE",
            table(
                ["counter shards", "crossings served a second", "99 % served within"],
                (
                    [
                        f"**{shards}**" if shards == chosen[CounterMode.INLINE] else shards,
                        f"{outcome.rate:,.0f}",
                        f"{1000 * outcome.late:,.0f} ms",
                    ]
                    for shards in _SHARDS
                    for outcome in [inline(shards, crossings)]
                ),
            ),
            f"`counter_shards` gives {chosen[CounterMode.INLINE]}.",
        ]
    )


def _arrivals(chance: random.Random, crossings: int) -> list[float]:
    arrivals, now = [], 0.0
    while (now := now + chance.expovariate(crossings)) < _SECONDS:
        arrivals.append(now)
    return arrivals


def _nodes(chance: random.Random, shards: int, *, fewer_below: bool) -> list[Node]:
    """Return the nodes that a crossing writes: the root and two below it."""
    shard = chance.randrange(shards)
    below = chance.sample(range(1, 1 + _NODES_BELOW), 2)
    if not fewer_below:
        return [(shard, shard, node) for node in (0, *below)]
    of_below = chance.randrange(_below(shards))
    return [(shard, shard, 0), *(((node + of_below) % shards, of_below, node) for node in below)]


def _below(shards: int) -> int:
    return max(1, shards // _FEWER)


def _take(tokens: dict[int, tuple[float, float]], nodes: Sequence[Node], units: int, now: float) -> bool:
    """Consume units for each node from its partition; return whether all partitions had enough."""
    needed = Counter(partition for partition, _, _ in nodes)
    left = {}
    for partition, count in needed.items():
        had, at = tokens.get(partition, (float(_BURST_UNITS), now))
        left[partition] = min(_BURST_UNITS, had + (now - at) * _PARTITION_UNITS) - units * count
    tokens |= {partition: (max(0.0, units_left), now) for partition, units_left in left.items()}
    return all(units_left >= 0 for units_left in left.values())


def _slow(took: Sequence[float]) -> float:
    return quantiles(took, n=100)[-1] if len(took) > 1 else 0.0


def main(argv: Sequence[str] | None = None) -> int:
    """Simulate, print and store."""
    parser = argparse.ArgumentParser(prog="python -m bench.hot_nodes", description=__doc__)
    parser.add_argument("--crossings", type=int, default=1_000, help="a second; default: 1000")
    parser.add_argument(
        "--output", type=Path, default=_FILE, help=f"the file whose section is replaced; default: {_FILE}"
    )
    args = parser.parse_args(argv)
    text = report(args.crossings)
    replace_section(args.output, "hot nodes", text)
    Console().print(Markdown(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
