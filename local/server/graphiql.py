"""GraphiQL, served from the files that `make setup` fetched, not from a CDN."""

import json

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import Scope

from local import ADMIN_KEY, NODE_MODULES

_ASSETS = {
    "graphiql.css": NODE_MODULES / "graphiql" / "graphiql.min.css",
    "graphiql.js": NODE_MODULES / "graphiql" / "graphiql.min.js",
    "react.js": NODE_MODULES / "react" / "umd" / "react.production.min.js",
    "react-dom.js": NODE_MODULES / "react-dom" / "umd" / "react-dom.production.min.js",
}
_FIRST_QUERY = """\
# The top of each board. The key below
# allows everything; "local-public"
# allows what public clients may do.
query Boards {
  leaderboards(limit: 10) {
    items {
      id
      title
      size
      top(limit: 5) {
        participant { id displayName }
        score { display }
        rank { rank bucket { name } }
      }
    }
  }
}
"""
_PAGE = """\
<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <title>Leaderboard</title>
    <link rel="icon" href="data:,">
    <style>html, body, #graphiql { height: 100%; margin: 0 }</style>
    <link rel="stylesheet" href="/graphiql/graphiql.css">
  </head>
  <body>
    <div id="graphiql"></div>
    <script src="/graphiql/react.js"></script>
    <script src="/graphiql/react-dom.js"></script>
    <script src="/graphiql/graphiql.js"></script>
    <script>
      ReactDOM.createRoot(document.getElementById("graphiql")).render(
        React.createElement(GraphiQL, {
          fetcher: GraphiQL.createFetcher({
            url: "/graphql",
            subscriptionUrl: location.origin.replace("http", "ws") + "/graphql",
            wsConnectionParams: JSON.parse(HEADERS),
          }),
          defaultHeaders: HEADERS,
          defaultQuery: QUERY,
          defaultEditorToolsVisibility: "headers",
        }),
      )
    </script>
  </body>
</html>
"""
_PAGE_WITHOUT_ASSETS = """\
<!doctype html>
<title>Leaderboard</title>
<p>GraphiQL is not installed: <code>make setup</code> fetches it with npm. The API works without it, at
<code>POST /graphql</code>.
"""


def routes() -> list[BaseRoute]:
    """Return the routes of GraphiQL's files and its page, GET /graphql for clients that accept HTML."""
    return [_PageRoute("/graphql", _page, methods=["GET"]), Route("/graphiql/{name}", _asset)]


class _PageRoute(Route):
    """Matches requests that accept HTML; GraphQL over GET keeps the path for all others."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if scope["type"] != "http" or "text/html" not in Request(scope).headers.get("accept", ""):
            return Match.NONE, {}
        match, child_scope = super().matches(scope)
        return (match, child_scope) if match is Match.FULL else (Match.NONE, {})


def _page(_: Request) -> Response:
    if not all(path.exists() for path in _ASSETS.values()):
        return HTMLResponse(_PAGE_WITHOUT_ASSETS)
    headers = json.dumps({"x-api-key": ADMIN_KEY}, indent=2)
    page = _PAGE.replace("HEADERS", json.dumps(headers)).replace("QUERY", json.dumps(_FIRST_QUERY))
    return HTMLResponse(page)


def _asset(request: Request) -> Response:
    path = _ASSETS.get(request.path_params["name"])
    if path is None or not path.exists():
        return Response(status_code=404)
    return FileResponse(path, headers={"Cache-Control": "max-age=86400"})
