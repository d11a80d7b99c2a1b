"""Measure what a piece of work consumes of DynamoDB: units, requests and consecutive round trips.

A round trip begins when a request starts while none is under way. Each request is delayed until no other has
started for a moment, so that concurrent requests overlap as they would over a network. On a busy machine the
count may be too high, never too low.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from core.storage.database import Database

_READS = frozenset({"GetItem", "Query", "Scan", "BatchGetItem", "TransactGetItems"})
_BACKGROUND = "ladder"  # prefix of the names of threads that refresh ladders in the background


@dataclass
class Reading:
    """What a piece of work consumed. Write units are by kind: nodes, top, other, scores."""

    read_units: float = 0.0
    counter_reads: int = 0  # requests that read the counters table
    requests: int = 0
    round_trips: int = 0
    write_units: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Reading") -> None:
        """Add what another piece of work consumed after this one."""
        self.read_units += other.read_units
        self.counter_reads += other.counter_reads
        self.requests += other.requests
        self.round_trips += other.round_trips
        self.write_units += other.write_units

    def __str__(self) -> str:
        return f"{self.read_units:g} / {self.requests} / {self.round_trips}"


class Probe:
    """Measures the requests of a database's client."""

    def __init__(self, db: Database, delay: float = 0.0) -> None:
        self._tables = db.tables
        self._delay = delay
        self._lock = threading.Lock()
        self._under_way = 0
        self._send_at = 0.0
        self._reading = Reading()
        events = db.client.meta.events
        events.register("before-parameter-build.dynamodb", self._note)
        events.register("before-call.dynamodb", self._begin)
        events.register("after-call.dynamodb", self._end)

    @contextmanager
    def read(self) -> Iterator[Reading]:
        """Measure the block."""
        self._reading = reading = Reading()
        try:
            yield reading
        finally:
            self._reading = Reading()  # later requests do not count

    def _note(self, params: dict[str, Any], context: dict[str, Any], **_: object) -> None:
        context["bench"] = self._kind_of(params)

    def _begin(self, **_: object) -> None:
        if threading.current_thread().name.startswith(_BACKGROUND):
            return
        with self._lock:
            self._reading.requests += 1
            if self._under_way == 0:
                self._reading.round_trips += 1
            self._under_way += 1
            self._send_at = time.monotonic() + self._delay
        while (wait := self._send_at - time.monotonic()) > 0:
            time.sleep(wait)

    def _end(self, parsed: dict[str, Any], model: Any, context: dict[str, Any], **_: object) -> None:
        if threading.current_thread().name.startswith(_BACKGROUND):
            return
        reported = parsed.get("ConsumedCapacity") or []
        with self._lock:
            self._under_way -= 1
            for one in reported if isinstance(reported, list) else [reported]:
                if model.name in _READS:
                    self._reading.read_units += one["CapacityUnits"]
                    self._reading.counter_reads += one["TableName"] == self._tables.counters
                elif one["TableName"] == self._tables.scores:
                    self._reading.write_units["scores"] += one["CapacityUnits"]
                else:
                    self._reading.write_units[context["bench"]] += one["CapacityUnits"]

    def _kind_of(self, params: dict[str, Any]) -> str:
        """Return what a request writes: nodes of a tree, the top, or other derived data."""
        key = params.get("Key") or params.get("Item") or {}
        if "TransactItems" in params:
            return "nodes"
        name: str = key.get("node", {}).get("S", "")
        return "nodes" if name.startswith("tree") else "top" if name == "top" else "other"
