"""GET / and GET /health of the local stack."""

import asyncio
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from core.storage.database import Database
from local.server import console, home
from local.stack.engine import free_port
from local.stack.roles import ActingAs
from local.stack.target import connect_local

URL = "http://localhost:8080/graphql"


def get(db: Database, path: str, accept: str = "*/*") -> httpx.Response:
    app = Starlette(routes=home.routes(db, URL))
    app.add_middleware(ActingAs, role="http")

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            return await http.get(path, headers={"accept": accept})

    return asyncio.run(ask())


def test_the_first_page_says_where_everything_is(db: Database) -> None:
    places: dict[str, Any] = get(db, "/").json()
    assert URL in places["graphiql"]
    text = " ".join(places.values())
    assert all(
        word in text for word in ("local-admin", "local-public", "leaderboard token", "/health", "docs/")
    )


def test_without_the_consoles_libraries_a_browser_gets_a_table(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "_PACKAGES", {"preact.js": tmp_path / "missing"})
    page = get(db, "/", "text/html,*/*")
    assert page.headers["content-type"].startswith("text/html")
    assert "make setup" in page.text
    assert f'<a href="{URL}">' in page.text
    assert "local-admin" in page.text


def test_health_is_ok_while_the_engine_answers(db: Database) -> None:
    answer = get(db, "/health")
    assert (answer.status_code, answer.json()) == (200, {"status": "ok"})


def test_health_is_not_ok_when_the_engine_does_not_answer() -> None:
    answer = get(connect_local(f"http://127.0.0.1:{free_port()}"), "/health")
    assert answer.status_code == 503
    assert answer.json()["status"] != "ok"


def test_health_does_not_wait_for_a_stuck_engine(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:

    monkeypatch.setattr(home, "_HEALTH_SECONDS", 0.1)
    monkeypatch.setattr(home, "_read_a_board", lambda _: time.sleep(3))
    start = time.monotonic()
    assert get(db, "/health").status_code == 503
    assert time.monotonic() - start < 2
