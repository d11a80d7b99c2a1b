"""How far the counters lag behind submissions, on the whole local stack under load."""

import itertools
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from core.boards import Boards
from core.domain.board import define_board
from core.domain.model import Board, ScorePolicy
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from local.stack.engine import find_engine, free_port
from local.stack.running import find_running
from local.stack.target import connect_local

ROOT = Path(__file__).parents[3]
READY_SECONDS = 60
LOAD_SECONDS = 8
CAUGHT_UP_SECONDS = 20
UPDATES_PER_SECOND = 500  # if the machine can
WRITERS = 4
PARTICIPANTS = 300
PROMISED = timedelta(seconds=2)
AS_OF = """
query { leaderboard(id: "load") { entry(participantId: "p0") {
  TREE: rank(strategy: TREE) { asOf } LADDER: rank(strategy: LADDER) { asOf } AUTO: rank { asOf }
} } }
"""


@contextmanager
def running_stack(folder: Path) -> Iterator[tuple[Database, str]]:
    """Run the stack in its own process; yield its database and the URL of its API."""
    output = folder / "output"
    with output.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "local.cli", "run", "--port", str(free_port()), "--data", folder / "data"],
            cwd=ROOT,
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + READY_SECONDS
        while (running := find_running(folder / "data")) is None:
            assert process.poll() is None, output.read_text()
            assert time.monotonic() < deadline, output.read_text()
            time.sleep(0.05)
        yield connect_local(running.endpoint), running.url
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=20)


@dataclass
class Load:
    """Writers at a fixed pace, each with its own participants."""

    db: Database
    board: Board
    newest: datetime = field(default_factory=lambda: datetime.now(UTC))  # acknowledgement
    acknowledged: Iterator[int] = field(default_factory=itertools.count)
    stop: threading.Event = field(default_factory=threading.Event)

    def write(self, number: int) -> None:
        start = time.monotonic()
        for turn in itertools.count():
            due = start + turn * WRITERS / UPDATES_PER_SECOND
            if self.stop.wait(max(0.0, due - time.monotonic())):
                return
            participant = f"p{number + WRITERS * random.randrange(PARTICIPANTS // WRITERS)}"
            score = [str(random.randint(0, 10**6))]
            submit_score(self.db, self.board, Submission(participant, score), now=datetime.now(UTC))
            self.newest = datetime.now(UTC)
            next(self.acknowledged)


def test_counts_lag_at_most_2_seconds(tmp_path: Path) -> None:
    if find_engine() is None:
        pytest.skip("no dynoxide engine")
    with running_stack(tmp_path) as (db, url):
        board = Boards(db).create(define_board(id="load", policy=ScorePolicy.LATEST, now=datetime.now(UTC)))
        load = Load(db, board)
        submit_score(db, board, Submission("p0", ["1"]), now=datetime.now(UTC))  # whose rank is read
        threads = [threading.Thread(target=load.write, args=(number,)) for number in range(WRITERS)]
        for thread in threads:
            thread.start()
        lags = []
        until = time.monotonic() + LOAD_SECONDS
        try:
            while time.monotonic() < until:
                newest = load.newest
                lags += [newest - as_of for as_of in ask(url)]
                time.sleep(random.choice([0.05, 0.3, 1.4]))
        finally:
            load.stop.set()
            for thread in threads:
                thread.join()
        submitted = next(load.acknowledged)
        assert submitted > 20 * LOAD_SECONDS
        # One in ten may be late on a busy machine.
        assert sum(lag > PROMISED for lag in lags) <= len(lags) / 10, lags
        until = time.monotonic() + CAUGHT_UP_SECONDS
        while min(ask(url)) < load.newest - PROMISED:
            assert time.monotonic() < until


def ask(url: str) -> list[datetime]:
    """Return `asOf` of a rank by each strategy that reads counters."""
    answer = httpx.post(url, json={"query": AS_OF}, headers={"x-api-key": "local-admin"}, timeout=30).json()
    assert "errors" not in answer, answer
    found = answer["data"]["leaderboard"]["entry"] or {}
    return [datetime.fromisoformat(rank["asOf"]) for rank in found.values()]
