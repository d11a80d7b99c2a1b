"""AppSync's calls: the responses of the local server, in as few invocations as possible."""

import asyncio
import json
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from graphql import build_schema, execute, is_object_type

import resolvers.appsync
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
  currentPeriods { kind key startsAt endsAt } size
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
    "from the other side": """{ leaderboard(id: "board") {
        rankOf(score: "2") { rank total position percentile bucket { name } }
        byIndex: rankOf(score: ["2"], strategy: INDEX) { rank strategy }
        entryAt(position: 3) { participant { id } rank { position } } none: entryAt(position: 99) { hidden }
        scoreFor(rank: 2) { display } best: scoreFor(topPercent: 50) { value }
        distribution(bins: 3) { from to count buckets } } }""",
    "wrong questions": """{ leaderboard(id: "board") {
        entryAt(position: 0) { hidden } } }""",
    "a page from a place on": """{ leaderboard(id: "board") {
        place: entries(limit: 2, from: {position: 3}) { nextToken previousToken items {
        participant { id } rank { rank position } } }
        score: entries(limit: 2, from: {score: ["2"]}) { previousToken items { score { value } } } } }""",
    "a page from two places on": """{ leaderboard(id: "board") {
        entries(from: {position: 3, score: ["2"]}) { nextToken } } }""",
    "a page from nowhere on": """{ leaderboard(id: "board") { entries(from: {}) { nextToken } } }""",
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


def test_corrections_return_what_the_local_server_returns(api: Api, appsync: AppSync) -> None:
    """Down under BEST, with the place among ties; refused alike, and to all but admins."""
    correct = """mutation ($input: CorrectEntryInput!) { correctEntry(input: $input) {
      leaderboardId period participant { id displayName } score { display } submissions achievedAt
      rank(strategy: INDEX) { rank position } } }"""
    down = {"participantId": "p07", "score": ["2"], "reason": "R", "achievedAt": "2026-01-01T00:00:00Z"}
    for changes, place in (({}, {"rank": 2, "position": 2}), ({"score": "1"}, {"rank": 4, "position": 4})):
        local = comparable(api.ask(correct, input={"leaderboardId": "board", **down, **changes}))
        remote = comparable(appsync.ask(correct, input={"leaderboardId": "other", **down, **changes}))
        (one,) = local["data"]["correctEntry"]
        assert one["rank"] == place
        one["leaderboardId"] = "other"
        assert local == remote
    for changes, error in (
        ({"participantId": "nobody"}, "EntryNotFound"),
        ({"score": "x"}, "InvalidScore"),
        ({"period": "daily"}, "InvalidInput"),
        ({"reason": ""}, "InvalidInput"),
    ):
        given = {"leaderboardId": "board", **down, **changes}
        refused = comparable(api.ask(correct, input=given))
        assert refused == comparable(appsync.ask(correct, input=given))
        assert refused["errors"][0]["errorType"] == error
    given = {"leaderboardId": "board", **down}
    assert api.refusal(correct, key="public", input=given)[0] == "Unauthorized"
    (refusal,) = appsync.ask(correct, identity=None, input=given)["errors"]
    assert refusal["errorType"] == "Unauthorized"


def test_a_participants_name_is_the_one_given_last(api: Api, appsync: AppSync) -> None:
    """On whichever board, and with a score that was refused."""
    worse = {"participantId": "p07", "score": ["1"]}
    assert appsync.ask(SUBMIT, input={"leaderboardId": "other", **worse, "displayName": "Q"})["data"]
    for query in (
        '{ participant(id: "p07") { displayName } }',
        '{ participant(id: "p07") { ...F } } fragment F on Participant { id displayName }',
    ):
        found = comparable(api.ask(query))
        assert found == comparable(appsync.ask(query))
        assert found["data"]["participant"]["displayName"] == "Q"
    without = '{ participant(id: "p07") { id } }'
    assert comparable(api.ask(without)) == comparable(appsync.ask(without))
    spent = [api.ask(query)["extensions"]["consumed"]["readUnits"] for query in (without, query)]
    assert spent[0] <= spent[1]


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

    def rank_entries(*args: Any, positions: bool, **others: Any) -> Any:
        asked.append((len(args[3]), positions))
        return rank_for_real(*args, positions=positions, **others)

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


