"""Amplify in a headless Chromium, over TLS, on the whole stack as `leaderboard run` starts it."""

import datetime
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from local.stack.engine import free_port
from tests.support import browser
from tests.support.live import FIELDS, PUBLISH, WATCH, change

ROOT = Path(__file__).parents[2]
CREATE = "mutation ($input: CreateLeaderboardInput!) { createLeaderboard(input: $input) { id } }"


def write_certificate(folder: Path) -> tuple[Path, Path]:
    """Make a self-signed certificate, as a developer would."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(pem))
    paths[1].write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths


@dataclass
class Stack:
    """A running stack that keeps its ports and data folder over a restart."""

    folder: Path
    port: int
    tls_port: int
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        certificate, key = write_certificate(self.folder)
        command = [sys.executable, "-m", "local.cli", "run", "--port", str(self.port), "--data", "data"]
        command += ["--tls-cert", str(certificate), "--tls-key", str(key), "--tls-port", str(self.tls_port)]
        command += ["--allow-origin", "null"]  # of the browser's empty page
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
        )
        start = time.monotonic()
        while not self._is_up():
            assert self.process.poll() is None
            assert time.monotonic() - start < 30
            time.sleep(0.02)

    def end(self) -> None:
        assert self.process
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait(timeout=20)

    def ask(self, query: str, **variables: Any) -> Any:
        response = httpx.post(
            f"http://localhost:{self.port}/graphql",
            json={"query": query, "variables": variables},
            headers={"x-api-key": "local-admin"},
        ).json()
        assert "errors" not in response, response
        return response["data"]

    def publish(self, event: dict[str, Any]) -> None:
        self.ask(PUBLISH.replace("FIELDS", FIELDS), input=event)

    def board(self, board_id: str, access: str) -> None:
        self.ask(CREATE, input={"id": board_id, "clientAccess": access})

    def token(self, participant: str) -> str:
        command = [sys.executable, "-m", "local.cli", "token", participant, "--data", "data"]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        return subprocess.check_output(command, cwd=self.folder, env=environment, text=True).strip()

    def _is_up(self) -> bool:
        try:
            return httpx.get(f"http://localhost:{self.port}/health").status_code == 200
        except httpx.TransportError:
            return False


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    browser.find()
    stack = Stack(tmp_path_factory.mktemp("stack"), free_port(), free_port())
    stack.start()
    try:
        stack.board("board", "SUBMIT")
        stack.board("closed", "NONE")
        yield stack
    finally:
        stack.end()


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> str:
    browser.find()
    return browser.bundle(tmp_path_factory.mktemp("bundle") / "page.js")


@pytest.fixture
def page(stack: Stack, script: str, tmp_path: Path) -> Iterator[browser.Page]:
    with browser.opened(browser.find(), script, tmp_path) as page:
        page.call("configure", f"https://localhost:{stack.tls_port}/graphql", "local-public")
        yield page


def subscribe(page: browser.Page, name: str, board: str = "board", **options: Any) -> None:
    page.call("subscribe", name, WATCH, {"board": board, "who": name}, options)


def acknowledged(name: str) -> str:
    return f"any(one.get('who') == {name!r} for one in acks)"


def test_subscriptions_on_one_socket_are_independent(stack: Stack, page: browser.Page) -> None:
    """amplify-js#14947, #8370: a refused one ends no other, nor does the hundred and first."""
    subscribe(page, "ann")
    page.until_heard("ann", acknowledged("ann"))
    stack.publish(change("ann"))
    heard = page.until_heard("ann", "events")
    assert heard["events"] == [{"onRankBucketChange": change("ann")}]

    for name, board in (("carl", "closed"), ("dora", "none")):
        subscribe(page, name, board)
        refused = page.until_heard(name, "errors")
        assert "LeaderboardNotFound" in refused["errors"][0]
    page.call("subscribe", "wrong", "subscription { onTopChange { nothing } }", {}, {})
    page.until_heard("wrong", "errors")
    for at in range(99):
        subscribe(page, f"p{at}")
    for at in range(99):
        page.until_heard(f"p{at}", acknowledged(f"p{at}"))
    subscribe(page, "late")
    assert "MaxSubscriptionsReachedError" in page.until_heard("late", "errors")["errors"][0]
    page.call("unsubscribe", "p0")
    for at in range(20):  # Amplify sends the stop with a delay
        later = f"later{at}"
        subscribe(page, later)
        if not page.until_heard(later, f"errors or {acknowledged(later)}")["errors"]:
            break

    for name in ("ann", "p98", later):
        stack.publish(change(name, 2))
        assert page.until_heard(name, "events and events[-1]['onRankBucketChange']['version'] == '2'")
    heard = page.call("heard", "ann")
    assert (heard["errors"], heard["sockets"]) == ([], 1)


