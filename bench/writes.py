"""Measure what counters cost to write: each counter mode on traces of updates, with the real code."""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from bench.growth_simulation import Shape, shape_of
from bench.loading import Filled, Item, Progress, as_base64, engine_with, entry_item, key_of, put_all
from bench.probe import Probe, Reading
from bench.seeds import SeedCost, multi_level, single_level
from bench.trace import PER_SECOND, Scenario, Trace, Update, by_stream_shard
from core.boards import Boards
from core.counters.known_trees import Trees
from core.counters.whole_tree import children, load_tree
from core.domain.keys import standings_key
from core.domain.model import Board, CounterMode
from core.domain.periods import ALL_TIME
from core.storage.clock import now_ms
from core.storage.database import Database
from core.stream import process
from core.submissions.submit import Submission, submit_score
from core.tree.shape import capacity
from core.upkeep.checks import check

# The most that Lambda's event source passes to one invocation.
_BATCH_RECORDS = 10_000
_BATCH_BYTES = 6 * 1024 * 1024
_RECORD_BYTES = 350  # of a record without its images
_CHECKED = 20  # boards that are recounted
_FIRST_SEQUENCE = 300_000_000_000_000_499_659


@dataclass(frozen=True)
class Pace:
    """How records arrive: batches of some seconds, from some stream shards."""

    window: int
    shards: int

    def __str__(self) -> str:
        return f"{self.window} s, {self.shards} stream shard{'s' if self.shards > 1 else ''}"


PACES = (Pace(1, 1), Pace(5, 1), Pace(1, 2), Pace(1, 4))
WRITERS = (CounterMode.TRANSACTIONAL, CounterMode.INLINE)


@dataclass(frozen=True)
class ModeCost:
    """What an accepted update costs in one counter mode: write units by kind, and read units."""

    nodes: float
    top: float
    other: float
    reads: float
    batches: int = 0
    same_leaf: int = 0  # updates that stayed within their leaf
    same_leaf_units: float = 0.0  # that those wrote to counters, in total


@dataclass
class TraceCosts:
    """The costs of every design on one trace."""

    scenario: Scenario
    movement: str
    shape: Shape  # of each board's tree
    stream: dict[Pace, ModeCost] = field(default_factory=dict)
    writers: dict[CounterMode, ModeCost] = field(default_factory=dict)
    seeds: dict[Pace, list[SeedCost]] = field(default_factory=dict)
    touches: float = 0.0  # of growth due at the trace's end, for each update
    drifts: int = 0

    def __str__(self) -> str:
        return f"{self.scenario.name}, scores {self.movement}"


def measure(
    scenario: Scenario, movements: Sequence[str], seconds: int, submissions: int, progress: Progress
) -> list[TraceCosts]:
    """Run a trace of each movement: `seconds` at each pace, and some submissions in each writers' mode."""
    progress("drawing entries")
    filled = [
        Filled(
            scenario.distribution.board(scenario.entries, f"bench-{number}"),
            scenario.distribution.participants(scenario.entries, seed=number),
        )
        for number in range(scenario.boards)
    ]
    with engine_with(filled, progress) as db:
        bench = _Bench(db, [one.board for one in filled])
        trace = Trace(scenario, [list(one.participants) for one in filled])
        shape = shape_of(filled[0].tree, filled[0].standings)
        found = [TraceCosts(scenario, movement, shape) for movement in movements]
        for costs in found:
            trace.movement = costs.movement
            _follow(bench, costs, trace, seconds, progress)
        for costs in found:
            trace.movement = costs.movement
            for mode in WRITERS:
                progress(f"{costs.movement}, {mode}")
                costs.writers[mode] = bench.submit(trace.take(submissions), mode)
        found[-1].drifts += bench.drifts(CounterMode.TRANSACTIONAL)
        return found