def test_the_ranks_of_a_page_are_one_query(
    api: Api, appsync: AppSync, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But for those by other arguments."""
    sources: list[int] = []

    def count(*args: Any, **kwargs: Any) -> Any:
        sources.append(len(kwargs["root_value"]["parents"]))
        return execute(*args, **kwargs)

    monkeypatch.setattr(resolvers.appsync, "execute", count)
    ranks = "rank { rank } index: rank(strategy: INDEX) { rank }"
    assert "errors" not in appsync.ask(f'{{ leaderboard(id: "board") {{ top(limit: 4) {{ {ranks} }} }} }}')
    assert sources[2:] == [4, 4]


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


@pytest.mark.parametrize(
    ("field", "period", "expected"),
    [
        ("onTopChange", "daily", {"leaderboardId": "days", "periodAlias": "daily"}),
        ("onTopChange", "all-time", None),
        (
            "onRankBucketChange",
            "daily",
            {"leaderboardId": "days", "participantId": "ann", "periodAlias": "daily"},
        ),
        ("onRankBucketChange", None, None),
    ],
)
def test_a_subscription_by_alias_is_filtered_by_the_alias(
    db: Database, boards: Boards, api: Api, field: str, period: str | None, expected: dict[str, str] | None
) -> None:
    """By itself AppSync would compare the argument with the event's period, which is always explicit."""
    api.board("days", periods=["ALL_TIME", "DAILY"])
    arguments = {"leaderboardId": "days", "period": period}
    if field == "onRankBucketChange":
        arguments["participantId"] = "ann"
    call = {"arguments": arguments, "info": {"parentTypeName": "Subscription", "fieldName": field}}
    [envelope] = asyncio.run(answer(db, boards, [call]))
    assert envelope["data"] is None
    if expected is None:
        assert "filter" not in envelope
        return
    [group] = envelope["filter"]["filterGroup"]
    assert {one["operator"] for one in group["filters"]} == {"eq"}
    assert {one["fieldName"]: one["value"] for one in group["filters"]} == expected


def test_a_subscription_to_a_previous_period_is_refused(db: Database, boards: Boards, api: Api) -> None:
    api.board("days", periods=["DAILY"])
    arguments = {"leaderboardId": "days", "period": "previous"}
    call = {"arguments": arguments, "info": {"parentTypeName": "Subscription", "fieldName": "onTopChange"}}
    [envelope] = asyncio.run(answer(db, boards, [call]))
    assert envelope["errorType"] == "InvalidInput"
    assert envelope["errorMessage"].startswith("period: a subscription follows the current period")


@pytest.mark.skipif(shutil.which("node") is None, reason="runs AppSync's resolver in node")
def test_the_resolver_code_sets_the_filter(tmp_path: Path) -> None:
    """Run infra/resolver.js with the Lambda's answer, as AppSync does."""
    code = (Path(__file__).parents[2] / "infra/resolver.js").read_text()
    imported = "import { extensions, util } from '@aws-appsync/utils';"
    assert imported in code
    stubs = (
        "const set = []; const extensions = { setSubscriptionFilter: (filter) => set.push(filter) };"
        "const util = { error: (message, type) => { throw new Error(`${type}: ${message}`); } };"
    )
    script = "console.log(JSON.stringify([response({ result: JSON.parse(process.argv[2]) }), ...set]));"
    (tmp_path / "run.mjs").write_text(code.replace(imported, stubs) + script)

    def run(result: dict[str, Any]) -> Any:
        command = ["node", "run.mjs", json.dumps(result)]
        return json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout)

    assert run({"data": {"id": "board"}}) == [{"id": "board"}]
    given = {"filterGroup": [{"filters": [{"fieldName": "a", "operator": "eq", "value": "b"}]}]}
    assert run({"data": None, "filter": given}) == [None, given]


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
