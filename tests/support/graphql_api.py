"""A client of the GraphQL endpoint for tests: HTTP requests to the real application."""

import asyncio
import json
from typing import Any

import httpx

from core.boards import Boards
from core.storage.database import Database
from local.stack.roles import acting_as
from resolvers.http import Backend, serve
from resolvers.request.auth import Credentials, Role

KEYS = {"admin": Role.ADMIN, "public": Role.PUBLIC}
SUBMIT = """
mutation ($input: SubmitScoreInput!) {
  submitScore(input: $input) {
    accepted
    duplicate
    previousScore { value }
    entries {
      leaderboardId period participant { id displayName } score { value } submissions metadata achievedAt
    }
  }
}
"""


class Api:
    """Sends requests with the admin's key by default."""

    def __init__(self, db: Database, boards: Boards) -> None:
        self._app = serve(Backend(db, boards, Credentials(KEYS)))

    def request(self, method: str, path: str = "/graphql", **parts: Any) -> httpx.Response:
        """Send any request; `parts` are arguments of httpx."""

        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(self._app)
            async with httpx.AsyncClient(transport=transport, base_url="http://leaderboard") as client:
                with acting_as("http"):
                    return await client.request(method, path, **parts)

        return asyncio.run(send())

    def ask(self, query: str, *, key: str = "admin", **variables: Any) -> dict[str, Any]:
        """Return the whole response."""
        # httpx's own JSON cannot write lone surrogates.
        body = json.dumps({"query": query, "variables": variables})
        headers = {"x-api-key": key, "content-type": "application/json"}
        answer = self.request("POST", content=body, headers=headers)
        assert answer.status_code == 200, answer.text
        response: dict[str, Any] = answer.json()
        return response

    def data(self, query: str, **variables: Any) -> Any:
        """Return the only root field of a response without errors."""
        response = self.ask(query, **variables)
        assert "errors" not in response, response["errors"]
        (value,) = response["data"].values()
        return value

    def error(self, query: str, *, key: str = "admin", **variables: Any) -> dict[str, Any]:
        """Return the only error of a response."""
        (error,) = self.ask(query, key=key, **variables)["errors"]
        assert isinstance(error, dict)
        return error

    def refusal(self, query: str, *, key: str = "admin", **variables: Any) -> tuple[str, str]:
        """Return the errorType and the message of the only error."""
        error = self.error(query, key=key, **variables)
        return error["errorType"], error["message"]

    def board(self, board_id: str = "board", **rules: Any) -> None:
        """Create a board."""
        query = "mutation ($input: CreateLeaderboardInput!) { createLeaderboard(input: $input) { id } }"
        self.data(query, input={"id": board_id, **rules})

    def submit(self, participant: str, *score: str, board: str = "board", **more: Any) -> Any:
        """Submit a score."""
        return self.data(
            SUBMIT, input={"leaderboardId": board, "participantId": participant, "score": score, **more}
        )
