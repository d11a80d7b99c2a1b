"""A server with WebSockets on a real port, publishing on it, and a client that sends single messages."""

import asyncio
import base64
import json
import threading
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, Self
from urllib.parse import urlencode

import httpx
import uvicorn
from websockets.asyncio.client import ClientConnection, connect

from core.boards import Boards
from core.storage.database import Database, Tables
from core.storage.database import connect as connect_database
from core.storage.tables import create_tables
from local.server import sockets, tokens, web
from local.server.signed import LocalCredentials
from local.stack.engine import Engine
from local.stack.roles import ActingAs, enforce
from resolvers.http import Backend, serve
from resolvers.request.hub import Hub
from tests.support.graphql_api import KEYS

SECRET = "a secret of at least thirty-two bytes"
PUBLIC = {"host": "localhost", "x-api-key": "public"}
FIELDS = (
    "leaderboardId participantId period periodAlias previousBucket bucket previousRank rank cause version at"
)
TOP_FIELDS = (
    "leaderboardId period periodAlias version at "
    "entries { rank participantId displayName score { value number display } achievedAt }"
)
PUBLISH = "mutation ($input: RankBucketChangeInput!) { publishRankBucketChange(input: $input) { FIELDS } }"
PUBLISH_TOP = "mutation ($input: TopChangeInput!) { publishTopChange(input: $input) { FIELDS } }"
WATCH = (
    "subscription ($board: ID!, $who: ID!) { "
    f"onRankBucketChange(leaderboardId: $board, participantId: $who) {{ {FIELDS} }} }}"
)
WATCH_TOP = f'subscription {{ onTopChange(leaderboardId: "board", period: "all-time") {{ {TOP_FIELDS} }} }}'
AT = "2026-11-30T12:00:00Z"


def token(participant: str, lasts_seconds: float = 60) -> str:
    """Return a token for a participant."""
    return tokens.mint(SECRET, participant, lasts_seconds)


def change(participant: str = "ann", version: int = 1, **changes: Any) -> dict[str, Any]:
    """Return a rank bucket change as the publisher sends it."""
    return {
        "leaderboardId": "board",
        "participantId": participant,
        "period": "all-time",
        "periodAlias": None,
        "previousBucket": "Top 3",
        "bucket": "Top 10",
        "previousRank": 3,
        "rank": 4,
        "cause": "OTHERS",
        "version": str(version),
        "at": AT,
        **changes,
    }


def top_change(**changes: Any) -> dict[str, Any]:
    """Return a top change as the publisher sends it."""
    return {
        "leaderboardId": "board",
        "period": "all-time",
        "periodAlias": None,
        "entries": [top_row()],
        "version": "1",
        "at": AT,
        **changes,
    }


def top_row(participant: str = "x", **changes: Any) -> dict[str, Any]:
    """Return a row of a top change."""
    return {
        "rank": 1,
        "participantId": participant,
        "displayName": '"ü',
        "score": {"value": ["62"], "number": 62.0, "display": "1:02"},
        "achievedAt": AT,
        **changes,
    }


class Live:
    """A running server, queried over HTTP as ADMIN by default."""

    def __init__(self, port: int, hub: Hub) -> None:
        self.host = f"127.0.0.1:{port}"
        self.url = f"http://{self.host}/graphql"
        self.hub = hub
        self._http = httpx.Client(timeout=30)

    def ask(self, query: str, *, key: str = "admin", **variables: Any) -> dict[str, Any]:
        """Send a request and return the whole response."""
        body = {"query": query, "variables": variables}
        answer = self._http.post(self.url, json=body, headers={"x-api-key": key})
        response: dict[str, Any] = answer.json()
        return response

    def board(self, board_id: str = "board", **rules: Any) -> None:
        """Create a board."""
        query = "mutation ($input: CreateLeaderboardInput!) { createLeaderboard(input: $input) { id } }"
        assert "errors" not in self.ask(query, input={"id": board_id, **rules})

    def publish(self, event: Mapping[str, Any], selected: str = FIELDS) -> None:
        """Publish a rank bucket change, as the publisher does."""
        response = self.ask(PUBLISH.replace("FIELDS", selected), input=event)
        assert "errors" not in response, response

    def publish_top(self, event: Mapping[str, Any]) -> None:
        """Publish a top change."""
        response = self.ask(PUBLISH_TOP.replace("FIELDS", TOP_FIELDS), input=event)
        assert "errors" not in response, response

    def wait_for_no_subscriptions(self) -> None:
        """Wait until no subscription is left."""
        start = time.monotonic()
        while self.hub.count():
            assert time.monotonic() - start < 20, f"{self.hub.count()} subscriptions are left"
            time.sleep(0.01)


