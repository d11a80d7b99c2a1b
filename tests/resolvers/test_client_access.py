"""Client access: nothing, reading, or submitting one's own scores."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.boards import Boards
from core.storage.database import Database
from resolvers.appsync import caller_of
from resolvers.request.auth import Caller, Role
from tests.support.clients import Clients
from tests.support.graphql_api import SUBMIT

BOARD = '{ leaderboard(id: "board") { size } }'
LIST = "{ leaderboards { items { id } } }"
BOARDS_OF_ANN = '{ participant(id: "ann") { entries { items { leaderboardId } } } }'
MANY = "mutation ($inputs: [SubmitScoreInput!]!) { submitScores(inputs: $inputs) { errorType errorMessage } }"
SET = "mutation ($input: UpdateLeaderboardInput!) { updateLeaderboard(input: $input) { clientAccess } }"


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


def test_pages_and_tokens_reveal_nothing_of_such_boards(clients: Clients) -> None:
    clients.board("a-open")
    clients.board("b-secret", clientAccess="NONE")
    clients.board("c-open")
    clients.board("d-secret", clientAccess="NONE")
    for board in ("a-open", "b-secret", "c-open", "d-secret"):
        clients.submit("ann", "7", board=board)
    boards = "query ($after: String) { leaderboards(limit: 1, nextToken: $after) { nextToken items { id } } }"
    entries = """query ($after: String) { participant(id: "ann") {
        entries(limit: 1, nextToken: $after) { nextToken items { leaderboardId } } } }"""
    for query, path, name in ((boards, (), "id"), (entries, ("participant",), "leaderboardId")):
        pages = []
        token = None
        while True:
            found = clients.ask(query, key="public", after=token)["data"]
            for step in path:
                found = found[step]
            (page,) = found.values()
            pages.append([item[name] for item in page["items"]])
            token = page["nextToken"]
            if token is None:
                break
            assert b"secret" not in base64.urlsafe_b64decode(token + "==")
        assert pages == [["a-open"], ["c-open"]]


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


def test_participants_date_their_scores_within_the_boards_allowance(clients: Clients) -> None:
    clients.board(clientAccess="SUBMIT")

    def attempt(who: str, seconds: float) -> Any:
        at = (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()
        given = {"leaderboardId": "board", "participantId": "ann", "score": ["9"], "achievedAt": at}
        (outcome,) = clients.ask(MANY, key=who, inputs=[given])["data"]["submitScores"]
        single = clients.ask(SUBMIT, key=who, input=given).get("errors", [{"errorType": None}])
        assert [error["errorType"] for error in single] == [outcome["errorType"]]
        return outcome["errorType"], outcome["errorMessage"]

    refused = ("InvalidInput", "achievedAt: must not be more than 60 s ago for your own score")
    assert attempt("ann", 90) == refused
    assert attempt("ann", 1e9) == refused
    assert attempt("ann", 10) == (None, None)
    assert attempt("admin", 1e9) == (None, None)
    query = SET.replace("clientAccess", "clientTimeAllowance")
    for version, seconds in enumerate((0, 3600, None), start=1):
        changes = {"id": "board", "version": version, "clientTimeAllowance": seconds}
        expected = 60 if seconds is None else seconds
        assert clients.data(query, input=changes) == {"clientTimeAllowance": expected}
        assert (attempt("ann", 10) == (None, None)) == (expected > 10)
        assert (attempt("ann", 90) == (None, None)) == (expected > 90)
    for seconds in (-1, 2_592_001):
        refusal = clients.refusal(query, input={"id": "board", "version": 4, "clientTimeAllowance": seconds})
        assert refusal[1].startswith("clientTimeAllowance: must be from 0 to 2592000")


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
