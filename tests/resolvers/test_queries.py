"""The queries, over HTTP and the real engine."""

from collections.abc import Callable
from typing import Any

import pytest
from graphql import build_client_schema, get_introspection_query

from core.boards import Boards
from core.storage.database import Database
from resolvers.schema import schema
from tests.support.graphql_api import Api

WHOLE_ENTRY = """
  leaderboardId period achievedAt submissions metadata hidden
  participant { id displayName }
  score { value number display }
  rank {
    rank position total percentile exact lowerBound upperBound asOf strategy
    bucket { name from to topPercent }
  }
"""


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    return Api(db, boards)


@pytest.fixture
def league(api: Api, drain: Callable[[], int]) -> Api:
    """Five participants: a 50, b 40, c 40, d 30, e -10, all counted."""
    api.board(title="League")
    for place, (participant, score) in enumerate(
        {"a": "50", "b": "40", "c": "40", "d": "30", "e": "-10"}.items()
    ):
        api.submit(
            participant, score, achievedAt=f"2026-01-01T00:00:0{place}Z", displayName=participant.upper()
        )
    drain()
    return api


def ids(entries: list[dict[str, Any]]) -> str:
    return "".join(entry["participant"]["id"] for entry in entries)


def test_a_leaderboard_has_its_whole_definition(api: Api) -> None:
    api.board(
        "laps",
        title="Fastest laps",
        components=[
            {"name": "lap", "kind": "DURATION", "order": "ASCENDING", "max": "1:00:00"},
            {"name": "points", "min": "-5"},
        ],
        policy="LATEST",
        tieBreak="LATEST",
        timeZone="Europe/Rome",
        peakWritesPerSecond=10,
        expectedSize=1000,
        rankBuckets=[{"name": "podium", "to": 3}, {"name": "half", "topPercent": 50}, {"name": "rest"}],
    )
    board = api.data(
        """{ leaderboard(id: "laps") {
          id title policy tieBreak periods timeZone counterMode
          components { name kind order decimals min max }
          rankBuckets { name from to topPercent } createdAt version
        } }"""
    )
    assert board.pop("createdAt").endswith("Z")
    assert board == {
        "id": "laps",
        "title": "Fastest laps",
        "components": [
            {
                "name": "lap",
                "kind": "DURATION",
                "order": "ASCENDING",
                "decimals": 3,
                "min": None,
                "max": "3600.000",
            },
            {
                "name": "points",
                "kind": "INTEGER",
                "order": "DESCENDING",
                "decimals": 0,
                "min": "-5",
                "max": None,
            },
        ],
        "policy": "LATEST",
        "tieBreak": "LATEST",
        "periods": ["ALL_TIME"],
        "timeZone": "Europe/Rome",
        "counterMode": "STREAM",
        "rankBuckets": [
            {"name": "podium", "from": 1, "to": 3, "topPercent": None},
            {"name": "half", "from": 4, "to": None, "topPercent": 50.0},
            {"name": "rest", "from": None, "to": None, "topPercent": None},
        ],
        "version": 1,
    }


def test_leaderboards_are_paged(api: Api) -> None:
    for board in ("c", "a", "b"):
        api.board(board)
    query = "query ($token: String) { leaderboards(limit: 2, nextToken: $token) { items { id } nextToken } }"
    first = api.data(query)
    assert [board["id"] for board in first["items"]] == ["a", "b"]
    last = api.data(query, token=first["nextToken"])
    assert last == {"items": [{"id": "c"}], "nextToken": None}


def test_an_entry_has_all_its_fields(league: Api) -> None:
    board = league.data(f'{{ leaderboard(id: "board") {{ entry(participantId: "b") {{ {WHOLE_ENTRY} }} }} }}')
    rank = board["entry"].pop("rank")
    assert board["entry"] == {
        "leaderboardId": "board",
        "period": "all-time",
        "achievedAt": "2026-01-01T00:00:01Z",
        "submissions": 1,
        "metadata": None,
        "hidden": False,
        "participant": {"id": "b", "displayName": "B"},
        "score": {"value": ["40"], "number": 40.0, "display": "40"},
    }
    assert rank.pop("asOf").endswith("Z")
    assert rank == {
        "rank": 2,
        "position": 2,
        "total": 5,
        "percentile": 40.0,
        "exact": True,
        "lowerBound": 2,
        "upperBound": 2,
        "strategy": "INDEX",
        "bucket": {"name": "Top 3", "from": 2, "to": 3, "topPercent": None},
    }


def test_size_top_around_and_entries_of_return_ranked_entries(league: Api) -> None:
    response = league.data(
        """{ leaderboard(id: "board") {
          size
          top(limit: 3) { participant { id } rank { rank position } }
          around(participantId: "d", radius: 1) { participant { id } rank { rank position } }
          nobody: around(participantId: "x") { period }
          entriesOf(participantIds: ["e", "x", "c", "c"]) { participant { id } rank { rank position } }
          entry(participantId: "x") { period }
        } }"""
    )
    assert response["size"] == 5
    assert ids(response["top"]) == "abc"
    assert [entry["rank"] for entry in response["top"]] == [
        {"rank": 1, "position": 1},
        {"rank": 2, "position": 2},
        {"rank": 2, "position": 3},
    ]
    assert ids(response["around"]) == "cde"
    assert [entry["rank"]["rank"] for entry in response["around"]] == [2, 4, 5]
    assert response["nobody"] is None
    assert ids(response["entriesOf"]) == "ce"
    assert response["entry"] is None


