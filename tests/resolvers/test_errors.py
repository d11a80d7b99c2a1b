"""Errors as clients see them: in AppSync's shape, without internals."""

import logging
from typing import Any

import pytest
from graphql import GraphQLObjectType

from core.boards import Boards
from core.domain.errors import LeaderboardError, Throttled
from core.storage.database import Database, Tables, connect, metered
from local.stack.engine import Engine
from resolvers.schema import schema
from tests.support.graphql_api import Api

EVENT = 'leaderboardId: "board", period: "all-time", version: "1", at: "2026-01-01T00:00:00Z"'
SCORE = 'leaderboardId: "board", participantId: "p", score: "1"'
MUTATIONS = {
    "createLeaderboard": 'createLeaderboard(input: {id: "new"}) { id }',
    "updateLeaderboard": 'updateLeaderboard(input: {id: "board", version: 1}) { id }',
    "deleteLeaderboard": 'deleteLeaderboard(id: "board") { id }',
    "closeLeaderboard": 'closeLeaderboard(id: "board") { closed }',
    "reopenLeaderboard": 'reopenLeaderboard(id: "board") { closed }',
    "submitScore": f"submitScore(input: {{{SCORE}}}) {{ accepted }}",
    "submitScores": f"submitScores(inputs: [{{{SCORE}}}]) {{ errorType }}",
    "updateEntry": 'updateEntry(input: {leaderboardId: "board", participantId: "a"}) { period }',
    "removeEntry": 'removeEntry(leaderboardId: "board", participantId: "a") { period }',
    "hideEntry": 'hideEntry(leaderboardId: "board", participantId: "a") { period }',
    "restoreEntry": 'restoreEntry(leaderboardId: "board", participantId: "a") { period }',
    "correctEntry": f'correctEntry(input: {{{SCORE}, reason: "R"}}) {{ period }}',
    "forgetParticipant": 'forgetParticipant(id: "a") { id }',
    "archiveLeaderboard": 'archiveLeaderboard(leaderboardId: "board", limit: 1000000) { id }',
    "publishRankBucketChange": f'publishRankBucketChange(input: {{{EVENT}, participantId: "a", bucket: "b", '
    "rank: 1, cause: OTHERS}) { at }",
    "publishTopChange": f"publishTopChange(input: {{{EVENT}, entries: []}}) {{ at }}",
}


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    api = Api(db, boards)
    api.board()
    api.submit("a", "1")
    return api


@pytest.fixture
def broken(engine: Engine) -> Api:
    """An application whose tables do not exist."""
    db = connect(
        Tables.with_prefix("no-such"),
        region="local",
        endpoint_url=engine.endpoint,
        access_key="local",
        secret_key="local",
    )
    return Api(db, Boards(db))


def test_a_refusal_has_appsyncs_shape(api: Api) -> None:
    response = api.ask('query Which {\n  leaderboard(id: "nope") { id }\n}')
    assert response == {
        "data": {"leaderboard": None},
        "errors": [
            {
                "path": ["leaderboard"],
                "data": None,
                "errorType": "LeaderboardNotFound",
                "errorInfo": None,
                "locations": [{"line": 2, "column": 3, "sourceName": None}],
                "message": "there is no leaderboard 'nope'",
            }
        ],
        "extensions": {"consumed": {"readUnits": 0.5, "writeUnits": 0.0, "requests": 1}},
    }


def test_a_query_that_does_not_fit_the_schema_is_a_validation_error(api: Api) -> None:
    response = api.ask("{badfield}")
    assert response["data"] is None
    assert response["errors"] == [
        {
            "path": None,
            "locations": [{"line": 1, "column": 2, "sourceName": None}],
            "message": "Validation error: Cannot query field 'badfield' on type 'Query'.",
        }
    ]
    assert response["extensions"]["consumed"]["requests"] == 0