@contextmanager
def live_alone(engine: Engine, **sizes: Any) -> Iterator[Live]:
    """Run a server on new tables, with the board "board"."""
    tables = Tables.with_prefix(f"live-{uuid.uuid4().hex[:12]}")
    db = connect_database(
        tables, region="us-east-1", endpoint_url=engine.endpoint, access_key="local", secret_key="local"
    )
    create_tables(db)
    enforce(db)
    with live(db, Boards(db, cache_seconds=0), **sizes) as running:
        running.board()
        yield running


@contextmanager
def live(db: Database, boards: Boards, *, port: int = 0, **sizes: Any) -> Iterator[Live]:
    """Run a server until the block ends."""
    backend = Backend(db, boards, LocalCredentials(KEYS, partial(tokens.read, SECRET)))
    app = serve(backend)
    app.add_middleware(ActingAs, role="http")
    app.router.routes[:0] = sockets.routes(backend, **sizes)
    server = uvicorn.Server(web.config(app, port=port))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield Live(server.servers[0].sockets[0].getsockname()[1], backend.hub)
    finally:
        server.should_exit = True
        thread.join()


class Socket:
    """A client of AppSync's protocol that sends message by message."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        to: Live,
        headers: Mapping[str, str] = PUBLIC,
        *,
        path: str = "/graphql",
        form: str = "subprotocol",
    ) -> AsyncIterator[Self]:
        """Connect, with the credentials in one of the forms that clients use."""
        text = json.dumps(headers).encode()
        url, protocols, plain = f"ws://{to.host}{path}", ["graphql-ws"], {}
        if form == "query":  # as gql does, with "+", "/" and "=" not escaped
            url += f"?header={base64.b64encode(text).decode()}&payload=e30="
        elif form == "escaped query":
            url += "?" + urlencode({"header": base64.b64encode(text).decode(), "payload": "e30="})
        elif form == "transport-ws":
            protocols = ["graphql-transport-ws"]
        elif form == "subprotocol":  # as Amplify does
            protocols.append("header-" + base64.urlsafe_b64encode(text).decode().rstrip("="))
        else:
            plain = {name: value for name, value in headers.items() if name != "host"}
        async with connect(url, subprotocols=protocols, additional_headers=plain) as connection:  # type: ignore[arg-type]
            yield cls(connection)

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send a message."""
        await self.connection.send(json.dumps(message))

    async def receive(self, timeout: float = 10) -> dict[str, Any]:
        """Return the next message that is no keep-alive."""
        while True:
            message: dict[str, Any] = json.loads(await asyncio.wait_for(self.connection.recv(), timeout))
            if message != {"type": "ka"}:
                return message

    async def init(self) -> dict[str, Any]:
        """Send connection_init and return the answer."""
        await self.send({"type": "connection_init"})
        return await self.receive()

    async def start(
        self, id_: str, query: str = WATCH, authorization: Mapping[str, str] = PUBLIC, **variables: Any
    ) -> dict[str, Any]:
        """Start a subscription and return the answer."""
        data = json.dumps({"query": query, "variables": variables})
        payload = {"data": data, "extensions": {"authorization": authorization}}
        await self.send({"id": id_, "type": "start", "payload": payload})
        return await self.receive()

    async def stop(self, id_: str) -> dict[str, Any]:
        """Stop a subscription and return the answer."""
        await self.send({"id": id_, "type": "stop"})
        return await self.receive()
