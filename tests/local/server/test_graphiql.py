"""GraphiQL's page when its files are missing. With them, see test_main."""

import asyncio
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette

from local.server import graphiql


def test_without_its_files_the_page_says_how_to_fetch_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graphiql, "_ASSETS", {"graphiql.js": tmp_path / "missing"})
    app = Starlette(routes=graphiql.routes())

    async def get(path: str) -> httpx.Response:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://local") as client:
            return await client.get(path, headers={"Accept": "text/html"})

    page = asyncio.run(get("/graphql"))
    assert page.status_code == 200
    assert "make setup" in page.text
    assert asyncio.run(get("/graphiql/graphiql.js")).status_code == 404
