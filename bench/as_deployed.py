"""Measure what counting costs as deployed: several stream shards, a day of history, batches of a second.

Compared are counting each stream shard's batches apart, and bringing them together at the board's bookkeeper,
which takes up to ten bundles in a pass. Every item starts with the guards of a day: a stream shard lasts four
hours. A bundle's way through the queue is given in write units of the same price.
"""

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from bench.loading import Filled, engine_with, put_all
from bench.markdown import replace_section, table
from bench.trace import PER_SECOND, REDRAW, SCENARIOS, Scenario, Trace
from bench.writes import batches_of, by_shard, last_of_each, record_of
from core.boards import Boards
from core.counters.guard import guard_name, guard_value
from core.counters.nodes import node_key
from core.notifications.events import Published
from core.notifications.notifier import run_pass
from core.ranking.top import TOP_NODE
from core.storage.clock import now_ms
from core.storage.database import Database, metered
from core.storage.parallel import batched
from core.stream import count_bundles, process
from core.tree.bundle import Bundle, pack, unpack
from core.tree.node import node_name
from core.upkeep.checks import check

_REPORT = Path("docs/capacity.md")
_SHARDS = (4, 8, 32)
_GENERATIONS = 6  # of stream shards in a day
_PASS_BUNDLES = 10
_GUARDS_AT_ONCE = 50  # an expression has 4 KB at most
_QUEUE_BYTES = 65_536  # that SQS charges as one request
# us-east-1, 2026-11: a request to a FIFO queue $0.50, an on-demand write unit $0.625 a million.
_UNITS_A_REQUEST = 0.50 / 0.625


@dataclass
class Cost:
    """What some updates cost."""

    updates: int
    seconds: int
    units: float = 0.0  # of writes to trees, tops and ledgers
    movers: float = 0.0  # of writes of participants to notify
    read_units: float = 0.0
    queue_requests: int = 0
    cpu: float = 0.0
    busiest: float = 0.0  # write units of one item

    @property
    def units_an_update(self) -> float:
        """Return write units an update, without movers, with reads and the queue at their price."""
        return (self.units + self.read_units / 5 + self.queue_requests * _UNITS_A_REQUEST) / self.updates


