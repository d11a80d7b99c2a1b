"""A client of the GraphQL endpoint that signs in as a participant, too."""

from functools import partial
from typing import Any

import httpx

from core.boards import Boards
from core.storage.database import Database
from local.server import tokens
from resolvers.http import Backend, serve
from resolvers.request.auth import Credentials
from tests.support.graphql_api import KEYS, SUBMIT, Api
from tests.support.live import SECRET, token


class Clients(Api):
    """Sends an API key, or a participant's token if the key is a participant's id."""

    def __init__(self, db: Database, boards: Boards) -> None:
        super().__init__(db, boards)
        self._app = serve(Backend(db, boards, Credentials(KEYS, partial(tokens.read, SECRET))))

    def request(self, method: str, path: str = "/graphql", **parts: Any) -> httpx.Response:
        who = parts["headers"]["x-api-key"]
        if who not in KEYS:
            del parts["headers"]["x-api-key"]
            parts["headers"]["authorization"] = token(who)
        return super().request(method, path, **parts)

    def attempt(self, who: str, participant: str) -> tuple[str, str] | None:
        """Submit a score as a caller for a participant; return the refusal."""
        attempt = {"leaderboardId": "board", "participantId": participant, "score": ["9"]}
        response = self.ask(SUBMIT, key=who, input=attempt)
        if "errors" not in response:
            return None
        (error,) = response["errors"]
        return error["errorType"], error["message"]