def _follow(bench: "_Bench", costs: TraceCosts, trace: Trace, seconds: int, progress: Progress) -> None:
    """Run a trace through the stream's consumer and through the other designs."""
    updates = 0
    for pace in PACES:
        progress(f"{costs.movement}, {pace}")
        windows = [trace.take(pace.window * PER_SECOND) for _ in range(max(1, seconds // pace.window))]
        updates += sum(map(len, windows))
        costs.stream[pace] = bench.consume(windows, pace)
        costs.seeds[pace] = [
            multi_level(trace.scenario, windows, pace.shards),
            *single_level(trace.scenario, windows),
        ]
    progress(f"{costs.movement}, recounting")
    costs.touches = bench.touches() / updates
    costs.drifts = bench.drifts(CounterMode.STREAM)


class _Bench:
    """Loaded boards under measurement."""

    def __init__(self, db: Database, boards: Sequence[Board]) -> None:
        self._db = db
        self._boards = boards
        self._read_boards = Boards(db)
        self._probe = Probe(db)
        self._sequence = _FIRST_SEQUENCE

    def consume(self, windows: Sequence[Sequence[Update]], pace: Pace) -> ModeCost:
        """Count windows of updates as stream records, in real time if the machine keeps up."""
        total = Reading()
        batches = 0
        next_at = time.monotonic()
        for window in windows:
            time.sleep(max(0.0, next_at - time.monotonic()))
            next_at = time.monotonic() + pace.window
            records = []
            for one in window:
                self._sequence += 1
                records.append(record_of(self._boards[one.board], one, self._sequence))
            put_all(self._db, self._db.tables.scores, last_of_each(records))
            for shard, of_shard in enumerate(by_shard(window, records, pace.shards)):
                for batch in batches_of(of_shard):
                    with self._probe.read() as reading:
                        process(self._db, self._read_boards, f"shard-{shard}", batch)
                    total.add(reading)
                    batches += 1
        return _mode_cost(total, sum(map(len, windows)), batches=batches)

    def submit(self, updates: Sequence[Update], mode: CounterMode) -> ModeCost:
        """Submit updates one by one, to the boards in another counter mode."""
        total, within = Reading(), Reading()
        same_leaf = 0
        for one in updates:
            board = replace(self._boards[one.board], counter_mode=mode)
            keys = key_of(board, one.old), key_of(board, one.new)
            _, leaves = Trees(self._db, board, _standings(board)).locate(keys)
            with self._probe.read() as reading:
                result = submit_score(
                    self._db,
                    board,
                    Submission(one.new.id, [str(one.new.score[0])]),
                    now=one.new.achieved_at,
                )
            if not result.accepted:
                raise RuntimeError(f"an update of the trace was not accepted: {one}")
            total.add(reading)
            if len({(leaf.path, leaf.child) for leaf in leaves.values()}) == 1:
                same_leaf += 1
                within.add(reading)
        return _mode_cost(
            total, len(updates), same_leaf=same_leaf, same_leaf_units=within.write_units["nodes"]
        )

    def touches(self) -> float:
        """Estimate from some boards how many entries are in leaves that are due to grow."""
        due = 0
        some = self._some()
        for board in some:
            known = load_tree(self._db, board, _standings(board), 0)
            due += sum(
                count
                for child, count in children(known)
                if child.node not in known and count > capacity(board, child.low, child.high)
            )
        return due * len(self._boards) / len(some)

    def drifts(self, mode: CounterMode) -> int:
        """Recount some boards; return how many of their counters have drifted."""
        reports = [
            check(self._db, replace(board, counter_mode=mode), _standings(board), patience=0)
            for board in self._some()
        ]
        # The top follows the stream in every mode, and nothing delivered the writers' submissions here.
        expected = "" if mode is CounterMode.STREAM else "top"
        return sum(drift.where != expected for report in reports for drift in report.drifts)

    def _some(self) -> Sequence[Board]:
        return self._boards[:: -(-len(self._boards) // _CHECKED)]


def record_of(board: Board, one: Update, sequence: int) -> Item:
    """Return an update's stream record, written now."""
    new = entry_item(board, one.new, now_ms(), one.version)
    return {
        "dynamodb": {
            "Keys": {name: new[name] for name in ("participant", "standings")},
            "SequenceNumber": str(sequence),
            "ApproximateCreationDateTime": datetime.now(UTC),
            "OldImage": entry_item(board, one.old, version=one.version - 1),
            "NewImage": new,
        }
    }


def _standings(board: Board) -> str:
    return standings_key(board.id, ALL_TIME, board.generation)


def _mode_cost(total: Reading, updates: int, **more: Any) -> ModeCost:
    units = {name: count / updates for name, count in total.write_units.items()}
    return ModeCost(
        nodes=units.get("nodes", 0.0),
        top=units.get("top", 0.0),
        other=units.get("other", 0.0),
        reads=total.read_units / updates,
        **more,
    )


def last_of_each(records: Sequence[Item]) -> list[Item]:
    """Return the items that the records leave in the table."""
    images = (record["dynamodb"]["NewImage"] for record in records)
    return list({(one["participant"]["S"], one["standings"]["S"]): one for one in images}.values())


def by_shard(window: Sequence[Update], records: Sequence[Item], shards: int) -> list[list[Item]]:
    """Return the records of each stream shard."""
    record_of = {id(one): record for one, record in zip(window, records, strict=True)}
    return [[record_of[id(one)] for one in of_shard] for of_shard in by_stream_shard(window, shards)]


def batches_of(records: Sequence[Item]) -> Iterator[list[Item]]:
    """Split one stream shard's window as Lambda's event source does."""
    batch: list[Item] = []
    size = 0
    for record in records:
        body = record["dynamodb"]
        images = {name: body[name] for name in ("Keys", "OldImage", "NewImage")}
        record_bytes = _RECORD_BYTES + len(json.dumps(images, default=as_base64))
        if batch and (len(batch) == _BATCH_RECORDS or size + record_bytes > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(record)
        size += record_bytes
    if batch:
        yield batch