@pytest.mark.parametrize(
    ("query", "variables"),
    [
        ("query ($id: ID!) { leaderboard(id: $id) { id } }", {}),
        ("query ($id: ID!) { leaderboard(id: $id) { id } }", {"id": None}),
        ("query ($id: ID!) { leaderboard(id: $id) { id } }", {"id": {"a": 1}}),
        (f'{{ leaderboard(id: "board") {{ top(limit: {"9" * 4301}) {{ period }} }} }}', {}),
        (f'{{ leaderboard(id: "board") {{ top(limit: -{"9" * 4301}) {{ period }} }} }}', {}),
        (f"query ($n: Int = {'9' * 4301}) {{ leaderboards(limit: $n) {{ nextToken }} }}", {}),
        ("query ($n: Int) { leaderboards(limit: $n) { nextToken } }", {"n": 10**4000}),
        ('query ($id: ID = "x") { leaderboard(id: $id) { id } }', {"id": None}),
        ("query ($n: Int) { leaderboards(limit: $n) { nextToken } }", {"n": 2**31}),
        ("query ($s: String!) { leaderboards(limit: $s) { nextToken } }", {"s": "1"}),
        ("mutation ($i: SubmitScoreInput!) { submitScore(input: $i) { accepted } }", {"i": {"score": ["1"]}}),
        ("{ leaderboard { id } }", {}),
        ('{ leaderboard(id: "board") }', {}),
        ('{ leaderboard(id: "board") { id { x } } }', {}),
        ('{ leaderboard(id: "board", what: 1) { id } }', {}),
        ('{ leaderboard(id: "board") { ...Missing } }', {}),
        ('{ leaderboard(id: "board") { top { rank(strategy: GUESS) { rank } } } }', {}),
        ('{ leaderboard(id: "board") { id @aws_subscribe } }', {}),
        ("{ __schema { types { fields { type { fields { type { fields { name } } } } } } } }", {}),
    ],
)
def test_an_invalid_request_is_a_validation_error_and_reads_nothing(
    api: Api, query: str, variables: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    response = api.ask(query, **variables)
    assert response["data"] is None
    assert response["extensions"]["consumed"]["requests"] == 0
    for error in response["errors"]:
        assert error.keys() == {"path", "locations", "message"}
        assert error["message"].startswith("Validation error: ")
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_an_unexpected_error_is_logged_and_not_revealed(
    broken: Api, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        error = broken.error('{ leaderboard(id: "board") { id } }')
    assert error["errorType"] == "InternalFailure"
    assert error["message"] == "Something went wrong on our side; try again"
    assert error["path"] == ["leaderboard"]
    (logged,) = [record for record in caplog.records if record.name == "resolvers.request.errors"]
    assert logged.exc_info
    assert "ResourceNotFoundException" in str(logged.exc_info[1])
    assert "Traceback" in caplog.text


def test_a_refusal_is_not_logged(api: Api, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        api.refusal('{ leaderboard(id: "nope") { id } }')
        api.ask("{badfield}")
    assert not caplog.records


def test_a_busy_database_is_reported_as_throttled(
    api: Api, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: object) -> None:
        raise Throttled("the database is busy")

    monkeypatch.setattr(boards, "page", busy)
    assert api.refusal("{ leaderboards { nextToken } }") == ("Throttled", "the database is busy")


def test_a_failed_field_does_not_fail_the_others(api: Api) -> None:
    response = api.ask(
        """{
          here: leaderboard(id: "board") { top { rank { rank } } archives(limit: 0) { nextToken } }
          gone: leaderboard(id: "gone") { id }
        }"""
    )
    assert response["data"] == {
        "here": None,
        "gone": None,
    }
    error_types = {tuple(error["path"]): error["errorType"] for error in response["errors"]}
    assert error_types == {
        ("here", "archives"): "InvalidInput",
        ("gone",): "LeaderboardNotFound",
    }


def test_the_list_of_mutations_is_complete() -> None:
    mutation = schema._schema.mutation_type
    assert isinstance(mutation, GraphQLObjectType)
    assert MUTATIONS.keys() == mutation.fields.keys()


@pytest.mark.parametrize("name", MUTATIONS)
def test_the_public_key_may_not_change_anything(api: Api, name: str) -> None:
    with metered() as meter:
        response = api.ask(f"mutation {{ {MUTATIONS[name]} }}", key="public")
    (error,) = response["errors"]
    assert (error["errorType"], error["path"]) == ("Unauthorized", [name])
    assert error["message"] == f"Not Authorized to access {name} on type Mutation"
    assert meter.requests == 0


def test_the_public_key_may_read(api: Api) -> None:
    response = api.ask('{ leaderboard(id: "board") { top { participant { id } } } }', key="public")
    assert response["data"] == {"leaderboard": {"top": [{"participant": {"id": "a"}}]}}


CREATE = 'mutation {{ createLeaderboard(input: {{id: "new", {}}}) {{ id }} }}'
UPDATE = 'mutation {{ updateLeaderboard(input: {{id: "board", version: 1, {}}}) {{ id }} }}'
SUBMIT = (
    'mutation {{ submitScore(input: {{leaderboardId: "board", participantId: "p", score: "1", {}}}) '
    "{{ accepted }} }}"
)


@pytest.mark.parametrize(
    "query",
    [
        CREATE.format("periods: [ALL_TIME], counterMode: STREAM"),
        UPDATE.format("periods: null, timeZone: null"),
        SUBMIT.format("submissionId: null"),
    ],
)
def test_defaults_and_nulls_are_accepted(api: Api, query: str) -> None:
    assert "errors" not in api.ask(query)


def test_the_error_types_are_those_of_the_contract() -> None:
    def names(error: type[LeaderboardError]) -> set[str]:
        return {error.__name__}.union(*map(names, error.__subclasses__()))

    assert names(LeaderboardError) - {"LeaderboardError"} == {
        "LeaderboardNotFound",
        "LeaderboardExists",
        "ArchiveNotFound",
        "EntryNotFound",
        "EntryRemoved",
        "LeaderboardClosed",
        "InvalidScore",
        "InvalidInput",
        "SubmissionConflict",
        "VersionConflict",
        "Unauthorized",
        "Unavailable",
        "Throttled",
    }


def test_no_response_reveals_internals(api: Api, broken: Api) -> None:
    requests: list[tuple[Api, str, dict[str, Any]]] = [
        (broken, '{ participant(id: "a") { id } leaderboards { nextToken } }', {}),
        (broken, 'mutation { createLeaderboard(input: {id: "x"}) { id } }', {}),
        (api, '{ leaderboard(id: "board") { entries(nextToken: "x") { nextToken } } }', {}),
        (api, "query ($id: ID!) { leaderboard(id: $id) { id } }", {"id": "\ud800"}),
        (api, "query ($id: ID!) { participant(id: $id) { id } }", {"id": "x" * 5000}),
        (
            api,
            'query ($x: [ID!]!) { leaderboard(id: "board") { entriesOf(participantIds: $x) { period } } }',
            {"x": [""]},
        ),
    ]
    for client, query, variables in requests:
        response = client.ask(query, **variables)
        assert response["errors"]
        text = str(response)
        for internal in (
            "Traceback",
            "boto",
            "core.",
            "resolvers.",
            "strawberry",
            "DynamoDB",
            "Python",
            ".py",
            "no-such",
        ):
            assert internal not in text
