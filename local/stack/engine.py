"""The local stack's DynamoDB engine: a child process that ends with its parent, even on `kill -9`."""

import contextlib
import fcntl
import logging
import os
import platform
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from local import NODE_MODULES
from local.errors import StackError

_START_SECONDS = 10.0
_LOCK_SECONDS = 2.0  # a stack that was just killed releases its folder within moments

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Engine:
    """A running engine. `database` is its SQLite file; None for moto, which keeps everything in memory."""

    endpoint: str
    process: subprocess.Popen[bytes]
    database: Path | None
    log: Path

    def index_streams(self) -> None:
        """Index stream records by sequence number: without that, each write scans for the highest."""
        self._execute(
            "CREATE INDEX IF NOT EXISTS stream_position"
            " ON _stream_records (table_name, CAST(sequence_number AS INTEGER))"
        )

    def trim_stream(self, table: str, before: int, limit: int) -> int:
        """Delete up to `limit` of a table's stream records below a sequence number; return how many.

        The caller keeps the newest record: the engine numbers the next one from it.
        """
        return self._execute(
            "DELETE FROM _stream_records WHERE id IN (SELECT id FROM _stream_records"
            " WHERE table_name = ? AND CAST(sequence_number AS INTEGER) < ? LIMIT ?)",
            (table, before, limit),
        )

    def _execute(self, statement: str, values: tuple[str | int, ...] = ()) -> int:
        if self.database is None:
            return 0
        with contextlib.closing(sqlite3.connect(self.database, timeout=10)) as connection, connection:
            return connection.execute(statement, values).rowcount


def find_engine() -> Path | None:
    """Return the engine's binary: from `make setup`, else from PATH; None if there is neither."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}
    architecture = platform.machine().lower()
    package = f"{sys.platform}-{machine.get(architecture, architecture)}"
    fetched = NODE_MODULES / "@dynoxide" / package / "dynoxide"
    if fetched.exists():
        return fetched
    on_path = shutil.which("dynoxide")
    return Path(on_path) if on_path else None


@contextlib.contextmanager
def running_engine(folder: Path) -> Iterator[Engine]:
    """Run the engine on a data folder for the length of the block.

    Raises:
        StackError: the folder cannot be written or is in use, or the engine does not start.
    """
    with _locked(folder) as lock:
        engine = _start(folder, lock)
        watchdog = _watchdog(engine.process.pid, lock)
        try:
            _wait_until_ready(engine)
            engine.index_streams()
            yield engine
        finally:
            _stop(engine.process)
            _stop(watchdog)


@contextlib.contextmanager
def temporary_folder() -> Iterator[Path]:
    """Yield a data folder, on a RAM disk where there is one; delete it after the block."""
    ram_disk = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108 - mkdtemp makes it private
    folder = Path(tempfile.mkdtemp(prefix="leaderboard-", dir=ram_disk))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """Return a free TCP port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[IO[bytes]]:
    """Lock the folder. Child processes inherit the lock: it is released when the last of them has ended."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("ab")
    except OSError as error:
        raise StackError(
            f"cannot write data folder {folder} ({error.strerror}); choose another with --data FOLDER"
        ) from error
    with lock:
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise StackError(
                        f"data folder {folder} is in use by another running stack; "
                        "stop that one, or choose another folder with --data FOLDER"
                    ) from None
                time.sleep(0.02)
        yield lock


def _start(folder: Path, lock: IO[bytes]) -> Engine:
    port = free_port()
    binary = find_engine()
    if binary is None:
        log.warning(
            "the dynoxide engine is missing (`make setup` fetches it where it is built): running on moto's "
            "server, which is slow and loses all data when it stops"
        )
        command = [sys.executable, "-m", "moto.server", "--port", str(port)]
        database = None
        output = Path(os.devnull)  # it logs every request
    else:
        database = folder / "dynamodb.sqlite"
        command = [str(binary), "serve", "--port", str(port), "--db-path", str(database)]
        output = folder / "engine.log"
    with output.open("wb") as log_file:
        process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=log_file,
            stderr=log_file,
            pass_fds=(lock.fileno(),),
            start_new_session=True,  # Ctrl-C reaches the parent only, which stops the engine last
        )
    return Engine(f"http://127.0.0.1:{port}", process, database, output)


def _watchdog(pid: int, lock: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start a shell that kills the engine when the parent's end of the pipe closes, even on `kill -9`."""
    return subprocess.Popen(  # noqa: S603
        ["/bin/sh", "-c", 'read -r _; kill -9 "$1" 2>/dev/null', "sh", str(pid)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(lock.fileno(),),
        start_new_session=True,
    )


def _wait_until_ready(engine: Engine) -> None:
    host, port = "127.0.0.1", int(engine.endpoint.rpartition(":")[2])
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and engine.process.poll() is None:
        try:
            socket.create_connection((host, port), timeout=1).close()
        except OSError:
            time.sleep(0.01)
        else:
            return
    cause = engine.log.read_text().strip() or "it logged nothing"
    raise StackError(f"the DynamoDB engine did not start: {cause}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdin is not None:
        process.stdin.close()
