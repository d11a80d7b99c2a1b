"""AppSync's calls: the responses of the local server, in as few invocations as possible."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from graphql import build_schema, is_object_type

from core.boards import Boards
from core.ranking import queries, ranks
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from resolvers.appsync import FIELDS, answer, caller_of
from tests.support.appsync_service import SDL, AppSync
from tests.support.graphql_api import Api

EVENTS = Path(__file__).parent / "events"

SUBMIT = """mutation ($input: SubmitScoreInput!) { submitScore(input: $input) {
  accepted duplicate previousScore { value number display }
  entries { participant { id displayName } score { value } metadata submissions rank { rank total } }
} }"""

PAGE = """query ($limit: Int) { leaderboard(id: "board") {
  id title policy createdAt components { name kind order min max } rankBuckets { name from to topPercent }
  size
  entries(limit: $limit) { nextToken items { ...Line } }
} }
fragment Line on Entry {
  leaderboardId period achievedAt submissions hidden metadata
  participant { id displayName } score { value number display }
  rank { rank position total percentile exact lowerBound upperBound strategy bucket { name from to } }
}"""

READS = {
    "page": PAGE,
    "top, and one field twice with other arguments": """{ leaderboard(id: "board") {
        one: top(limit: 1) { participant { id } rank { rank } }
        three: top(limit: 3) { participant { id } byIndex: rank(strategy: INDEX) { rank strategy } } } }""",
    "entry and around": """{ leaderboard(id: "board") {
        entry(participantId: "p03") { score { display } rank { position } }
        nobody: entry(participantId: "nobody") { hidden }
        around(participantId: "p03", radius: 1) { participant { id } rank { rank } }
        entriesOf(participantIds: ["p05", "p01"]) { participant { id } rank { rank } } } }""",
    "boards": """{ leaderboards(limit: 5) { nextToken items {
        id size top(limit: 2) { score { value } } } } }""",
    "participant": """{ participant(id: "p02") { id displayName entries { nextToken items {
        leaderboardId rank { rank } participant { entries(limit: 1) { items { period } } } } } } }""",
    "nobody": """{ participant(id: "nobody") { id } }""",
    "no board": """{ leaderboard(id: "none") { id } }""",
    "archives": """{ leaderboard(id: "board") { archives { nextToken items {
        id size complete entries(limit: 3) { nextToken items {
        participant { id } rank { rank position bucket { name to } asOf } } } } } } }""",
    "a bad argument of a nested field": """{ leaderboard(id: "board") { id top(limit: 0) { hidden } } }""",
    "another list's token": """{ leaderboard(id: "board") { entries(nextToken: "no") { nextToken } } }""",
}


@pytest.fixture
def appsync(db: Database, boards: Boards) -> AppSync:
    def invoke(event: Any) -> Any:
        calls = event if isinstance(event, list) else [event]
        envelopes = asyncio.run(answer(db, boards, calls))
        return envelopes if isinstance(event, list) else envelopes[0]

    return AppSync(invoke)


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    api = Api(db, boards)
    for board in ("board", "other"):
        api.board(board, title="A board")
        for place in range(8):
            submit_score(
                db,
                boards.get(board),
                Submission(
                    f"p{place:02}", [str(place // 2)], display_name=f"P {place}", metadata='{"a":[1]}'
                ),
                now=datetime.now(UTC),
            )
    api.data('mutation { archiveLeaderboard(leaderboardId: "board", limit: 5) { id } }')
    return api


def comparable(response: Any) -> Any:
    """Return what both services must answer alike."""
    return {
        "data": response["data"],
        "errors": [
            {name: error[name] for name in ("path", "errorType", "message")}
            for error in response.get("errors", ())
        ],
    }


def test_reads_return_what_the_local_server_returns(api: Api, appsync: AppSync) -> None:
    for name, query in READS.items():
        assert comparable(appsync.ask(query)) == comparable(api.ask(query)), name


def test_writes_return_what_the_local_server_returns(api: Api, appsync: AppSync) -> None:
    for metadata in ('{"b":"ü"}', '"text"', "1", '"[1]"', "[]"):
        rule = {"participantId": "new", "score": ["7"], "displayName": "New", "metadata": metadata}
        local = api.ask(SUBMIT, input={"leaderboardId": "board", **rule})
        remote = appsync.ask(SUBMIT, input={"leaderboardId": "other", **rule})
        assert comparable(local) == comparable(remote)
        entry = '{ leaderboard(id: "other") { entry(participantId: "new") { metadata } } }'
        assert comparable(api.ask(entry)) == comparable(appsync.ask(entry))


def test_refusals_have_an_error_type(api: Api, appsync: AppSync) -> None:
    refused = {"leaderboardId": "board", "participantId": "p", "score": ["much"]}
    assert comparable(api.ask(SUBMIT, input=refused)) == comparable(appsync.ask(SUBMIT, input=refused))
    assert comparable(appsync.ask(SUBMIT, input=refused))["errors"][0]["errorType"] == "InvalidScore"
    late = refused | {"score": ["1"], "achievedAt": "yesterday"}
    (error,) = appsync.ask(SUBMIT, input=late)["errors"]
    assert error["errorType"] == "InvalidInput"


def test_callers_without_iam_only_read(api: Api, appsync: AppSync) -> None:
    remove = 'mutation { removeEntry(leaderboardId: "board", participantId: "p01") { hidden } }'
    guest = {"userArn": "arn:aws:sts::1:assumed-role/guests/x", "cognitoIdentityId": "eu-west-1:1"}
    for identity in (None, {}, guest, {"sub": "1", "claims": {}, "issuer": "https://issuer"}):
        (error,) = appsync.ask(remove, identity=identity)["errors"]
        assert (error["errorType"], error["message"]) == (
            "Unauthorized",
            "Not Authorized to access removeEntry on type Mutation",
        )
        assert appsync.ask('{ leaderboard(id: "board") { size } }', identity=identity)["data"]
    removed = appsync.ask(
        'mutation { removeEntry(leaderboardId: "board", participantId: "p01") { hidden rank { rank } } }'
    )
    assert removed["data"] == {"removeEntry": {"hidden": False, "rank": None}}


def test_a_page_and_its_ranks_are_two_invocations(
    db: Database, boards: Boards, api: Api, appsync: AppSync
) -> None:
    for place in range(60):
        submit_score(db, boards.get("board"), Submission(f"m{place}", [str(place)]), now=datetime.now(UTC))
    page = appsync.ask(PAGE, limit=50)["data"]["leaderboard"]["entries"]
    assert len(page["items"]) == 50
    assert sorted(appsync.invocations, key=len) == [
        ["leaderboard"],
        *(call for call in appsync.invocations if call in (["size"], ["entries"])),
        ["rank"] * 50,
    ]
    assert len(appsync.invocations) == 4


def test_the_ranks_of_a_page_are_one_core_call(
    api: Api, appsync: AppSync, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, bool]] = []
    rank_for_real = ranks.rank_entries

    def rank_entries(*args: Any, positions: bool, total: int | None) -> Any:
        asked.append((len(args[3]), positions))
        return rank_for_real(*args, positions=positions, total=total)

    monkeypatch.setattr(ranks, "rank_entries", rank_entries)
    page = '{ leaderboard(id: "board") { entries(limit: 8) { items { SELECTION } } } }'
    fragment = "fragment Place on Rank { position }"
    for selection, positions in {
        "rank { rank position }": True,
        "rank { place: position }": True,
        "rank { ...Place }": True,
        "rank { rank total }": False,
    }.items():
        asked.clear()
        response = appsync.ask(
            page.replace("SELECTION", selection) + (fragment if "..." in selection else "")
        )
        assert "errors" not in response
        assert asked == [(8, positions)], selection
        found = [entry["rank"] for entry in response["data"]["leaderboard"]["entries"]["items"]]
        assert None not in [value for rank in found for value in rank.values()]


def test_nested_fields_of_a_page_of_boards_are_one_invocation_each(api: Api, appsync: AppSync) -> None:
    appsync.ask(READS["boards"])
    assert sorted(appsync.invocations, key=str) == [["leaderboards"], ["size"] * 2, ["top"] * 2]


def test_a_refused_call_does_not_fail_the_rest_of_its_batch(db: Database, boards: Boards, api: Api) -> None:
    def call(board: str, limit: int) -> dict[str, Any]:
        return {
            "arguments": {"limit": limit},
            "source": {"id": board},
            "info": {"parentTypeName": "Leaderboard", "fieldName": "top"},
        }

    calls = [call("board", 2), call("board", 0), call("gone", 2), call("other", 1)]
    envelopes = asyncio.run(answer(db, boards, calls))
    assert [envelope.get("errorType") or len(envelope["data"]) for envelope in envelopes] == [
        2,
        "InvalidInput",
        "LeaderboardNotFound",
        1,
    ]


def test_an_internal_failure_reveals_nothing(
    api: Api, appsync: AppSync, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr(queries, "size", fail)
    (error,) = appsync.ask('{ leaderboard(id: "board") { size } }')["errors"]
    assert error["errorType"] == "InternalFailure"
    assert "secret" not in error["message"]
    assert "secret" in caplog.text


def test_every_field_with_arguments_has_a_resolver() -> None:
    """Except publish mutations: AppSync itself passes these on to subscribers."""
    schema = build_schema(SDL)
    expected = {
        type_.name: {
            name for name, field in type_.fields.items() if field.args and not name.startswith("publish")
        }
        for type_ in schema.type_map.values()
        if is_object_type(type_) and not type_.name.startswith("__")
    }
    assert {name: set(fields) for name, fields in FIELDS.items()} == {
        name: fields for name, fields in expected.items() if fields
    }


def test_recorded_events_are_answered_as_recorded(db: Database, boards: Boards, api: Api) -> None:
    """Whole events as AppSync sends them to a Lambda without resolver code in between."""
    for path in sorted(EVENTS.glob("appsync_*.json")):
        recorded = json.loads(path.read_text())
        calls = recorded["event"] if isinstance(recorded["event"], list) else [recorded["event"]]
        assert asyncio.run(answer(db, boards, calls)) == recorded["answers"], path.stem
        assert {caller_of(call).role.value for call in calls} == {recorded["role"]}, path.stem
