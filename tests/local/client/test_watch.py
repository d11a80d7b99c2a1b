"""`leaderboard watch` on a running server: the current state, then each event once; and it reconnects."""

import argparse
import asyncio
import itertools
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from queue import Empty, Queue

import boto3
import pytest
from gql.transport.exceptions import TransportQueryError
from moto import mock_aws

from core.boards import Boards
from core.storage.database import Database
from local.cli import main
from local.client.api import find
from local.client.watch import watch
from local.errors import Refused, StackError
from local.stack.engine import Engine, free_port
from tests.support.live import Live, change, live, live_alone, top_change, top_row

ROOT = Path(__file__).parents[3]
SUBMIT = "mutation ($input: SubmitScoreInput!) { submitScore(input: $input) { accepted } }"


class Watching:
    """The command as a process, and its output."""

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "local.cli", "watch", *arguments],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},
        )
        self._lines: Queue[str] = Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(line.rstrip("\n"))

    def line(self, seconds: float = 30) -> str:
        """Return the next line, without its time."""
        return re.sub(r"^\d\d:\d\d:\d\d  ", "", self._lines.get(timeout=seconds))

    def is_silent(self) -> bool:
        try:
            self._lines.get(timeout=0.2)
        except Empty:
            return True
        return False


@contextmanager
def watching(*arguments: str) -> Iterator[Watching]:
    found = Watching(*arguments)
    try:
        yield found
    finally:
        found.process.kill()
        found.process.wait()


@pytest.fixture(scope="module")
def server(engine: Engine) -> Iterator[Live]:
    with live_alone(engine) as running:
        for participant, score in (("ann", "7"), ("bob", "9")):
            submission = {"leaderboardId": "board", "participantId": participant, "score": score}
            assert "errors" not in running.ask(SUBMIT, input=submission)
        yield running


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def to(server: Live, key: str = "public") -> list[str]:
    return ["--url", server.url, "--api-key", key]


def test_it_prints_the_current_state_and_then_each_event_once(server: Live) -> None:
    with watching("board", "ann", *to(server)) as watch:
        assert watch.line() == "now: rank 2 of 2, Top 3, with 7"
        server.publish(change("ann", 5))
        assert watch.line() == "Top 10, from Top 3: rank 4, was 3 (others' scores)"
        server.publish(change("ann", 4))  # late, as in community#374
        server.publish(change("ann", 5))  # a duplicate
        server.publish(change("ann", 40, period="daily-2026-11-30"))
        new = change("ann", 10, previousBucket=None, previousRank=None, bucket="Top 1", rank=1)
        server.publish(new | {"cause": "OWN_SCORE"})
        assert watch.line() == "Top 1: rank 1 (own score)"
        assert watch.is_silent()


def test_a_participant_without_a_rank_can_be_watched(server: Live) -> None:
    with watching("board", "zoe", *to(server)) as watch:
        assert watch.line() == "now: not ranked"


def test_the_top_of_a_board(server: Live) -> None:
    with watching("board", "--top", *to(server)) as watch:
        assert [watch.line() for _ in range(3)] == ["now: top", "   1  bob  9", "   2  ann  7"]
        rows = [top_row(displayName="X"), top_row("y", rank=2, displayName=None)]
        server.publish_top(top_change(entries=rows))
        assert [watch.line() for _ in range(3)] == ["top", "   1  X  1:02", "   2  y  1:02"]
        server.publish_top(top_change(entries=[], version="2"))
        assert watch.line() == "top: nobody"


def test_it_reconnects_after_a_lost_connection(db: Database, boards: Boards, stack: ExitStack) -> None:
    """It subscribes before it asks, so the current state includes what it missed."""
    port = free_port()
    with live(db, boards, port=port) as server:
        server.board()
        watch = stack.enter_context(watching("board", "ann", *to(server)))
        assert watch.line() == "now: not ranked"
        server.publish(change("ann", 7))
        assert watch.line().startswith("Top 10")
    assert "reconnecting in" in watch.line()
    submission = {"leaderboardId": "board", "participantId": "ann", "score": "7"}
    with live(db, boards, port=port) as server:
        assert "errors" not in server.ask(SUBMIT, input=submission)
        line = watch.line()
        while "reconnecting in" in line:
            line = watch.line()
        assert line == "now: rank 1 of 1, Top 1, with 7"
        server.publish(change("ann", 7))
        server.publish(change("ann", 8, rank=8))
        assert "rank 8" in watch.line()