def measure(scenario: Scenario, shards: int, seconds: int, *, queued: bool) -> Cost:
    """Run seconds of a trace through the real consumer."""
    filled = [
        Filled(
            scenario.distribution.board(scenario.entries, f"bench-{number}"),
            scenario.distribution.participants(scenario.entries, seed=number),
        )
        for number in range(scenario.boards)
    ]
    with engine_with(filled, lambda _: None) as db:
        bench = _Deployed(db, filled, shards, queued=queued)
        trace = Trace(scenario, [list(one.participants) for one in filled], movement=REDRAW)
        cost = Cost(seconds * PER_SECOND, seconds)
        bench.count(trace, 1)  # caches
        bench.follow(trace, seconds, cost)
        for one in filled[:: max(1, len(filled) // 20)]:
            report = check(db, one.board, one.standings, patience=0)
            if report.drifts:
                raise RuntimeError(f"counted wrong: {report.drifts[:3]}")
        return cost


class _Deployed:
    """Boards whose derived items hold a day's guards."""

    def __init__(self, db: Database, filled: Sequence[Filled], shards: int, *, queued: bool) -> None:
        self._db, self._filled, self._shards, self._queued = db, filled, shards, queued
        self._boards = Boards(db)
        self._made = [one.board for one in filled]
        self._sequence = 300_000_000_000_000_499_659
        self._number = 10**19
        self._written = Counter[str]()
        self._queue_requests = 0
        self._cpu = self._units = self._reads = 0.0
        db.client.meta.events.register("before-parameter-build.dynamodb", self._note)
        db.client.meta.events.register("after-call.dynamodb", self._add)
        self._put_history()
        for one in filled:  # until boundaries are announced, everyone may have crossed one
            run_pass(db, self._boards, one.standings, lambda *_: Published())

    def count(self, trace: Trace, seconds: int) -> None:
        """Count what comes in some seconds."""
        for _ in range(seconds):
            window = trace.take(PER_SECOND)
            records = []
            for one in window:
                self._sequence += 1
                records.append(record_of(self._made[one.board], one, self._sequence))
            put_all(self._db, self._db.tables.scores, last_of_each(records))
            batches = [
                (f"shard-{shard}", batch)
                for shard, of_shard in enumerate(by_shard(window, records, self._shards))
                for batch in batches_of(of_shard)
            ]
            handed_on: list[Bundle] = []
            before = time.process_time()
            with metered() as meter:
                for shard_id, batch in batches:
                    hand_on = handed_on.extend if self._queued else None
                    process(self._db, self._boards, shard_id, batch, hand_on)
                self._keep_books(handed_on)
            self._cpu += time.process_time() - before
            self._units += meter.write_units
            self._reads += meter.read_units

    def follow(self, trace: Trace, seconds: int, cost: Cost) -> None:
        """Count and measure."""
        self._written.clear()
        self._queue_requests = 0
        self._cpu = self._units = self._reads = 0.0
        self.count(trace, seconds)
        cost.movers = sum(units for item, units in self._written.items() if "#live movers:" in item)
        cost.cpu, cost.units, cost.read_units = self._cpu, self._units - cost.movers, self._reads
        cost.queue_requests = self._queue_requests
        cost.busiest = max(self._written.values())

    def _keep_books(self, bundles: Sequence[Bundle]) -> None:
        queues: dict[tuple[str, int], list[tuple[int, Bundle]]] = {}
        bodies = [body for bundle in bundles for body in pack(bundle)]
        size = sum(map(len, bodies))
        # Sent and received in requests of up to ten messages, charged by size; deleted by ten.
        tens = math.ceil(len(bodies) / 10)
        self._queue_requests += 2 * max(tens, math.ceil(size / _QUEUE_BYTES)) + tens
        for body in bodies:
            self._number += 1
            bundle = unpack(body)
            queues.setdefault((bundle.standings, bundle.bookkeeper), []).append((self._number, bundle))
        for waiting in queues.values():
            for start in range(0, len(waiting), _PASS_BUNDLES):
                some = waiting[start : start + _PASS_BUNDLES]
                count_bundles(self._db, self._boards, some, wait=False)

    def _put_history(self) -> None:
        """Give every derived item, or the ledgers, the guards of earlier stream shards."""
        guards = {
            guard_name(f"earlier-{at}"): guard_value(at, now_ms())
            for at in range(self._shards * _GENERATIONS)
        }
        for one in self._filled:
            if self._queued:
                names = ["ledger0"]
            else:
                names = [TOP_NODE, *(node_name(0, node.path) for node in one.tree)]
            for name, some in product(names, batched(guards, _GUARDS_AT_ONCE)):
                self._db.client.update_item(
                    TableName=self._db.tables.counters,
                    Key=node_key(one.standings, name),
                    UpdateExpression="SET " + ", ".join(f"{guard} = :{guard}" for guard in some),
                    ExpressionAttributeValues={f":{guard}": guards[guard] for guard in some},
                )

    def _note(self, params: dict[str, Any], context: dict[str, Any], **_: object) -> None:
        key = params.get("Key") or params.get("Item") or {}
        context["item"] = f"{key.get('standings', {}).get('S')} {key.get('node', {}).get('S')}"

    def _add(self, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: object) -> None:
        if model.name in {"UpdateItem", "PutItem"}:
            units = (parsed.get("ConsumedCapacity") or {}).get("CapacityUnits", 0.0)
            self._written[context["item"]] += units


def report(costs: dict[tuple[str, int, bool], Cost]) -> str:
    """Return the measurements as a table."""
    rows = []
    for (name, shards, queued), cost in costs.items():
        rows.append(
            [
                name,
                shards,
                "bookkeeper" if queued else "each shard apart",
                f"{cost.units_an_update:.3f}",
                f"{cost.units / cost.updates:.3f}",
                f"{cost.movers / cost.updates:.3f}",
                f"{cost.read_units / cost.updates:.3f}",
                f"{cost.queue_requests / cost.updates:.4f}",
                f"{cost.busiest / cost.seconds:.1f}",
                f"{cost.updates / cost.cpu:,.0f}",
            ]
        )
    header = [
        "boards",
        "stream shards",
        "counted by",
        "units an update in all",
        "write units",
        "units of movers, besides",
        "read units",
        "SQS requests",
        "units/s on one item",
        "updates a CPU second",
    ]
    return (
        "1,000 updates a second, scores drawn anew, batches of a second, a day of history. A read unit\n"
        "costs a fifth of a write unit, an SQS request 0.8 of one. CPU is without the engine's.\n\n"
        + table(header, rows)
    )


def main() -> int:
    """Measure, print, and write docs/capacity.md."""
    parser = argparse.ArgumentParser(prog="python -m bench.as_deployed", description=__doc__)
    parser.add_argument("--seconds", type=int, default=5, help="of each trace; default: 5")
    parser.add_argument("--store", action="store_true", help=f"write {_REPORT}")
    parser.add_argument("--scenarios", default="", help="only those whose name holds this")
    args = parser.parse_args()
    costs: dict[tuple[str, int, bool], Cost] = {}
    for scenario in SCENARIOS:
        if args.scenarios in scenario.name:
            for shards in _SHARDS:
                for queued in (False, True):
                    print(f"{scenario.name}, {shards} shards, {queued=}", file=sys.stderr)
                    costs[scenario.name, shards, queued] = measure(
                        scenario, shards, args.seconds, queued=queued
                    )
    text = report(costs)
    print(text)
    if args.store:
        replace_section(_REPORT, "as deployed", "## As deployed\n\n" + text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
