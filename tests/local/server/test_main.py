"""`leaderboard run` as a process: signals, output, HTTP, and what survives a kill."""

import argparse
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from core.domain.board import define_board
from core.submissions.submit import Submission, submit_score
from local.stack.engine import find_engine, free_port
from local.stack.running import find_running
from local.stack.target import opened

COMMAND = Path(sys.executable).with_name("leaderboard")
HEADERS = {"x-api-key": "local-admin"}
READY_SECONDS = 30  # generous: the machine may be busy
SUBMITTERS = 6
SUBMISSIONS_BEFORE_KILL = 300
SUBMIT = "mutation ($input: SubmitScoreInput!) { submitScore(input: $input) { accepted } }"


@dataclass
class Stack:
    process: subprocess.Popen[bytes]
    url: str
    output: Path

    def query(self, query: str, **variables: object) -> Any:
        answer = httpx.post(self.url, json={"query": query, "variables": variables}, headers=HEADERS)
        body = answer.json()
        assert "errors" not in body, body
        return body["data"]

    def end(self, with_signal: signal.Signals) -> int:
        """Signal the whole process group, as a terminal does; return the exit code."""
        os.killpg(self.process.pid, with_signal)
        return self.process.wait(timeout=20)


@contextmanager
def running(folder: Path) -> Iterator[Stack]:
    port = free_port()
    output = folder.with_name(f"{folder.name}-output")
    with output.open("wb") as file:
        process = subprocess.Popen(
            [COMMAND, "run", "--port", str(port), "--data", folder],
            stdout=file,
            stderr=file,
            start_new_session=True,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until(lambda: process.poll() is not None or is_up(url), READY_SECONDS)
        assert process.poll() is None, output.read_text()
        yield Stack(process, f"{url}/graphql", output)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def is_up(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health").status_code == 200
    except httpx.TransportError:
        return False


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, "never came true"
        time.sleep(0.02)


def is_unlocked(folder: Path) -> bool:
    """Return whether the stack and its child processes have ended: each of them holds the folder's lock."""
    with (folder / "lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def create_board(stack: Stack, board_id: str) -> None:
    stack.query(
        "mutation ($id: ID!) { createLeaderboard(input: {id: $id, policy: BEST}) { id } }", id=board_id
    )


def submit(stack: Stack, board_id: str, participant: str, score: int) -> None:
    stack.query(SUBMIT, input=submission(board_id, participant, score))


def submission(board_id: str, participant: str, score: int) -> dict[str, str]:
    return {"leaderboardId": board_id, "participantId": participant, "score": str(score)}


def read_entries(stack: Stack, board_id: str) -> list[tuple[str, int]]:
    """Read the whole board from its index, best first, to compare derived data with."""
    entries: list[tuple[str, int]] = []
    token = None
    while True:
        page = stack.query(
            "query ($id: ID!, $token: String) { leaderboard(id: $id) { entries(limit: 500, nextToken: $token)"
            " { items { participant { id } score { value } } nextToken } } }",
            id=board_id,
            token=token,
        )["leaderboard"]["entries"]
        entries += map(as_pair, page["items"])
        token = page["nextToken"]
        if token is None:
            return entries


def read_top_and_size(stack: Stack, board_id: str) -> tuple[list[tuple[str, int]], int]:
    board = stack.query(
        "query ($id: ID!) { leaderboard(id: $id)"
        " { size top(limit: 25) { participant { id } score { value } } } }",
        id=board_id,
    )["leaderboard"]
    return [as_pair(entry) for entry in board["top"]], board["size"]


def as_pair(entry: Any) -> tuple[str, int]:
    return entry["participant"]["id"], int(entry["score"]["value"][0])


@pytest.fixture(autouse=True)
def _needs_the_engine() -> None:
    if find_engine() is None and os.environ.get("CI") != "true":
        pytest.skip("no dynoxide engine: `make setup` fetches it on the platforms that it is built for")


@pytest.mark.parametrize("with_signal", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_every_process_and_a_restart_has_the_data(
    tmp_path: Path, with_signal: signal.Signals
) -> None:
    with running(tmp_path) as stack:
        create_board(stack, "b")
        submit(stack, "b", "ann", 7)
        submit(stack, "b", "bob", 9)
        assert stack.end(with_signal) == 0
        assert is_unlocked(tmp_path)
        assert not (tmp_path / "stack.json").exists()
    with running(tmp_path) as stack:
        assert read_entries(stack, "b") == [("bob", 9), ("ann", 7)]
        seconds_until_counted(stack, "b")


def test_it_prints_its_addresses_keys_and_data_folder(tmp_path: Path) -> None:
    with running(tmp_path) as stack:
        record = json.loads((tmp_path / "stack.json").read_text())
        output = stack.output.read_text()
    for place in (record["endpoint"], record["url"], "local-admin", "local-public", str(tmp_path)):
        assert place in output


def test_ephemeral_keeps_nothing(tmp_path: Path) -> None:
    port = free_port()
    command = [str(COMMAND), "run", "--port", str(port), "--ephemeral"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        wait_until(lambda: is_up(f"http://127.0.0.1:{port}"), READY_SECONDS)
    finally:
        process.terminate()
    output = process.communicate(timeout=20)[0]
    assert process.returncode == 0
    folder = next(line.split()[1].rstrip(",") for line in output.splitlines() if line.startswith("Data"))
    assert not Path(folder).exists()
    assert list(tmp_path.iterdir()) == []


def run_to_its_end(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([COMMAND, *arguments], capture_output=True, text=True, timeout=60, check=False)


def test_a_port_in_use_is_reported_in_one_line(tmp_path: Path) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = str(listening.getsockname()[1])
        ended = run_to_its_end("run", "--port", port, "--data", str(tmp_path))
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert port in ended.stderr
    assert "--port" in ended.stderr


def test_a_data_folder_in_use_is_reported_in_one_line(tmp_path: Path) -> None:
    with running(tmp_path) as stack:
        ended = run_to_its_end("run", "--port", str(free_port()), "--data", str(tmp_path))
        create_board(stack, "b")  # the running stack is not disturbed
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert str(tmp_path) in ended.stderr


def test_a_data_folder_that_is_a_file_is_reported_in_one_line(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    ended = run_to_its_end("run", "--port", str(free_port()), "--data", str(file))
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert str(file) in ended.stderr


def engine_pid(folder: Path) -> int:
    database = str(folder / "dynamodb.sqlite").encode()
    for command_line in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # the process has ended
            if database in command_line.read_bytes():
                return int(command_line.parent.name)
    raise LookupError(folder)


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="finds the engine's process in /proc")
def test_it_ends_with_its_engine_and_reports_it(tmp_path: Path) -> None:
    with running(tmp_path) as stack:
        os.kill(engine_pid(tmp_path), signal.SIGKILL)
        assert stack.process.wait(timeout=20) == 2
        assert "engine ended with exit code" in stack.output.read_text().splitlines()[-1]
        assert is_unlocked(tmp_path)


@pytest.mark.parametrize(
    "arguments", [(), ("run", "--port", "x"), ("run", "--ephemeral", "--data", "d"), ("nope",)]
)
def test_wrong_usage_is_exit_code_2(arguments: tuple[str, ...]) -> None:
    ended = run_to_its_end(*arguments)
    assert ended.returncode == 2
    assert "usage: leaderboard" in ended.stderr


def test_a_browser_gets_graphiql_and_other_clients_graphql(tmp_path: Path) -> None:
    with running(tmp_path) as stack:
        page = httpx.get(stack.url, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
        assert page.headers["content-type"].startswith("text/html")
        assert "GraphiQL" in page.text
        answer = httpx.get(stack.url, params={"query": "{ __typename }"}, headers=HEADERS)
        assert answer.json()["data"] == {"__typename": "Query"}
        for asset in ("graphiql.js", "graphiql.css", "react.js", "react-dom.js"):
            assert httpx.get(stack.url.replace("/graphql", f"/graphiql/{asset}")).status_code == 200
        assert httpx.get(stack.url.replace("/graphql", "/graphiql/package.json")).status_code == 404


def test_commands_work_beside_a_running_stack_and_without_one(tmp_path: Path) -> None:
    target = argparse.Namespace(data=tmp_path, stack=None, region=None)
    now = datetime.now(UTC)
    with opened(target) as (db, boards, drain, _):
        board = boards.create(define_board(id="b", now=now))
        submit_score(db, board, Submission("ann", ["7"]), now=now)
        drain()
    assert is_unlocked(tmp_path)
    with running(tmp_path) as stack:
        with opened(target) as (db, boards, drain, _):
            submit_score(db, boards.get("b"), Submission("bob", ["9"]), now=now)
            drain()
            assert read_top_and_size(stack, "b") == ([("bob", 9), ("ann", 7)], 2)
        assert stack.process.poll() is None


def test_no_acknowledged_submission_is_lost_when_everything_is_killed_under_load(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    acknowledged: dict[str, int] = {}
    for round_number in (1, 2):
        with running(tmp_path) as stack:
            if round_number == 1:
                create_board(stack, "b")
            kill_under_load(stack, round_number, acknowledged)
            wait_until(lambda: is_unlocked(tmp_path), 10)
            assert (tmp_path / "stack.json").exists()
            assert find_running(tmp_path) is None
        with running(tmp_path) as stack:
            record_property(f"round {round_number}: seconds until counted", seconds_until_counted(stack, "b"))
            entries = read_entries(stack, "b")
            scores = dict(entries)
            assert len(scores) == len(entries)
            assert not {name for name, score in acknowledged.items() if scores.get(name, -1) < score}
            assert stack.end(signal.SIGINT) == 0


def kill_under_load(stack: Stack, round_number: int, acknowledged: dict[str, int]) -> None:
    """Submit from several clients, kill the stack's process group midway, record what was acknowledged."""
    enough = threading.Semaphore(0)

    def client(number: int) -> None:
        with httpx.Client(headers=HEADERS) as http:
            for n in range(10_000):
                # Half the submissions improve an entry, half add one.
                participant = f"client{number}-{n if n % 2 else n % 20}"
                score = round_number * 100_000 + n
                variables = {"input": submission("b", participant, score)}
                try:
                    answer = http.post(stack.url, json={"query": SUBMIT, "variables": variables}).json()
                except httpx.TransportError:
                    return
                assert answer["data"]["submitScore"]["accepted"], answer
                acknowledged[participant] = score
                enough.release()

    with ThreadPoolExecutor(SUBMITTERS) as clients:
        futures = [clients.submit(client, number) for number in range(SUBMITTERS)]
        for _ in range(SUBMISSIONS_BEFORE_KILL):
            assert enough.acquire(timeout=30)
        os.killpg(stack.process.pid, signal.SIGKILL)
        for future in futures:
            future.result()
    stack.process.wait(timeout=10)


def seconds_until_counted(stack: Stack, board_id: str) -> float:
    """Wait until top and size, which are derived, agree with the entries; return the seconds."""
    start = time.monotonic()
    entries = read_entries(stack, board_id)
    wait_until(lambda: read_top_and_size(stack, board_id) == (entries[:25], len(entries)), 20)
    return time.monotonic() - start