@pytest.mark.parametrize(
    ("arguments", "code", "word"),
    [
        (lambda server: ["none", "ann", *to(server)], 1, "LeaderboardNotFound: there is no leaderboard"),
        (lambda server: ["board", *to(server)], 1, "PARTICIPANT"),
        (lambda server: ["board", "ann", "--top", *to(server)], 1, "not both"),
        (lambda server: ["board", "ann", *to(server, "guess")], 2, "refused the connection"),
        (lambda server: ["board", "ann", "--url", "localhost"], 2, "--url"),
        (lambda server: ["board", "ann", "--data", "nowhere"], 2, "leaderboard run"),
    ],
)
def test_a_failure_is_reported_in_one_line(
    server: Live,
    arguments: Callable[[Live], list[str]],
    code: int,
    word: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["watch", *arguments(server)]) == code
    error = capsys.readouterr().err
    assert word in error
    assert len(error.splitlines()) == 1


def test_it_retries_while_no_server_answers() -> None:
    url = f"http://127.0.0.1:{free_port()}/graphql"
    with watching("board", "ann", "--url", url, "--api-key", "k") as watch:
        start = time.monotonic()
        for _ in range(2):
            assert "reconnecting in" in watch.line()
        assert time.monotonic() - start < 20


def test_it_reconnects_after_a_thousand_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    attempts = itertools.count(1)

    async def fail(_: object) -> None:
        if next(attempts) == 1100:
            raise TransportQueryError("enough")
        raise OSError("no server")

    async def return_at_once(_: float) -> None:
        pass

    monkeypatch.setattr("local.client.watch._Watch._subscribe", fail)
    monkeypatch.setattr("asyncio.sleep", return_at_once)
    api = find(argparse.Namespace(stack=None, region=None, url="http://localhost/graphql", api_key="key"))
    with pytest.raises(Refused):
        watch(api, "board", "all-time", "ann")
    assert next(attempts) == 1101


def test_a_stack_on_aws_is_found_by_its_name_and_called_with_iam(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    target = {"stack": "race", "region": "eu-west-1", "url": None, "api_key": None}
    with mock_aws():
        client = boto3.client("appsync", region_name="eu-west-1")
        for name in ("other", "race"):
            made = client.create_graphql_api(name=name, authenticationType="AWS_IAM")["graphqlApi"]
        api = find(argparse.Namespace(**target))
        assert api.url == made["uris"]["GRAPHQL"]
        with pytest.raises(StackError, match="no API named nobody in eu-west-1"):
            find(argparse.Namespace(**target | {"stack": "nobody"}))
    signed = api.auth.get_headers("{}")
    assert signed["Authorization"].startswith("AWS4-HMAC-SHA256")
    assert "/eu-west-1/appsync/" in signed["Authorization"]


@pytest.mark.parametrize(
    ("url", "socket"),
    [
        ("http://localhost:8080/graphql", "ws://localhost:8080/graphql/realtime"),
        ("https://scores.example/graphql", "wss://scores.example/graphql/realtime"),
        (
            "https://abc.appsync-api.eu-west-1.amazonaws.com/graphql",
            "wss://abc.appsync-realtime-api.eu-west-1.amazonaws.com/graphql",
        ),
    ],
)
def test_the_address_of_an_apis_websocket(url: str, socket: str) -> None:
    api = find(argparse.Namespace(stack=None, region=None, url=url, api_key="key"))

    async def address() -> str:
        return api.transport().adapter.url

    assert asyncio.run(address()).split("?")[0] == socket