def test_a_page_is_notified_when_others_push_someone_out_of_the_top(
    stack: Stack, page: browser.Page, record_property: Callable[[str, object], None]
) -> None:
    """From the submission over the stream and the publisher to the browser."""
    buckets = [{"name": "Top 2", "to": 2}, {"name": "The rest"}]
    stack.ask(CREATE, input={"id": "race", "rankBuckets": buckets})
    submit = "mutation ($inputs: [SubmitScoreInput!]!) { submitScores(inputs: $inputs) { errorType } }"
    query = (
        '{ leaderboard(id: "race") { entry(participantId: "gil") { rank { rank total bucket { name } } } } }'
    )
    subscribe(page, "gil", "race")
    page.until_heard("gil", acknowledged("gil"))
    stack.ask(submit, inputs=[score("race", "gil", 7), score("race", "hal", 9)])
    page.until_heard("gil", "events")  # of its own first score
    before = len(page.call("heard", "gil")["events"])
    stack.ask(submit, inputs=[score("race", "ivy", 8)])
    start = time.monotonic()
    heard = page.until_heard("gil", f"len(events) > {before}")
    record_property("seconds from the submission to the browser", time.monotonic() - start)
    event = heard["events"][-1]["onRankBucketChange"]
    names = ("previousBucket", "bucket", "previousRank", "rank", "cause")
    assert [event[name] for name in names] == ["Top 2", "The rest", 2, 3, "OTHERS"]
    asked = page.call("ask", query, {})["data"]["leaderboard"]["entry"]["rank"]
    assert asked == {"rank": 3, "total": 3, "bucket": {"name": "The rest"}}


def score(board: str, participant: str, value: int) -> dict[str, str]:
    return {"leaderboardId": board, "participantId": participant, "score": str(value)}


@pytest.mark.thorough
def test_a_participant_with_a_token_subscribes(stack: Stack, page: browser.Page) -> None:
    signed_in = {"authMode": "lambda", "authToken": stack.token("ann")}
    subscribe(page, "ann", **signed_in)
    page.until_heard("ann", acknowledged("ann"))
    stack.publish(change("ann", 7))
    assert page.until_heard("ann", "events")["events"] == [{"onRankBucketChange": change("ann", 7)}]
    subscribe(page, "carl", "closed", **signed_in)
    assert "LeaderboardNotFound" in page.until_heard("carl", "errors")["errors"][0]
    assert page.call("heard", "ann")["sockets"] == 1


@pytest.mark.thorough
def test_a_wrong_key_gets_an_error(stack: Stack, page: browser.Page) -> None:
    """amplify-flutter#584: no ack, and no retry with the same key."""
    page.call("configure", f"https://localhost:{stack.tls_port}/graphql", "guess")
    subscribe(page, "ann")
    heard = page.until_heard("ann", "errors")
    assert (heard["acks"], heard["sockets"]) == ([], 1)


@pytest.mark.thorough
def test_a_client_that_was_cut_off_subscribes_again_and_queries_the_rank(
    stack: Stack, page: browser.Page
) -> None:
    """No event says what happened while the server was down, so the client queries once it is back."""
    submit = "mutation ($input: SubmitScoreInput!) { submitScore(input: $input) { accepted } }"
    subscribe(page, "eve")
    page.until_heard("eve", acknowledged("eve"))
    stack.ask(submit, input=score("board", "eve", 7))
    page.until_heard("eve", "events and events[-1]['onRankBucketChange']['rank'] == 1")
    stack.end()
    stack.start()
    stack.ask(submit, input=score("board", "fay", 9))  # and eve is second
    page.until_heard("eve", "[one['who'] for one in acks].count('eve') == 2", seconds=60)
    query = '{ leaderboard(id: "board") { entry(participantId: "eve") { rank { rank } } } }'
    answer = page.call("ask", query, {})
    assert answer["data"]["leaderboard"]["entry"]["rank"]["rank"] == 2
    stack.ask(submit, input=score("board", "eve", 11))
    page.until_heard("eve", "events[-1]['onRankBucketChange']['rank'] == 1")
