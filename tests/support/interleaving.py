"""Deterministic simulation: processes share a database, and a seed decides how their requests interleave.

Each process is a thread with a connection, a cache and a clock of its own. It stops before each request. The
seed decides which process goes on, how much time has passed by then, and whether the process dies: before its
request takes effect, or after it (the response is lost). Nothing else runs meanwhile, so the history of a
seed is the same each time.
"""

import random
import sys
import threading
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeVar

import pytest

from core import stream
from core.boards import Boards
from core.counters import known_trees, root
from core.storage import backoff, parallel
from core.storage import clock as clock_module
from core.storage.database import Database
from core.upkeep import checks, rebuilds

T = TypeVar("T")

START = 1_800_000_000_000  # milliseconds since 1970
_NO_REQUESTS = frozenset({"exceptions", "meta"})
# How long an announcement may take at most: the one assumption of the counter trees.
_MAX_DELAY = known_trees.ANNOUNCEMENT_LEAD - known_trees.CACHE_TTL - 500


class Killed(BaseException):
    """The process has died."""


class Over(BaseException):
    """The simulation has ended."""


class Process(threading.Thread):
    """A thread that makes a request only when it is its turn.

    Its clock is `skew` milliseconds ahead. Each request is its last with probability `deaths`. `weight` is
    how often it gets a turn, in relation to others. It dies at the request number of `dies_at`, if any.
    """

    def __init__(
        self,
        world: "World",
        name: str,
        body: Callable[["Process"], object],
        *,
        skew: int = 0,
        deaths: float = 0.0,
        weight: float = 1.0,
        dies_at: tuple[int, str] | None = None,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self.world, self.body = world, body
        self.skew, self.deaths, self.weight, self.dies_at = skew, deaths, weight, dies_at
        self.requests = 0
        self.next: tuple[str, dict[str, Any]] | None = None  # the request before which it has stopped
        self.stopped_at = self.wakes_at = 0
        self.fate = ""
        self.error: BaseException | None = None
        self.finished = False
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self.db, self.boards = world.connect()

    def run(self) -> None:
        try:
            self.stop()
            self.body(self)
        except (Killed, Over):
            pass
        except BaseException as error:
            self.error = error
        self.finished = True
        self._stopped.release()

    def restart(self) -> None:
        """Start again as a new process with an empty cache."""
        self.db, self.boards = self.world.connect()

    def sleep(self, seconds: float) -> None:
        self.wakes_at = self.world.now + int(seconds * 1000) + 1
        self.stop()

    def stop(self) -> None:
        """Wait for the next turn."""
        self.stopped_at = self.world.now
        self._stopped.release()
        self._go.acquire()
        if self.fate == "over":
            raise Over

    def go_on(self, fate: str = "") -> None:
        """Give it a turn, from another thread, and wait until it stops again; `fate` is when it dies."""
        self.fate = fate
        self._go.release()
        self.wait()

    def wait(self) -> None:
        """Wait until it has stopped."""
        self._stopped.acquire()

    @property
    def due_in(self) -> int:
        """In how many milliseconds its request must be made at the latest."""
        if self.next is None or not _announces(*self.next):
            return 10**9
        return self.stopped_at + _MAX_DELAY - self.world.now


@dataclass
class World:
    """A database, the time, and the random numbers that order everything done to it."""

    database: Database
    random: random.Random
    now: int = START
    hurry: int = 300  # the most milliseconds that pass from one request to the next
    processes: list[Process] = field(default_factory=list)

    def connect(self) -> tuple[Database, Boards]:
        """Return a new process's connection to the database."""
        db = Database(Client(self.database.client), self.database.tables)  # type: ignore[arg-type]
        return db, Boards(db, cache_seconds=3600)

    def add(self, name: str, body: Callable[[Process], object], **traits: Any) -> Process:
        """Start a process; it waits for its first turn."""
        process = Process(self, name, body, **traits)
        self.processes.append(process)
        process.start()
        process.wait()
        return process

    def run(self, until: Iterable[Process]) -> None:
        """Let all processes run until these have ended, then end the others."""
        awaited = list(until)
        while not all(process.finished for process in awaited) and not any(
            process.error for process in self.processes
        ):
            alive = [process for process in self.processes if not process.finished]
            awake = [process for process in alive if process.wakes_at <= self.now]
            if not awake:
                self.now = min(process.wakes_at for process in alive)
                continue
            urgent = [process for process in alive if process.due_in < self.hurry]
            if not urgent:
                self.now += self.random.randrange(self.hurry)
            [process] = urgent[:1] or self.random.choices(awake, [each.weight for each in awake])
            dies = self.random.random() < process.deaths
            fate = self.random.choice(["before", "after"]) if dies else ""
            if process.dies_at and process.dies_at[0] == process.requests:
                fate, process.dies_at = process.dies_at[1], None
            process.go_on(fate)
        for process in self.processes:
            if not process.finished:
                process.go_on("over")
            process.join()
            if process.error is not None:
                raise process.error
        self.processes.clear()

    def hold(self, process: Process, operation: str, table: str) -> None:
        """Let one process run alone until it stops before such a request that names this table."""
        while process.next is None or process.next[0] != operation or table not in str(process.next[1]):
            assert not process.finished, process.error
            process.go_on()


class Client:
    """A client whose requests wait for the turn of the process that makes them, if one does."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._client, name)
        process = threading.current_thread()
        if name in _NO_REQUESTS or not isinstance(process, Process):
            return operation

        def request(**arguments: Any) -> Any:
            process.next = name, arguments
            process.stop()
            process.next = None
            process.requests += 1
            if process.fate == "before":
                raise Killed
            try:
                return operation(**arguments)
            finally:
                if process.fate == "after":
                    raise Killed

        return request


def _announces(operation: str, arguments: dict[str, Any]) -> bool:
    """Return whether a request announces the birth of a node or a tree."""
    if operation == "transact_write_items":
        return any("edges" in write.get("Put", {}).get("Item", {}) for write in arguments["TransactItems"])
    return operation == "put_item" and "born" in arguments["Item"]


def virtual(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    """Let core run in a world's time, and make parallel calls one after the other, in random order."""

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

    _replace(monkeypatch, clock_module.now_ms, now_ms)
    _replace(monkeypatch, parallel.run_all, run_all)
    clock = types.SimpleNamespace(sleep=sleep, monotonic=lambda: now_ms() / 1000)
    for module in (backoff, checks, rebuilds, root, stream, known_trees):
        monkeypatch.setattr(module, "time", clock)
    random.seed(world.random.random())


def _replace(monkeypatch: pytest.MonkeyPatch, old: Callable[..., Any], new: Callable[..., Any]) -> None:
    """Replace a function in every module of core that has imported it."""
    for name, module in list(sys.modules.items()):
        if name.startswith("core.") and getattr(module, old.__name__, None) is old:
            monkeypatch.setattr(module, old.__name__, new)


def instant(world: World) -> datetime:
    return datetime.fromtimestamp(world.now / 1000, UTC)