def test_entries_are_paged(league: Api) -> None:
    query = """query ($token: String) { leaderboard(id: "board") {
      entries(limit: 2, nextToken: $token) { items { participant { id } rank { position } } nextToken }
    } }"""
    seen, token = [], None
    while True:
        page = league.data(query, token=token)["entries"]
        seen += page["items"]
        token = page["nextToken"]
        if token is None:
            break
    assert ids(seen) == "abcde"
    assert [entry["rank"]["position"] for entry in seen] == [1, 2, 3, 4, 5]


def test_a_token_of_another_list_is_refused(league: Api) -> None:
    league.board("other")
    page = "{ entries(limit: 1, nextToken: $token) { nextToken } } }"
    token = league.data(f'query ($token: String) {{ leaderboard(id: "board") {page}')["entries"]["nextToken"]
    for board, mangled in (("other", token), ("board", token[:-2]), ("board", ""), ("board", "é")):
        kind, message = league.refusal(
            f"query ($token: String, $board: ID!) {{ leaderboard(id: $board) {page}",
            token=mangled,
            board=board,
        )
        assert kind == "InvalidInput"
        assert "nextToken" in message


def test_a_participants_entries_are_paged(league: Api) -> None:
    for board in ("second", "third"):
        league.board(board)
        league.submit("a", "7", board=board)
    query = """query ($token: String) { participant(id: "a") {
      id displayName
      entries(limit: 2, nextToken: $token) {
        items { leaderboardId score { display } rank { rank } } nextToken
      }
    } }"""
    first = league.data(query)
    assert (first["id"], first["displayName"]) == ("a", "A")
    last = league.data(query, token=first["entries"]["nextToken"])
    entries = first["entries"]["items"] + last["entries"]["items"]
    assert last["entries"]["nextToken"] is None
    assert [entry["leaderboardId"] for entry in entries] == ["board", "second", "third"]
    assert [entry["score"]["display"] for entry in entries] == ["50", "7", "7"]
    assert [entry["rank"]["rank"] for entry in entries] == [1, 1, 1]


def test_a_participant_on_no_board_is_null(api: Api) -> None:
    assert api.data('{ participant(id: "nobody") { id } }') is None


def test_a_nested_participant_has_entries(league: Api) -> None:
    board = league.data(
        """{ leaderboard(id: "board") { top(limit: 1) { participant { entries { items { period } } } } } }"""
    )
    assert board["top"][0]["participant"]["entries"]["items"] == [{"period": "all-time"}]


@pytest.mark.parametrize("period", ["null", '"all-time"'])
def test_the_period_all_time_is_the_default(league: Api, period: str) -> None:
    board = league.data(f'{{ leaderboard(id: "board") {{ size(period: {period}) }} }}')
    assert board["size"] == 5


@pytest.mark.parametrize("period", ["daily", "daily-2026-02-30", "yesterday"])
def test_a_period_that_the_board_lacks_is_refused(league: Api, period: str) -> None:
    kind, message = league.refusal(
        'query ($period: String) { leaderboard(id: "board") { size(period: $period) } }', period=period
    )
    assert kind == "InvalidInput"
    assert message.startswith("period:")


def test_nulls_mean_the_defaults(league: Api) -> None:
    board = league.data(
        """query ($null: Int, $none: RankStrategy, $token: String) { leaderboard(id: "board") {
          top(limit: $null) { participant { id } rank(strategy: $none) { rank } }
          literal: top(limit: null) { participant { id } rank(strategy: null) { rank } }
          around(participantId: "a", radius: $null) { participant { id } }
          entries(limit: null, nextToken: $token) { items { participant { id } } }
        } }""",
        null=None,
        none=None,
        token=None,
    )
    assert ids(board["top"]) == ids(board["around"]) == ids(board["entries"]["items"]) == "abcde"
    assert board["literal"] == board["top"]


def test_aliases_of_a_field_have_their_own_arguments(league: Api) -> None:
    board = league.data(
        """{ leaderboard(id: "board") {
          one: top(limit: 1) { participant { id } }
          two: top(limit: 2) { participant { id } }
          a: entry(participantId: "a") { rank { rank } }
          e: entry(participantId: "e") {
            byDefault: rank { rank } byIndex: rank(strategy: INDEX) { rank strategy }
          }
        } }"""
    )
    assert (ids(board["one"]), ids(board["two"])) == ("a", "ab")
    assert board["a"] == {"rank": {"rank": 1}}
    assert board["e"] == {"byDefault": {"rank": 5}, "byIndex": {"rank": 5, "strategy": "INDEX"}}


def test_fragments_and_directives_are_followed(league: Api) -> None:
    board = league.data(
        """query ($no: Boolean!) { leaderboard(id: "board") { ...Best } }
        fragment Best on Leaderboard {
          top(limit: 1) { ...Who ... on Entry { rank @skip(if: $no) { rank } } }
        }
        fragment Who on Entry { participant { id @include(if: true) } }""",
        no=True,
    )
    assert board == {"top": [{"participant": {"id": "a"}}]}


def test_introspection_returns_every_type(api: Api) -> None:
    response = api.ask(get_introspection_query(input_value_deprecation=True), key="public")
    assert "errors" not in response
    assert build_client_schema(response["data"]).type_map.keys() == schema._schema.type_map.keys()
