"""The console in a headless Chromium, on the whole stack as `leaderboard run` starts it."""

import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from local.stack.engine import free_port
from tests.support import browser
from tests.support.window import AXE, PHONE, Window, window

COMMAND = Path(sys.executable).with_name("leaderboard")
CREATE = "mutation ($input: CreateLeaderboardInput!) { createLeaderboard(input: $input) { id } }"
SUBMIT = "mutation ($inputs: [SubmitScoreInput!]!) { submitScores(inputs: $inputs) { errorType } }"
MARKUP = "<img src=x onerror=\"document.title='run'\"> 'quoted' & \"double\""
RIGHT_TO_LEFT = "\u05d0\u05d1\u05d2 123 (\u05d3)"
TOP = "[...document.querySelectorAll('table[aria-label=Top] .name')].map((each) => each.textContent)"


@dataclass
class Server:
    """A running stack that keeps its port and data folder over a restart."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://localhost:{self.port}/"

    def start(self) -> None:
        command = [str(COMMAND), "run", "--port", str(self.port), "--data", str(self.folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
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
        body = {"query": query, "variables": variables}
        answer = httpx.post(f"{self.url}graphql", json=body, headers={"x-api-key": "local-admin"}).json()
        assert "errors" not in answer, answer
        return answer["data"]

    def create(self, board_id: str, **options: Any) -> None:
        self.ask(CREATE, input={"id": board_id, **options})

    def submit(self, board_id: str, scores: dict[str, int], **names: str) -> None:
        """Submit a score for each participant; `names` are their display names."""
        inputs = [
            {
                "leaderboardId": board_id,
                "participantId": who,
                "score": str(score),
                "displayName": names.get(who),
            }
            for who, score in scores.items()
        ]
        outcomes = self.ask(SUBMIT, inputs=inputs)["submitScores"]
        assert all(outcome["errorType"] is None for outcome in outcomes), outcomes

    def _is_up(self) -> bool:
        try:
            return httpx.get(f"{self.url}health").status_code == 200
        except httpx.TransportError:
            return False


@pytest.fixture(scope="module")
def devtools(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    command = browser.find(AXE, "axe-core")
    with browser.started(command, tmp_path_factory.mktemp("browser")) as devtools:
        yield devtools


@contextmanager
def running(folder: Path) -> Iterator[Server]:
    server = Server(folder, free_port())
    server.start()
    try:
        yield server
    finally:
        server.end()


@pytest.fixture(scope="module")
def server(devtools: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running(tmp_path_factory.mktemp("data")) as server:
        yield server


@pytest.fixture
def page(devtools: str) -> Iterator[Window]:
    with window(devtools) as page:
        yield page
        assert page.complaints == []


def board(server: Server, board_id: str) -> str:
    return f"{server.url}#/boards/{board_id}"


def test_a_first_start_is_one_click_from_a_board_that_moves(tmp_path: Path, page: Window) -> None:
    with running(tmp_path) as server:
        page.show(server.url)
        page.until_text("There is no board yet")
        page.click("Load the Formula 1 demo")
        page.until("location.hash === '#/boards/season-2008'")
        page.until_text("Formula 1 season 2008", "Loading the Formula 1 demo")
        page.until(f"{TOP}.length > 10")
        page.until("document.querySelector('.move.up') && document.querySelector('.move.down')", 30)
        page.until("document.querySelector('.connection').dataset.state === 'live'")
        assert page.evaluate("document.querySelectorAll('.chart canvas').length") == 1
        page.until(f"{TOP}[0] === 'Lewis Hamilton' && {TOP}[1] === 'Felipe Massa'", 60)
        page.show("about:blank")


def test_another_origins_page_cannot_load_the_demo(server: Server) -> None:
    headers = {"x-api-key": "local-admin", "origin": "https://evil.example"}
    assert httpx.post(f"{server.url}console/demo", headers=headers).status_code == 403


def test_two_windows_see_each_others_changes_within_two_seconds(
    server: Server, page: Window, devtools: str, record_property: Callable[[str, object], None]
) -> None:
    server.create("race")
    server.submit("race", {"ann": 5, "bob": 4})
    with window(devtools) as other:
        for each in (page, other):
            each.show(board(server, "race"))
            each.until(f"{TOP}.join() === 'ann,bob'")
        delays = []
        changes = ((page, other, "bob"), (other, page, "ann"), (page, other, "bob"))
        for score, (each, watcher, who) in enumerate(changes, start=6):
            each.click("Submit score")
            each.until("document.activeElement.name === 'participantId'")
            each.type(who)
            each.tab_to("Score")
            each.type(str(score))
            each.press("Enter")
            start = time.monotonic()
            watcher.until(f"{TOP}[0] === '{who}'")
            delays.append(time.monotonic() - start)
            watcher.until("document.querySelector('.move.up')?.textContent.includes('up 1')")
            each.until("!document.querySelector('dialog')")
        record_property("seconds until the other window shows it", str(delays))
        assert statistics.median(delays) < 2
        assert other.complaints == []


def test_a_board_is_created_by_keyboard_alone(server: Server, page: Window) -> None:
    page.show(server.url)
    page.until_text("New board")
    page.tab_to("New board")
    page.press("Enter")
    page.until("document.querySelector('h1')?.textContent === 'New board'")
    page.tab_to("Id")
    page.type("by-keys")
    page.tab_to("Title")
    page.type("By keys")
    page.tab_to("Best")  # the policy: arrows choose another
    page.until("document.activeElement.tagName === 'SELECT'")
    page.tab_to("Best")
    page.press("ArrowDown", "ArrowDown")
    page.tab_to("Daily")
    page.press(" ")
    page.tab_to("Create board")
    page.press("Enter")
    page.until("location.hash === '#/boards/by-keys'")
    page.until_text("By keys", "No entries yet", "Board created.")
    stored = server.ask('{ leaderboard(id: "by-keys") { title policy periods } }')["leaderboard"]
    assert stored == {"title": "By keys", "policy": "SUM", "periods": ["ALL_TIME", "DAILY"]}


def test_a_form_that_is_refused_says_why(server: Server, page: Window) -> None:
    server.create("taken")
    page.show(f"{server.url}#/create")
    page.until("document.querySelector('input[name=id]')")
    page.evaluate("document.querySelector('input[name=id]').focus()")
    page.type("taken")
    page.press("Enter")
    page.until_text("LeaderboardExists")


def test_names_with_markup_show_as_text(server: Server, page: Window) -> None:
    server.create("markup", title=MARKUP, rankBuckets=[{"name": MARKUP, "to": 1}, {"name": "rest"}])
    server.submit("markup", {MARKUP: 3, "rtl": 2}, **{MARKUP: MARKUP, "rtl": RIGHT_TO_LEFT})
    for path, title in (("boards/markup", MARKUP), ("participants/rtl", RIGHT_TO_LEFT), ("boards", "Boards")):
        page.show("about:blank")
        page.show(f"{server.url}#/{path}")
        page.until(f"document.querySelector('h1')?.textContent === {json.dumps(title)}")
        page.until_text(MARKUP)
        assert (
            page.evaluate(
                "[...document.querySelectorAll('img')].filter((each) => !each.closest('.brand')).length"
            )
            == 0
        )
        assert page.evaluate("document.title").endswith("Leaderboard")
    page.show(board(server, "markup"))
    page.until(f"{TOP}.length === 2")
    assert page.evaluate(TOP) == [MARKUP, RIGHT_TO_LEFT]
    assert page.evaluate("[...document.querySelectorAll('.name')].every((each) => each.tagName === 'BDI')")
    page.click(MARKUP)
    page.until("location.hash.startsWith('#/participants/')")
    page.until("document.querySelector('h1 bdi')?.textContent.startsWith('<img')")


def test_a_place_a_participant_and_a_score_are_found(server: Server, page: Window) -> None:
    server.create("many")
    server.submit("many", {f"p{number}": 1000 - number for number in range(100)})
    page.show(board(server, "many"))
    page.until(f"{TOP}.length === 25")
    found = "document.querySelector('.around tr[aria-current]')?.innerText ?? ''"
    fill(page, "Place", "61")
    page.click("Jump")
    page.until(f"{found}.includes('p60')")
    page.until_text("Places 57 to 65")
    page.click("Worse places")
    page.until(f"{found}.includes('p69')")
    fill(page, "Participant id", "p42")
    page.click("Find")
    page.until(f"{found}.includes('p42')")
    fill(page, "What a score would be worth", "990")
    page.click("Rank it")
    page.until("/Rank 11 of 101/.test(document.querySelector('.worth')?.innerText)")
    fill(page, "Place", "5000")
    page.click("Jump")
    page.until_text("There is no place 5,000")
    page.click("Show the best 100")
    page.until(f"{TOP}.length === 100")
    page.click("As a table")
    counts = "[...document.querySelectorAll('table[aria-label=Distribution] td:nth-child(3)')]"
    assert page.evaluate(f"{counts}.reduce((sum, each) => sum + Number(each.textContent), 0)") == 100


def test_periods_are_walked_back_and_forth(server: Server, page: Window) -> None:
    server.create("periods", periods=["DAILY", "WEEKLY"])
    server.submit("periods", {"ann": 1})
    page.show(board(server, "periods"))
    page.until(f"{TOP}.length === 1")
    page.click("Week")
    page.until(f"document.querySelector('.period-key').textContent.includes('weekly-') && {TOP}.length === 1")
    page.click("The period before")
    page.until_text("No entries yet", "as it ended")
    page.click("The period after")
    page.until(f"{TOP}.length === 1")


def test_what_operators_do(server: Server, page: Window) -> None:
    """Each with its confirmation, and the API has it afterwards."""
    server.create("ops")
    server.submit("ops", {"olga": 3, "oscar": 2, "otto": 1})
    page.show(f"{server.url}#/participants/oscar?board=ops")
    page.click("Correct")
    for name, text in (("Score", "9"), ("Reason", "a typing error")):
        page.tab_to(name)
        page.type(text)
    page.press("Enter")
    page.until_text("Score corrected.")
    page.until("document.querySelector('.facts dd')?.textContent === '1'")
    for action, verb, text in (
        ("Hide", "Hide", "Participant hidden."),
        ("Restore", "Restore", "Participant restored."),
        ("Remove", "Remove", "Participant removed from the board."),
    ):
        page.click(action, "main")
        page.click(verb, "dialog")
        page.until_text(text)
        page.until("!document.querySelector('dialog')")
    page.until_text("No such participant")

    page.show(f"{server.url}#/participants/otto")
    page.click("Forget everywhere")
    page.until("document.querySelector('dialog .danger').disabled")
    page.tab_to("Type otto")
    page.type("otto")
    page.click("Forget", "dialog")
    page.until_text("Forgotten; entries removed: 1.")

    page.show(board(server, "ops"))
    page.click("Archive")
    page.click("Archive", "dialog")
    page.until_text("Standings archived.")
    page.until("document.querySelector('.archive summary')?.innerText.includes('1 entry')")
    page.click("Close", "main")
    page.click("Close board")
    page.until_text("Board closed.")
    page.until("document.querySelector('.view-head .primary').disabled")
    page.click("Reopen", "main")
    page.click("Reopen board")
    page.until_text("Board reopened.")
    page.click("Delete", "main")
    page.tab_to("Type ops")
    page.type("ops")
    page.click("Delete board")
    page.until("location.hash === '#/boards'")
    page.until_text("Board deleted")
    boards = server.ask("{ leaderboards { items { id } } }")["leaderboards"]["items"]
    assert {"id": "ops"} not in boards


def test_rank_bucket_changes_show_as_they_come(server: Server, page: Window) -> None:
    server.create("events", rankBuckets=[{"name": "first", "to": 1}, {"name": "rest"}])
    server.submit("events", {"ann": 3})
    page.show(f"{server.url}#/participants/ann")
    page.until_text("Live events", "first")
    page.until("document.querySelector('.connection').dataset.state === 'live'")
    time.sleep(1)  # graphql-transport-ws does not acknowledge a subscription
    server.submit("events", {"bob": 4})
    page.until("/first → rest/.test(document.querySelector('.events')?.innerText)")
    page.until("/by others/.test(document.querySelector('.events').innerText)")


def test_what_requests_cost_and_their_graphql(server: Server, page: Window) -> None:
    server.create("costs")
    page.show(board(server, "costs"))
    page.until("/units? · \\d+ requests? · \\d+ ms/.test(document.querySelector('main .cost')?.innerText)")
    page.until("document.querySelector('main .card.main .cost')")
    page.evaluate("document.querySelector('main .card.main .cost').click()")
    page.until("document.querySelector('.panel details[open] pre')?.innerText.startsWith('query Standings')")
    page.press("Escape")
    page.until("!document.querySelector('.panel')")
    page.click("Public")
    page.until("![...document.querySelectorAll('main button')].some((each) => each.innerText === 'Delete')")
    page.until("/^\\d+ ms$/.test(document.querySelector('main .cost')?.innerText)")
    page.click("Operator")


def test_the_page_recovers_after_the_servers_restart(server: Server, page: Window) -> None:
    server.create("lasting")
    server.submit("lasting", {"ann": 1})
    page.show(board(server, "lasting"))
    page.until(f"{TOP}.join() === 'ann'")
    page.until("document.querySelector('.connection').dataset.state === 'live'")
    server.end()
    page.until_text("The connection is lost", "Reconnecting")
    assert page.evaluate(TOP) == ["ann"]  # what was known stays
    server.start()
    server.submit("lasting", {"bob": 2})
    page.until(f"{TOP}.join() === 'bob,ann'")
    page.until("document.querySelector('.connection').dataset.state === 'live'")
    time.sleep(0.5)
    server.submit("lasting", {"ann": 3})
    page.until(f"{TOP}.join() === 'ann,bob'", 5)
    page.complaints = [each for each in page.complaints if "ERR_CONNECTION" not in each]  # the browser's own


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_serious_is_found_in_accessibility(server: Server, page: Window, dark: bool) -> None:
    """Every view, on a desktop and a phone; none is wider than its window."""
    name = f"axe-{dark}"
    server.create(name, periods=["ALL_TIME", "DAILY"])
    server.submit(name, {f"p{number}": number for number in range(30)})
    views = ("boards", f"boards/{name}?participant=p7", "participants/p7", "create", "connect", "boards/none")
    for view in views:
        for size in ((1280, 900), PHONE):
            page.look(dark=dark, size=size)
            page.show("about:blank")
            page.show(f"{server.url}#/{view}")
            page.until("document.querySelector('main .view') && !document.querySelector('.loading')")
            assert page.accessibility_faults() == [], (view, size)
            assert page.evaluate("document.documentElement.scrollWidth") <= size[0], (view, size)
    page.show(board(server, name))
    page.click("Submit score")
    page.until("document.querySelector('dialog')")
    assert page.accessibility_faults() == []
    page.press("Escape")
    page.evaluate("document.querySelector('main .cost').click()")
    page.until("document.querySelector('.panel')")
    assert page.accessibility_faults() == []


def fill(page: Window, label: str, text: str) -> None:
    """Put a text into the input with this label."""
    found = f"[...document.querySelectorAll('label')].find((each) => each.textContent === {label!r})"
    page.evaluate(f"{found}.control.select()")
    page.type(text)
