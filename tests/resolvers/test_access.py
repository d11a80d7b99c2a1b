"""Who may do what: each cell of the tables in docs/security.md, played where it is enforced."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import jwt
import pytest
from graphql import GraphQLObjectType, build_schema

from core.boards import Boards
from core.domain.errors import Unauthorized
from core.storage.database import Database
from local.server import tokens
from local.stack.roles import acting_as
from resolvers.appsync import FIELDS, answer
from resolvers.request.auth import Credentials, NotAuthenticated, Role, gateway_caller
from tests.support.appsync_service import IAM, SDL
from tests.support.clients import Clients
from tests.support.live import change, top_change

DOCUMENT = Path(__file__).parents[2] / "docs/security.md"
OWN = {"leaderboardId": "board", "participantId": "ann"}
SCORE = {**OWN, "score": ["9"]}
# Arguments that let each operation come as far as its permission.
ARGUMENTS: Mapping[str, dict[str, Any]] = {
    "leaderboard": {"id": "board"},
    "leaderboards": {},
    "participant": {"id": "ann"},
    "submitScore": {"input": SCORE},
    "submitScores": {"inputs": [SCORE]},
    "createLeaderboard": {"input": {"id": "new"}},
    "updateLeaderboard": {"input": {"id": "board", "version": 1, "title": "T"}},
    "closeLeaderboard": {"id": "board"},
    "reopenLeaderboard": {"id": "board"},
    "deleteLeaderboard": {"id": "board"},
    "archiveLeaderboard": {"leaderboardId": "board"},
    "updateEntry": {"input": {**OWN, "displayName": "Ann"}},
    "removeEntry": OWN,
    "hideEntry": OWN,
    "restoreEntry": OWN,
    "correctEntry": {"input": {**SCORE, "reason": "test"}},
    "forgetParticipant": {"id": "ann"},
    "publishRankBucketChange": {"input": change()},
    "publishTopChange": {"input": top_change()},
    "onRankBucketChange": OWN,
    "onTopChange": {"leaderboardId": "board", "period": "all-time"},
}
IDENTITIES: Mapping[str, dict[str, Any] | None] = {
    "public": None,
    "participant": {"claims": {"sub": "ann"}, "sub": "ann"},
    "identity": {**IAM, "cognitoIdentityId": "eu-west-1:guest"},
    "operator": IAM,
}
HTTP_KEYS = {"unknown": "", "public": "public", "participant": "ann", "operator": "admin"}
MODES = {"public": "aws_api_key", "participant": "aws_cognito_user_pools", "operator": "aws_iam"}
SCHEMA = build_schema(SDL)


def table(heading: str) -> Iterator[tuple[str, str, str]]:
    """Yield row, column and cell of the table below a heading of the document."""
    section = DOCUMENT.read_text().split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    (_, *columns), _, *rows = [[cell.strip().strip("`") for cell in line] for line in lines]
    for row, *cells in rows:
        for column, cell in zip(columns, cells, strict=True):
            yield row, column, cell


OPERATIONS = list(table("Operations"))


def root(name: str) -> GraphQLObjectType:
    """Return the root type that an operation is a field of."""
    types = (SCHEMA.query_type, SCHEMA.mutation_type, SCHEMA.subscription_type)
    return next(each for each in types if each is not None and name in each.fields)


def request(name: str) -> tuple[str, dict[str, Any]]:
    """Return the query of an operation and its variables."""
    of, given = root(name), ARGUMENTS[name]
    field = of.fields[name]
    declared = ", ".join(f"${each}: {field.args[each].type}" for each in given)
    passed = ", ".join(f"{each}: ${each}" for each in given)
    declared, passed = (f"({part})" if part else "" for part in (declared, passed))
    return f"{of.name.lower()} {declared} {{ {name}{passed} {{ __typename }} }}", given


@pytest.fixture
def clients(db: Database, boards: Boards) -> Clients:
    clients = Clients(db, boards)
    clients.board(clientAccess="SUBMIT")
    clients.submit("ann", "5")
    return clients


def test_the_table_names_every_operation_and_caller() -> None:
    types = (SCHEMA.query_type, SCHEMA.mutation_type, SCHEMA.subscription_type)
    names = {name for each in types if each is not None for name in each.fields}
    assert {row for row, _, _ in OPERATIONS} == names == ARGUMENTS.keys()
    assert {column for _, column, _ in OPERATIONS} == {"unknown", *IDENTITIES}
    assert {cell for _, _, cell in OPERATIONS} == {"yes", "no", "SUBMIT"}


@pytest.mark.parametrize("name", [name for name in ARGUMENTS if not name.startswith("on")])
def test_the_http_endpoint_holds_to_it(name: str, clients: Clients) -> None:
    query, variables = request(name)
    for caller, key in HTTP_KEYS.items():
        allowed = dict_of(name)[caller]
        if caller == "unknown":
            for headers in ({}, {"x-api-key": "wrong"}, {"authorization": "wrong"}):
                refused = super(Clients, clients).request(
                    "POST", json={"query": query, "variables": variables}, headers=headers
                )
                assert refused.status_code == 401
                assert refused.json()["errors"][0]["errorType"] == "UnauthorizedException"
            continue
        response = clients.ask(query, key=key, **variables)
        assert is_refused(response.get("errors", [])) == (allowed == "no"), (caller, response)


# AppSync itself answers the publish mutations: there the directives alone decide.
@pytest.mark.parametrize("name", [name for name in ARGUMENTS if not name.startswith("publish")])
def test_appsyncs_resolvers_hold_to_it(name: str, clients: Clients, db: Database, boards: Boards) -> None:
    of = root(name).name
    assert name in FIELDS[of]
    for caller, identity in IDENTITIES.items():
        info = {"parentTypeName": of, "fieldName": name}
        call = {"arguments": ARGUMENTS[name], "identity": identity, "source": None, "info": info}
        with acting_as("api"):
            (envelope,) = asyncio.run(answer(db, boards, [call]))
        refused = envelope.get("errorType") == Unauthorized.__name__
        assert refused == (dict_of(name)[caller] == "no"), (caller, envelope)


@pytest.mark.parametrize(("name", "caller", "cell"), [each for each in OPERATIONS if each[1] in MODES])
def test_the_directives_hold_to_it(name: str, caller: str, cell: str) -> None:
    of = root(name)
    on_field, on_type = (
        {each.name.value for each in (node.directives if node else None) or ()}
        for node in (of.fields[name].ast_node, of.ast_node)
    )
    on_field -= {"aws_subscribe"}
    assert (MODES[caller] in (on_field or on_type)) == (cell != "no")
    assert ("aws_oidc" in (on_field or on_type)) == ("aws_cognito_user_pools" in (on_field or on_type))


@pytest.mark.parametrize(("what", "access", "cell"), list(table("Boards")))
def test_a_boards_access_holds(what: str, access: str, cell: str, db: Database, boards: Boards) -> None:
    clients = Clients(db, boards)
    clients.board(clientAccess=access)
    clients.submit("ann", "5")
    who = "public" if "public" in what else "ann"
    if "read" in what:
        query = """{ leaderboard(id: "board") { size } participant(id: "ann") { id }
            leaderboards { items { id } } }"""
        response = clients.ask(query, key=who)
        assert ("errors" not in response) == (cell == "yes")
        if cell == "no":
            assert [error["errorType"] for error in response["errors"]] == ["LeaderboardNotFound"]
            hidden: dict[str, Any] = {"leaderboard": None, "participant": None, "leaderboards": {"items": []}}
            assert response["data"] == hidden
        info = {"parentTypeName": "Subscription", "fieldName": "onRankBucketChange"}
        identity = IDENTITIES["public" if who == "public" else "participant"]
        call = {"arguments": OWN, "identity": identity, "source": None, "info": info}
        with acting_as("api"):
            (envelope,) = asyncio.run(answer(db, boards, [call]))
        assert envelope.get("errorType") == (None if cell == "yes" else "LeaderboardNotFound")
    else:
        assert (clients.attempt(who, "bob" if "another" in what else "ann") is None) == (cell == "yes")


def test_hidden_entries_are_shown_as_the_table_has_it(clients: Clients) -> None:
    clients.data('mutation { hideEntry(leaderboardId: "board", participantId: "ann") { hidden } }')
    clients.submit("bob", "1")
    query = '{ leaderboard(id: "board") { entry(participantId: "ann") { hidden } } }'
    keys = {"public": "public", "another participant": "bob", "its owner": "ann", "operator": "admin"}
    for who, _, cell in table("Hidden entries"):
        found = clients.ask(query, key=keys[who])["data"]["leaderboard"]["entry"]
        assert (found is not None) == (cell == "yes"), who


def _claims(**changes: Any) -> dict[str, Any]:
    claims = {"iss": "leaderboard-local", "aud": "leaderboard", "sub": "ann", "exp": int(time.time()) + 60}
    changed = {**claims, **changes}
    return {name: value for name, value in changed.items() if value is not None}


SECRET = "0" * 64
FORGED: Mapping[str, Callable[[], str]] = {
    "expired": lambda: tokens.mint(SECRET, "ann", -1),
    "of another issuer": lambda: jwt.encode(_claims(iss="other"), SECRET, "HS256"),
    "for another audience": lambda: jwt.encode(_claims(aud="other"), SECRET, "HS256"),
    "without expiry": lambda: jwt.encode(_claims(exp=None), SECRET, "HS256"),
    "without subject": lambda: jwt.encode(_claims(sub=None), SECRET, "HS256"),
    "unsigned": lambda: jwt.encode(_claims(), "", "none"),
    "signed with another secret": lambda: jwt.encode(_claims(), "1" * 64, "HS256"),
    "signed by another algorithm": lambda: jwt.encode(_claims(), SECRET, "HS512"),
    "cut short": lambda: tokens.mint(SECRET, "ann", 60)[:-3],
    "empty": lambda: "",
}


@pytest.mark.parametrize("kind", FORGED)
def test_a_forged_token_identifies_nobody(kind: str) -> None:
    credentials = Credentials({"key": Role.PUBLIC}, partial(tokens.read, SECRET))
    assert credentials.caller({"authorization": tokens.mint(SECRET, "ann", 60)}).participant_id == "ann"
    with pytest.raises(NotAuthenticated):
        credentials.caller({"authorization": FORGED[kind]()})


@pytest.mark.parametrize(
    ("authorizer", "role"),
    [
        ({}, Role.PUBLIC),
        ({"iam": {"userArn": "arn:aws:iam::1:user/a"}}, Role.ADMIN),
        ({"iam": {"userArn": "arn:aws:sts::1:r/g", "cognitoIdentity": {"identityId": "x"}}}, Role.PUBLIC),
        ({"jwt": {"claims": {"sub": "ann"}}}, Role.PARTICIPANT),
        ({"jwt": {"claims": {}}}, Role.PUBLIC),
    ],
)
def test_api_gateway_says_who_calls(authorizer: dict[str, Any], role: Role) -> None:
    assert gateway_caller({"authorizer": authorizer}).role is role


def dict_of(name: str) -> dict[str, str]:
    """Return an operation's cells by caller."""
    return {column: cell for row, column, cell in OPERATIONS if row == name}


def is_refused(errors: list[dict[str, Any]]) -> bool:
    """Return whether a caller may not do this at all."""
    return any(error["errorType"] == Unauthorized.__name__ for error in errors)
