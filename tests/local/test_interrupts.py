"""Ctrl-C, sent to each command as a process while DynamoDB has stopped to answer it."""

import os
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from core.boards import Boards
from core.domain.board import define_board
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from local.cli import main
from local.stack.engine import Engine
from local.stack.running import RunningStack, recorded
from local.stack.stream_reader import StreamReader, connect_streams
from tests.core.upkeep.test_deletion import scan
from tests.support.twin import NOW

ENDED_SECONDS = 3  # a second, on a machine that is not busy


class StallingEngine:
    """Passes requests on to an engine, until one of some operations comes; then it answers nothing."""

    def __init__(self, engine: Engine, operations: set[str]) -> None:
        self.stalled, self.released = threading.Event(), threading.Event()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(handler) -> None:  # noqa: N805
                if handler.headers["x-amz-target"].rpartition(".")[2] in operations:
                    self.stalled.set()
                if self.stalled.is_set():
                    self.released.wait(60)
                body = handler.rfile.read(int(handler.headers["content-length"]))
                headers = {name: value for name, value in handler.headers.items() if name.lower() != "host"}
                answer = httpx.post(engine.endpoint, content=body, headers=headers, timeout=60)
                handler.send_response(answer.status_code)
                handler.send_header("content-length", str(len(answer.content)))
                handler.end_headers()
                handler.wfile.write(answer.content)

            def log_message(handler, *_: object) -> None:  # noqa: N805
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"

    @contextmanager
    def serving(self) -> Iterator[None]:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        try:
            yield
        finally:
            self.released.set()
            self._server.shutdown()


@pytest.fixture
def folder(local_db: Database, tmp_path: Path) -> Path:
    """The data folder of a running stack with a board, a backup of it, and a file to import."""
    boards = Boards(local_db, cache_seconds=0)
    for item in scan(
        local_db, local_db.tables.boards
    ):  # unlisted ones too, which an interrupted restore left
        local_db.client.delete_item(TableName=local_db.tables.boards, Key={"board": item["board"]})
    board = boards.create(define_board(id="race", now=NOW))
    for number in range(3):
        submit_score(local_db, board, Submission(f"p{number}", [str(number)], NOW), now=NOW)
    StreamReader(local_db, boards, connect_streams(local_db)).drain()
    assert main(["backup", str(tmp_path / "saved"), "--data", str(tmp_path)]) == 0
    local_db.client.delete_item(TableName=local_db.tables.boards, Key={"board": {"S": "race"}})
    boards.create(define_board(id="race2", now=NOW))
    return tmp_path


@pytest.mark.parametrize(
    ("command", "operations", "advice"),
    [
        ("backup {folder}/again", {"Scan"}, "to resume"),
        ("restore {folder}/saved", {"BatchWriteItem"}, "to resume"),
        ("import {folder}/scores.csv --board race2", {"BatchGetItem", "PutItem", "UpdateItem"}, "to resume"),
        ("export race2 -o {folder}/race.csv", {"Query"}, "to start over"),
        ("delete race2 --yes", {"Query"}, "to resume"),
        ("rebuild race2", {"Query"}, "to resume"),
        ("demo --seasons 2008", {"UpdateItem", "TransactWriteItems"}, "to resume"),
        ("audit race2", {"Query"}, None),
    ],
)
def test_an_interrupt_ends_each_command_and_says_how_to_go_on(
    folder: Path, engine: Engine, command: str, operations: set[str], advice: str | None
) -> None:
    (folder / "scores.csv").write_text("participantId,score\n" + "".join(f"q{n},{n}\n" for n in range(9)))
    arguments = [*shlex.split(command.format(folder=folder)), "--data", str(folder)]
    stalling = StallingEngine(engine, operations)
    with (
        stalling.serving(),
        recorded(folder, RunningStack(stalling.endpoint, "http://localhost/graphql", os.getpid())),
    ):
        process = subprocess.Popen(
            [sys.executable, "-m", "local.cli", *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            if not stalling.stalled.wait(20):
                process.kill()
                raise AssertionError(process.communicate())
            time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            start = time.monotonic()
            error = process.communicate(timeout=60)[1]
            seconds = time.monotonic() - start
        finally:
            process.kill()
    assert process.returncode == 130, error
    assert seconds < ENDED_SECONDS
    expected = (
        f"interrupted; {advice}: {shlex.join(['leaderboard', *arguments])}" if advice else "interrupted"
    )
    assert f"leaderboard: {expected}" in error.splitlines()
    assert "Traceback" not in error


def test_the_help_lists_the_exit_code_of_an_interrupt(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    assert "130" in capsys.readouterr().out
