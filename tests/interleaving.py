"""Processes that share a database, one request at a time, in an order, at times and with deaths that a seed gives.

Each process is a thread with its own connection, memory and clock. It stops before each request; the seed says
who goes on, how much time has passed until then, and whether the process dies, before the request takes effect
or after (an answer lost). Nothing else runs meanwhile, so a seed is one history, the same each time.
"""

import random
import sys
import threading
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

from core import consistency, entry_writes, nodes, offer, parallel, stream, submit
from core.boards import Boards
from core.database import Database
from core.memory import Memory

T = TypeVar("T")

START = 1_800_000_000_000  # milliseconds since 1970
_FREE = frozenset({"exceptions", "meta", "describe_table", "scan"})  # a test's own look is no step
_SLACK = nodes.LEAD - nodes.TRUST - 500  # an announcement is under way for no longer: the tree's one assumption


class Killed(BaseException):
    """The process is gone."""


class Over(BaseException):
    """The world has ended around the process."""


class Process(threading.Thread):
    """A thread that runs between its requests only when it is told to."""

    def __init__(self, world: "World", name: str, body: Callable[["Process"], None], **traits: Any) -> None:
        super().__init__(name=name, daemon=True)
        self.world = world
        self.body = body
        self.skew: int = traits.get("skew", 0)  # of its clock, in milliseconds
        self.deaths: float = traits.get("deaths", 0.0)  # for each request, how likely it is the last
        self.weight: float = traits.get("weight", 1.0)  # how often it gets its turn
        self.wakes_at = 0
        self.asked_at = 0
        self.announces = False
        self.error: BaseException | None = None
        self.finished = False
        self.go = threading.Semaphore(0)
        self.stopped = threading.Semaphore(0)
        self.fate = ""
        self.db, self.boards = world.connect()

    def run(self) -> None:
        try:
            self.stop()
            self.body(self)
        except (Killed, Over):
            pass
        except BaseException as error:  # noqa: BLE001 - the test's thread raises it
            self.error = error
        self.finished = True
        self.stopped.release()

    def restart(self) -> None:
        """Come up again, as a new process that remembers nothing."""
        self.db, self.boards = self.world.connect()

    def stop(self) -> None:
        self.asked_at = self.world.now
        self.stopped.release()
        self.go.acquire()
        if self.fate == "over":
            raise Over

    def sleep(self, seconds: float) -> None:
        self.wakes_at = self.world.now + int(seconds * 1000) + 1
        self.stop()


@dataclass
class World:
    """A database, the time, and the chance that orders all that is done to it."""

    database: Database
    random: random.Random
    now: int = START
    hurry: int = 300  # the most milliseconds that pass from one request to the next
    processes: list[Process] = field(default_factory=list)
    requests: int = 0

    def connect(self) -> tuple[Database, Boards]:
        """Give a new process's view of the database."""
        db = Database(Client(self, self.database.client), self.database.tables, Memory())  # type: ignore[arg-type]
        return db, Boards(db, cache_seconds=3600)

    def add(self, name: str, body: Callable[[Process], None], **traits: Any) -> Process:
        """Start a process, which waits for its first turn."""
        process = Process(self, name, body, **traits)
        self.processes.append(process)
        process.start()
        process.stopped.acquire()
        return process

    def run(self, until: Iterable[Process]) -> None:
        """Let the processes run until these have ended; then the others are gone too."""
        awaited = list(until)
        while not all(one.finished for one in awaited) and not any(one.error for one in self.processes):
            alive = [one for one in self.processes if not one.finished]
            awake = [one for one in alive if one.wakes_at <= self.now]
            if not awake:
                self.now = min(one.wakes_at for one in alive)
                continue
            overdue = [one for one in awake if one.announces and one.asked_at < self.now - _SLACK]
            [process] = overdue[:1] or self.random.choices(awake, [one.weight for one in awake])
            if not any(one.announces and one.asked_at < self.now - _SLACK + self.hurry for one in alive):
                self.now += self.random.randrange(self.hurry)
            dies = self.random.random() < process.deaths
            self._go_on(process, self.random.choice(["before", "after"]) if dies else "")
        for process in self.processes:
            if not process.finished:
                self._go_on(process, "over")
        for process in self.processes:
            process.join()
            if process.error is not None:
                raise process.error
        self.processes.clear()

    def _go_on(self, process: Process, fate: str) -> None:
        process.fate = fate
        process.go.release()
        process.stopped.acquire()


class Client:
    """A client whose every request waits for its process's turn."""

    def __init__(self, world: World, client: Any) -> None:
        self._world = world
        self._client = client

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._client, name)
        process = threading.current_thread()
        if name in _FREE or not isinstance(process, Process):
            return operation

        def request(**arguments: Any) -> Any:
            process.announces = _announces(name, arguments)
            process.stop()
            process.announces = False
            self._world.requests += 1
            if process.fate == "before":
                raise Killed
            try:
                return operation(**arguments)
            finally:
                if process.fate == "after":
                    raise Killed

        return request


def _announces(operation: str, arguments: dict[str, Any]) -> bool:
    """Say whether a request tells of a node's or a tree's birth."""
    if operation == "transact_write_items":
        return any("edges" in one.get("Put", {}).get("Item", {}) for one in arguments["TransactItems"])
    return operation == "put_item" and "born" in arguments["Item"]


def virtual(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    """Have the core live in a world's time, and make its calls one after the other, in any order."""

    def now_ms() -> int:
        process = threading.current_thread()
        return world.now + (process.skew if isinstance(process, Process) else 0)

    def sleep(seconds: float) -> None:
        process = threading.current_thread()
        if isinstance(process, Process):
            process.sleep(seconds)
        else:
            world.now += int(seconds * 1000) + 1

    def run_all(calls: Iterable[Callable[[], T]]) -> list[T]:
        made = list(calls)
        order = list(range(len(made)))
        random.shuffle(order)
        results = {at: made[at]() for at in order}
        return [results[at] for at in range(len(made))]

    _replace(monkeypatch, nodes.now_ms, now_ms)
    _replace(monkeypatch, parallel.run_all, run_all)
    clock = types.SimpleNamespace(sleep=sleep, monotonic=lambda: now_ms() / 1000)
    for module in (consistency, entry_writes, nodes, offer, stream, submit):
        if hasattr(module, "time"):
            monkeypatch.setattr(module, "time", clock)
    random.seed(world.random.random())


def _replace(monkeypatch: pytest.MonkeyPatch, old: Any, new: Any) -> None:
    """Replace a function in every module that has it by name."""
    for name, module in list(sys.modules.items()):
        if name.startswith("core.") and getattr(module, old.__name__, None) is old:
            monkeypatch.setattr(module, old.__name__, new)


def instant(world: World) -> datetime:
    return datetime.fromtimestamp(world.now / 1000, UTC)


def pieces(chance: random.Random, start: int, end: int) -> Sequence[tuple[int, int]]:
    """Cut a range as an event source may cut a batch."""
    cuts = sorted({start, end, *(chance.randint(start, end) for _ in range(chance.randrange(3)))})
    return list(zip(cuts, cuts[1:], strict=False))
