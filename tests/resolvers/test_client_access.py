"""Client access: nothing, reading, or submitting one's own scores."""

from functools import partial
from typing import Any

import httpx
import pytest

from core.boards import Boards
from core.storage.database import Database
from local.server import tokens
from resolvers.appsync import caller_of
from resolvers.http import Backend, serve
from resolvers.request.auth import Caller, Credentials, Role
from tests.support.graphql_api import KEYS, SUBMIT, Api
from tests.support.live import SECRET, token

BOARD = '{ leaderboard(id: "board") { size } }'
LIST = "{ leaderboards { items { id } } }"
BOARDS_OF_ANN = '{ participant(id: "ann") { entries { items { leaderboardId } } } }'
MANY = "mutation ($inputs: [SubmitScoreInput!]!) { submitScores(inputs: $inputs) { errorType errorMessage } }"
SET = "mutation ($input: UpdateLeaderboardInput!) { updateLeaderboard(input: $input) { clientAccess } }"


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


@pytest.fixture
def clients(db: Database, boards: Boards) -> Clients:
    return Clients(db, boards)


def test_by_default_clients_read_and_do_not_write(clients: Clients) -> None:
    clients.board()
    for who in ("public", "ann"):
        assert clients.ask(BOARD, key=who)["data"] == {"leaderboard": {"size": 0}}
    refused = clients.attempt("ann", "ann")
    assert refused == ("Unauthorized", "leaderboardId: this leaderboard takes no scores from clients")
    assert clients.attempt("public", "ann") == (
        "Unauthorized",
        "Not Authorized to access submitScore on type Mutation",
    )


def test_participants_submit_their_own_scores_where_a_board_allows_it(clients: Clients) -> None:
    clients.board(clientAccess="SUBMIT")
    assert clients.attempt("ann", "ann") is None
    assert clients.attempt("ann", "bob") == (
        "Unauthorized",
        "participantId: must be the one that you signed in as",
    )
    assert clients.attempt("public", "ann") is not None
    attempts = [{"leaderboardId": "board", "participantId": who, "score": ["9"]} for who in ("ann", "bob")]
    outcomes = clients.ask(MANY, key="ann", inputs=attempts)["data"]["submitScores"]
    assert [outcome["errorType"] for outcome in outcomes] == [None, "Unauthorized"]
    remove = 'mutation { removeEntry(leaderboardId: "board", participantId: "ann") { period } }'
    assert clients.refusal(remove, key="ann")[0] == "Unauthorized"
    everyone = '{ leaderboard(id: "board") { entries { items { participant { id } } } } }'
    items = clients.data(everyone)["entries"]["items"]
    assert [entry["participant"]["id"] for entry in items] == ["ann"]


def test_a_board_without_client_access_does_not_exist_for_clients(clients: Clients) -> None:
    clients.board(clientAccess="NONE")
    clients.board("open")
    for board in ("board", "open"):
        clients.submit("ann", "7", board=board)
    for who in ("public", "ann"):
        assert clients.refusal(BOARD, key=who)[0] == "LeaderboardNotFound"
        assert clients.ask(LIST, key=who)["data"]["leaderboards"]["items"] == [{"id": "open"}]
        listed = clients.ask(BOARDS_OF_ANN, key=who)["data"]["participant"]["entries"]["items"]
        assert listed == [{"leaderboardId": "open"}]
    assert clients.attempt("ann", "ann") == ("LeaderboardNotFound", "there is no leaderboard 'board'")
    assert len(clients.data(LIST)["items"]) == 2
    assert clients.data(BOARD) is not None


def test_a_participant_of_such_boards_alone_is_null_for_clients(clients: Clients) -> None:
    clients.board(clientAccess="NONE")
    clients.submit("ann", "7")
    assert clients.ask(BOARDS_OF_ANN, key="public")["data"] == {"participant": None}


def test_client_access_can_be_changed(clients: Clients) -> None:
    clients.board()
    for version, access in enumerate(("SUBMIT", "NONE", "READ"), start=1):
        changes = {"id": "board", "version": version, "clientAccess": access}
        assert clients.data(SET, input=changes) == {"clientAccess": access}
        assert (clients.attempt("ann", "ann") is None) == (access == "SUBMIT")
        assert ("errors" in clients.ask(BOARD, key="public")) == (access == "NONE")
    assert clients.data(SET, input={"id": "board", "version": 4, "title": "T"}) == {"clientAccess": "READ"}


@pytest.mark.parametrize(
    ("identity", "caller"),
    [
        ({"userArn": "arn:aws:iam::1:user/a"}, Caller(Role.ADMIN)),
        ({"userArn": "arn:aws:sts::1:role/b", "cognitoIdentityId": "c"}, Caller(Role.PUBLIC)),
        ({"claims": {"sub": "ann"}, "issuer": "i", "sub": "ann"}, Caller(Role.PARTICIPANT, "ann")),
        ({"claims": {"sub": "ann"}, "username": "x", "groups": []}, Caller(Role.PARTICIPANT, "ann")),
        ({"claims": {}}, Caller(Role.PUBLIC)),
        (None, Caller(Role.PUBLIC)),
    ],
)
def test_appsyncs_identity_determines_the_caller(identity: dict[str, Any] | None, caller: Caller) -> None:
    found = caller_of({"identity": identity})
    assert (found.role, found.participant_id) == (caller.role, caller.participant_id)
