"""The console: static files at GET / and below /console, and the demo that its first page offers."""

import base64
import hashlib
import re
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from local import NODE_MODULES
from local.server.demo import Demo
from resolvers.http import Backend
from resolvers.request.auth import NotAuthenticated, Role

_FOLDER = Path(__file__).parents[1] / "console_page"
# The page's import map names them.
_PACKAGES = {
    "preact.js": NODE_MODULES / "preact/dist/preact.mjs",
    "preact-hooks.js": NODE_MODULES / "preact/hooks/dist/hooks.mjs",
    "htm.js": NODE_MODULES / "htm/dist/htm.mjs",
    "htm-preact.js": NODE_MODULES / "htm/preact/index.mjs",
    "graphql-ws.js": NODE_MODULES / "graphql-ws/dist/client.js",
    "common-CGW11Fyb.js": NODE_MODULES / "graphql-ws/dist/common-CGW11Fyb.js",  # graphql-ws.js imports it
    "uplot.js": NODE_MODULES / "uplot/dist/uPlot.esm.js",
    "uplot.css": NODE_MODULES / "uplot/dist/uPlot.min.css",
}
_HEADERS = {
    "Cache-Control": "no-cache",  # a newer version of the project shows at once
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_IMPORT_MAP = re.compile(r'<script type="importmap">(.*?)</script>', re.DOTALL)


def page() -> Response | None:
    """Return the page; None if npm's files are missing."""
    if not all(path.exists() for path in _PACKAGES.values()):
        return None
    text = (_FOLDER / "index.html").read_text()
    # Vary: the same path returns JSON to other clients.
    headers = _HEADERS | {"Content-Security-Policy": _policy(text), "Vary": "Accept"}
    return HTMLResponse(text, headers=headers)


def routes(backend: Backend) -> list[BaseRoute]:
    """Return the routes of the page's files, and of the demo: GET tells how far it is, POST starts it."""
    demo = Demo(backend.db, backend.boards)

    async def load_demo(request: Request) -> Response:
        try:
            role = backend.caller(request).role
        except NotAuthenticated as refusal:
            return JSONResponse({"message": str(refusal)}, 401)
        if role is not Role.ADMIN:
            return JSONResponse({"message": "the demo is an operator's to load"}, 403)
        if request.method == "POST":
            demo.start()
        return JSONResponse(demo.progress())

    return [
        Route("/console/demo", load_demo, methods=["GET", "POST"]),
        Route("/console/npm/{name}", _package),
        Mount("/console", _Files(directory=_FOLDER)),
    ]


def _policy(text: str) -> str:
    """Return the Content-Security-Policy: the project's own files alone, and the import map by its hash."""
    import_map = _IMPORT_MAP.search(text)
    digest = hashlib.sha256(import_map[1].encode() if import_map else b"").digest()
    return (
        f"default-src 'none'; script-src 'self' 'sha256-{base64.b64encode(digest).decode()}'; "
        "style-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def _package(request: Request) -> Response:
    path = _PACKAGES.get(request.path_params["name"])
    if path is None or not path.exists():
        return Response(status_code=404)
    media_type = "text/css" if path.suffix == ".css" else "text/javascript"
    return FileResponse(path, headers=_HEADERS, media_type=media_type)


class _Files(StaticFiles):
    """The folder's files, checked for a newer version at each request."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """Return a file with the headers that all have."""
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response
