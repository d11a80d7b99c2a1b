"""GET / and GET /health: the console or where everything is, and whether the engine answers."""

import asyncio
import html
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio.to_thread
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Route

from core.storage.database import Database
from local import ADMIN_KEY, PUBLIC_KEY
from local.server import console

_HEALTH_SECONDS = 2.0
_PAGE = """\
<!doctype html>
<html lang="en">
  <head><meta charset="utf-8"><title>Leaderboard</title><link rel="icon" href="data:,"></head>
  <body><h1>Leaderboard</h1><table>{rows}</table>
  <p>The console is not installed: <code>make setup</code> fetches its libraries with npm.</p></body>
</html>
"""


def routes(db: Database, url: str) -> list[BaseRoute]:
    """Return the routes of both paths; `url` is GraphQL's."""
    origin = url.removesuffix("/graphql")
    places = {
        "console": f"{origin}/ (in a browser)",
        "graphql": f"{url} (POST; subscriptions by WebSocket)",
        "graphiql": f"{url} (in a browser)",
        "health": f"{origin}/health",
        "administrator": f"x-api-key: {ADMIN_KEY}",
        "client": f"x-api-key: {PUBLIC_KEY}",
        "participant": "Authorization: JWT, which `leaderboard token PARTICIPANT` prints",
        "server": "Authorization: AWS Signature Version 4, with any credentials",
        "documentation": "README.md and docs/; GraphiQL describes every field",
    }

    def home(request: Request) -> Response:
        if "text/html" in request.headers.get("accept", ""):
            return console.page() or HTMLResponse(_PAGE.format(rows="".join(_rows(places))))
        return JSONResponse(places, headers={"Vary": "Accept"})

    async def health(_: Request) -> Response:
        try:
            async with asyncio.timeout(_HEALTH_SECONDS):
                await anyio.to_thread.run_sync(partial(_read_a_board, db), abandon_on_cancel=True)
        except Exception as error:  # the answer is the same whatever it is
            cause = str(error) or "no answer in time"
            return JSONResponse({"status": "the engine does not answer", "cause": cause}, 503)
        return JSONResponse({"status": "ok"})

    return [Route("/", home), Route("/health", health)]


def _read_a_board(db: Database) -> Any:
    keys = [{"board": {"S": "~health"}}]  # which no board has
    return db.client.batch_get_item(RequestItems={db.tables.boards: {"Keys": keys}})


def _rows(places: Mapping[str, str]) -> list[str]:
    return [f"<tr><th>{name}</th><td>{_linked(text)}</td></tr>" for name, text in places.items()]


def _linked(text: str) -> str:
    url, _, rest = html.escape(text).partition(" ")
    return f'<a href="{url}">{url}</a> {rest}' if url.startswith("http") else f"{url} {rest}"
