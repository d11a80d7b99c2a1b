"""How commands find a running local stack: it keeps a record of itself in its data folder."""

import contextlib
import json
import os
import socket
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from urllib.parse import urlsplit

_RECORD = "stack.json"


@dataclass(frozen=True, slots=True)
class RunningStack:
    """A running stack's addresses and its process."""

    endpoint: str  # of DynamoDB
    url: str  # of GraphQL
    pid: int

    def is_running(self) -> bool:
        """Return whether its process exists and its engine takes connections."""
        address = urlsplit(self.endpoint)
        try:
            os.kill(self.pid, 0)
            socket.create_connection((address.hostname or "", address.port or 0), timeout=2).close()
        except OSError:
            return False
        return True


def find_running(folder: Path) -> RunningStack | None:
    """Return the stack that runs on a data folder; the record of a killed one is ignored."""
    try:
        running = RunningStack(**json.loads((folder / _RECORD).read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return running if running.is_running() else None


@contextlib.contextmanager
def recorded(folder: Path, running: RunningStack) -> Iterator[None]:
    """Let other commands find the running stack for the length of the block."""
    record = folder / _RECORD
    fresh = folder / f"{_RECORD}.new"
    fresh.write_text(json.dumps(asdict(running)))
    fresh.replace(record)
    try:
        yield
    finally:
        record.unlink(missing_ok=True)
