"""The console's files and the demo over HTTP. What a browser makes of them: tests/local/test_console.py."""

import asyncio
import time
from functools import partial
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from core.boards import Boards
from core.domain.periods import ALL_TIME
from core.ranking.queries import top
from core.storage.database import Database
from local import ADMIN_KEY, PUBLIC_KEY
from local.importing import f1
from local.server import console, home
from local.server.demo import Demo
from resolvers.http import Backend
from resolvers.request.auth import Credentials, Role
from tests.support.stacks import stack_of

KEYS = Credentials({ADMIN_KEY: Role.ADMIN, PUBLIC_KEY: Role.PUBLIC})


def send(db: Database, boards: Boards, method: str, path: str, **headers: str) -> httpx.Response:
    backend = Backend(db, boards, KEYS)
    app = Starlette(routes=[*home.routes(db, "http://localhost/graphql"), *console.routes(backend)])

    async def answer() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return await client.request(method, path, headers=named)

    return asyncio.run(answer())


def test_only_the_projects_own_files_run_in_the_page(db: Database, boards: Boards) -> None:
    page = send(db, boards, "GET", "/", accept="text/html,*/*")
    policy = page.headers["content-security-policy"]
    assert "script-src 'self' 'sha256-" in policy
    assert "unsafe" not in policy
    assert "http" not in page.text.replace("http-equiv", "")  # nothing from elsewhere
    assert page.headers["vary"] == "Accept"


def test_the_pages_files_are_served_and_no_others(db: Database, boards: Boards) -> None:
    get = partial(send, db, boards, "GET")
    for path in ("app.js", "theme.css", "views/board.js", "npm/preact.js", "npm/uplot.css"):
        file = get(f"/console/{path}")
        assert (file.status_code, file.headers["x-content-type-options"]) == (200, "nosniff")
        assert file.headers["content-type"].split(";")[0] in ("text/javascript", "text/css")
    for path in ("%2e%2e/cli.py", "npm/package.json", "npm/%2e%2e/package.json", "views", "nothing.js"):
        assert get(f"/console/{path}").status_code == 404


def test_the_demo_is_an_operators_to_load(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Demo] = []

    def start(self: Demo) -> None:
        started.append(self)

    monkeypatch.setattr(Demo, "start", start)
    assert send(db, boards, "POST", "/console/demo").status_code == 401
    assert send(db, boards, "POST", "/console/demo", x_api_key="guess").status_code == 401
    assert send(db, boards, "POST", "/console/demo", x_api_key=PUBLIC_KEY).status_code == 403
    assert send(db, boards, "GET", "/console/demo", x_api_key=ADMIN_KEY).json()["state"] == "idle"
    assert not started
    assert send(db, boards, "POST", "/console/demo", x_api_key=ADMIN_KEY).status_code == 200
    assert len(started) == 1


def finished(loading: Demo) -> dict[str, Any]:
    start = time.monotonic()
    while loading.progress()["state"] == "running":
        assert time.monotonic() - start < 60
        time.sleep(0.01)
    return loading.progress()


def test_the_demo_is_loaded_once(db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = f1.load().of([2008])
    loads: list[f1.Archive] = []

    def load() -> f1.Archive:
        loads.append(archive)
        return archive

    monkeypatch.setattr(f1, "load", load)
    loading = Demo(db, boards, seconds_a_race=0.001)
    loading.start()
    loading.start()  # while it runs
    progress = finished(loading)
    assert len(loads) == 1
    assert (progress["state"], progress["done"]) == ("done", progress["total"])
    stack_of(db, boards).drain()
    board = boards.get(progress["board"])
    best = top(db, board, ALL_TIME, 3)
    assert [entry.participant_id for entry in best] == ["hamilton", "massa", "raikkonen"]

    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("a season that is there is not played again"))
    loading._import()
    assert top(db, board, ALL_TIME, 3) == best


def test_a_demo_that_fails_says_why_and_can_be_started_again(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OSError("no such file")

    monkeypatch.setattr(f1, "load", fail)
    loading = Demo(db, boards)
    for _ in range(2):
        loading.start()
        progress = finished(loading)
        assert (progress["state"], progress["message"]) == ("failed", "no such file")
