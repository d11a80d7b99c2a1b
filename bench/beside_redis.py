"""Measure leaderboard operations by core on the local DynamoDB engine beside Redis, in one run.

Needs redis-server (Debian's package of that name). Each operation alternates, block by block, between both.
Both servers are on this machine: times tell what a process spends, not what a network adds. Capacity units
are as on AWS. Prints Markdown.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import redis

from bench.distributions import BY_NAME
from bench.loading import Filled, engine_with
from bench.markdown import table
from core.boards import Boards
from core.domain.board import define_board
from core.domain.model import RankStrategy
from core.domain.periods import ALL_TIME
from core.domain.rank_key import decode_score, participant_of
from core.ranking import queries, ranks
from core.ranking.ladder import ladder
from core.storage.database import Database, Tables, connect, metered
from core.storage.tables import create_tables
from core.submissions.submit import Submission, submit_score
from local.stack.engine import free_port, running_engine

_BLOCKS = 15
_CALLS = 20  # a block
_FRIENDS = 100
_LOST_OF = 2_000  # writes before the server is killed
_KEY = "board"

Call = Callable[[], object]


class Cost(NamedTuple):
    """Of one call: CPU and elapsed time in microseconds, read and write units."""

    cpu: float
    elapsed: float
    units: float = 0.0


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", default="10000,100000,1000000", help="entries (default: %(default)s)")
    args = parser.parse_args()
    if shutil.which("redis-server") is None:
        print("redis-server is missing; install it and run this again", file=sys.stderr)
        return 2
    for size in map(int, args.sizes.split(",")):
        _at_size(size)
    _after_a_kill()
    return 0


def _at_size(size: int) -> None:
    shape = BY_NAME["uniform"]
    filled = Filled(shape.board(size), shape.participants(size))
    with engine_with([filled], _progress) as db, _redis("--save", "") as client:
        _progress("filling Redis")
        _fill(client, filled)
        memory = client.info("memory")["used_memory"] / size
        rows = []
        for name, (ours, theirs) in _operations(db, filled, client).items():
            _progress(name)
            own, other = _compare(ours, theirs)
            rows.append(
                [
                    name,
                    f"{own.cpu:,.0f}",
                    f"{other.cpu:,.0f}",
                    f"{own.elapsed:,.0f}",
                    f"{other.elapsed:,.0f}",
                    f"{own.units:g}",
                ]
            )
    heads = ["", "CPU, us", "CPU, us: Redis", "elapsed, us", "elapsed, us: Redis", "units"]
    print(f"\n{size:,} entries; Redis holds them in {memory:,.0f} bytes each\n")
    print(table(heads, rows))


def _operations(db: Database, filled: Filled, client: Any) -> dict[str, tuple[Call, Call]]:
    """Return each operation by core, and by the commands of the usual Redis library."""
    board, order = filled.board, filled.order
    middle = order[len(order) // 2]
    me, score = participant_of(board, middle), decode_score(board, middle)[0]
    friends = [participant_of(board, order[len(order) * at // _FRIENDS]) for at in range(_FRIENDS)]
    near = [participant_of(board, key) for key in order[len(order) // 2 :][:_FRIENDS]]

    def warm(call: Call) -> Call:
        def run() -> object:
            ladder(db, board, filled.standings)
            return call()

        return run

    def ranked(read: Callable[[], Sequence[Any]]) -> Call:
        return warm(lambda: ranks.rank_entries(db, board, ALL_TIME, list(read()), RankStrategy.LADDER))

    def members(names: Sequence[str]) -> object:
        pipe = client.pipeline(transaction=False)
        for name in names:
            pipe.zrevrank(_KEY, name)
            pipe.zscore(_KEY, name)
        return pipe.execute()

    def around() -> object:
        place = client.zrevrank(_KEY, me)
        return client.zrevrange(_KEY, place - 5, place + 5, withscores=True)

    def submit() -> object:
        participant = f"new-{time.monotonic_ns()}"
        return submit_score(db, board, Submission(participant, [str(score)]), now=datetime.now(UTC))

    def entry() -> Sequence[Any]:
        found = queries.entry(db, board, ALL_TIME, me)
        return [found] if found else []

    return {
        "one participant's score and rank": (ranked(entry), lambda: members([me])),
        "the rank of a score": (
            warm(lambda: ranks.rank_of(db, board, ALL_TIME, [str(score)], RankStrategy.LADDER)),
            lambda: client.zcount(_KEY, f"({score}", "+inf"),
        ),
        "about the rank of a score": (
            warm(lambda: ranks.rank_of(db, board, ALL_TIME, [str(score)], RankStrategy.APPROXIMATE)),
            lambda: client.zcount(_KEY, f"({score}", "+inf"),
        ),
        "the top 25": (
            lambda: queries.top(db, board, ALL_TIME, 25),
            lambda: client.zrevrange(_KEY, 0, 24, withscores=True),
        ),
        "11 around a participant": (lambda: queries.around(db, board, ALL_TIME, me, 5), around),
        "100 friends near one another, ranks": (
            ranked(lambda: queries.entries_of(db, board, ALL_TIME, near)),
            lambda: members(near),
        ),
        "100 friends far apart, ranks": (
            ranked(lambda: queries.entries_of(db, board, ALL_TIME, friends)),
            lambda: members(friends),
        ),
        "submit": (submit, lambda: client.zadd(_KEY, {f"new-{time.monotonic_ns()}": score})),
    }


def _compare(ours: Call, theirs: Call) -> tuple[Cost, Cost]:
    """Return the medians of blocks that alternate."""
    ours(), theirs()
    with metered() as meter:
        ours()
    found: tuple[list[Cost], list[Cost]] = ([], [])
    for _ in range(_BLOCKS):
        for call, costs in zip((ours, theirs), found, strict=True):
            cpu, began = time.process_time(), time.perf_counter()
            for _ in range(_CALLS):
                call()
            elapsed = time.perf_counter() - began
            costs.append(Cost((time.process_time() - cpu) / _CALLS * 1e6, elapsed / _CALLS * 1e6))
    own, other = (Cost(median(c.cpu for c in costs), median(c.elapsed for c in costs)) for costs in found)
    return own._replace(units=meter.read_units + meter.write_units), other


def _fill(client: Any, filled: Filled) -> None:
    pipe = client.pipeline(transaction=False)
    for number, each in enumerate(filled.participants, 1):
        pipe.zadd(_KEY, {each.id: each.score[0]})
        if number % 5_000 == 0:
            pipe.execute()
    pipe.execute()


def _after_a_kill() -> None:
    """Print how many acknowledged writes are gone after the server was killed."""
    rows = []
    for name, options in {
        "Redis as installed": (),
        "Redis, appendonly, fsync each second": ("--appendonly", "yes"),
        "Redis, appendonly, fsync always": ("--appendonly", "yes", "--appendfsync", "always"),
    }.items():
        _progress(name)
        with tempfile.TemporaryDirectory() as folder:
            with _redis("--dir", folder, *options, folder=folder) as client:
                for number in range(_LOST_OF):
                    client.zadd(_KEY, {f"p{number}": number})
                os.kill(client.info("server")["process_id"], signal.SIGKILL)
            with _redis("--dir", folder, *options, folder=folder) as client:
                rows.append([name, f"{_LOST_OF - client.zcard(_KEY):,}"])
    _progress("this project")
    rows.append(["this project's local engine", f"{_lost_by_the_engine():,}"])
    print(f"\nOf {_LOST_OF:,} acknowledged writes, lost at kill -9 of the server\n")
    print(table(["", "lost"], rows))


def _lost_by_the_engine() -> int:
    board = define_board(id=_KEY, now=datetime.now(UTC))
    with tempfile.TemporaryDirectory() as folder:
        with running_engine(Path(folder)) as engine:
            db = _connect(engine.endpoint)
            create_tables(db)
            Boards(db).create(board)
            for number in range(_LOST_OF):
                submit_score(db, board, Submission(f"p{number}", [str(number)]), now=datetime.now(UTC))
            engine.process.kill()
            engine.process.wait()
        with running_engine(Path(folder)) as engine:
            kept = _connect(engine.endpoint).client.scan(TableName="kill-scores", Select="COUNT")["Count"]
    return _LOST_OF - kept


def _connect(endpoint: str) -> Database:
    return connect(
        Tables.with_prefix("kill"),
        region="local",
        endpoint_url=endpoint,
        access_key="local",
        secret_key="local",
    )


@contextmanager
def _redis(*options: str, folder: str = "/tmp") -> Iterator[Any]:
    """Run a Redis server for the length of the block, on a port of its own on the loopback interface."""
    port = free_port()
    command = ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--loglevel", "warning", *options]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    client = redis.Redis(port=port)
    try:
        until = time.monotonic() + 30
        while True:
            try:
                client.ping()
                break
            except redis.exceptions.ConnectionError:
                if time.monotonic() > until:
                    raise
                time.sleep(0.05)
        yield client
    finally:
        client.close()
        server.terminate()
        server.wait()


def _progress(what: str) -> None:
    print(what, file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
