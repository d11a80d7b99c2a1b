"""The mutations, over HTTP and the real engine."""

import pytest

from core.boards import Boards
from core.storage.database import Database
from tests.support.graphql_api import Api

CREATE = """mutation ($input: CreateLeaderboardInput!) { createLeaderboard(input: $input) {
  id title policy tieBreak periods timeZone counterMode version
  components { name kind order decimals min max } rankBuckets { name }
} }"""
UPDATE = """mutation ($input: UpdateLeaderboardInput!) { updateLeaderboard(input: $input) {
  title version rankBuckets { name from to }
} }"""
UPDATE_ENTRY = """mutation ($input: UpdateEntryInput!) { updateEntry(input: $input) {
  metadata participant { displayName } score { value } submissions rank { rank }
} }"""
REMOVE = """mutation ($id: ID!) { removeEntry(leaderboardId: "board", participantId: $id) {
  participant { id } score { value } rank { rank }
} }"""


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    return Api(db, boards)


@pytest.fixture
def board(api: Api) -> Api:
    api.board()
    return api


DEFAULT_BOARD = {
    "id": "plain",
    "title": None,
    "policy": "BEST",
    "tieBreak": "EARLIEST",
    "periods": ["ALL_TIME"],
    "timeZone": "UTC",
    "counterMode": "STREAM",
    "version": 1,
    "components": [
        {"name": "score", "kind": "INTEGER", "order": "DESCENDING", "decimals": 0, "min": None, "max": None}
    ],
    "rankBuckets": [
        {"name": name}
        for name in ("Top 1", "Top 3", "Top 10", "Top 100", "Top 1%", "Top 10%", "Top 50%", "Everyone")
    ],
}


@pytest.mark.parametrize(
    "rules",
    [
        {},
        dict.fromkeys(
            (
                "title",
                "components",
                "policy",
                "tieBreak",
                "periods",
                "timeZone",
                "counterMode",
                "peakWritesPerSecond",
                "expectedSize",
                "rankBuckets",
            )
        ),
        {"components": [dict.fromkeys(("name", "kind", "order", "decimals", "min", "max"))]},
        {"components": {}, "periods": "ALL_TIME"},
    ],
    ids=["left out", "null", "null within", "one for a list"],
)
def test_omitted_and_null_fields_of_a_board_are_the_defaults(api: Api, rules: dict[str, object]) -> None:
    assert api.data(CREATE, input={"id": "plain", **rules}) == DEFAULT_BOARD


def test_a_board_cannot_be_created_twice(board: Api) -> None:
    assert board.refusal(CREATE, input={"id": "board"})[0] == "LeaderboardExists"


@pytest.mark.parametrize(
    ("rules", "field"),
    [
        ({"id": ""}, "id"),
        ({"id": "x" * 257}, "id"),
        ({"id": "a\nb"}, "id"),
        ({"id": "\ud800"}, "id"),
        ({"title": "t" * 300}, "title"),
        ({"title": "\ud800"}, "title"),
        ({"timeZone": "../etc/passwd"}, "timeZone"),
        ({"peakWritesPerSecond": 0}, "peakWritesPerSecond"),
        ({"expectedSize": -1}, "expectedSize"),
        ({"components": []}, "components"),
        ({"components": [{"decimals": 3}]}, "components[0].decimals"),
        ({"components": [{"min": "5", "max": "4"}]}, "components[0].min"),
        ({"rankBuckets": []}, "rankBuckets"),
        ({"rankBuckets": [{"name": "a", "to": 3}, {"name": "b", "to": 3}]}, "rankBuckets[1].to"),
        ({"periods": []}, "periods"),
    ],
)
def test_an_invalid_board_is_refused(api: Api, rules: dict[str, object], field: str) -> None:
    kind, message = api.refusal(CREATE, input={"id": "board", **rules})
    assert kind == "InvalidInput"
    assert message.startswith(f"{field}:")


def test_a_board_is_updated_from_its_current_version_only(board: Api) -> None:
    buckets = [{"name": "podium", "to": 3}, {"name": "rest"}]
    changed = board.data(UPDATE, input={"id": "board", "version": 1, "title": "T", "rankBuckets": buckets})
    assert changed["title"] == "T"
    assert changed["rankBuckets"] == [
        {"name": "podium", "from": 1, "to": 3},
        {"name": "rest", "from": 4, "to": None},
    ]
    assert board.refusal(UPDATE, input={"id": "board", "version": 1, "title": "U"})[0] == "VersionConflict"
    # Omitted fields stay; null removes the title and restores the default buckets.
    same = board.data(UPDATE, input={"id": "board", "version": 2})
    assert same == {**changed, "version": 3}
    cleared = board.data(UPDATE, input={"id": "board", "version": 3, "title": None, "rankBuckets": None})
    assert cleared["title"] is None
    assert [bucket["name"] for bucket in cleared["rankBuckets"]][-1] == "Everyone"
    assert board.data('{ leaderboard(id: "board") { version } }') == {"version": 4}


def test_an_entry_is_updated(board: Api) -> None:
    board.submit("p", "7", displayName="Pia", metadata="[1]")
    key = {"leaderboardId": "board", "participantId": "p"}
    edited = board.data(UPDATE_ENTRY, input={**key, "metadata": '{"a": null}'})
    assert edited == {
        "metadata": '{"a": null}',
        "participant": {"displayName": "Pia"},
        "score": {"value": ["7"]},
        "submissions": 1,
        "rank": {"rank": 1},
    }
    renamed = board.data(UPDATE_ENTRY, input={**key, "displayName": "Pina"})
    assert (renamed["participant"]["displayName"], renamed["metadata"]) == ("Pina", '{"a": null}')
    cleared = board.data(UPDATE_ENTRY, input={**key, "displayName": None, "metadata": None})
    assert (cleared["participant"]["displayName"], cleared["metadata"]) == (None, None)
    assert board.refusal(UPDATE_ENTRY, input={**key, "participantId": "q"})[0] == "EntryNotFound"
    assert board.refusal(UPDATE_ENTRY, input={**key, "metadata": "{"})[0] == "InvalidInput"


def test_an_entry_is_removed(board: Api) -> None:
    board.submit("p", "7")
    assert board.data(REMOVE, id="p") == {
        "participant": {"id": "p"},
        "score": {"value": ["7"]},
        "rank": None,
    }
    assert board.data(REMOVE, id="p") is None
    assert board.data('{ leaderboard(id: "board") { entry(participantId: "p") { period } } }') == {
        "entry": None
    }


def test_mutations_of_one_request_run_in_order(board: Api) -> None:
    response = board.ask(
        """mutation {
          a: submitScore(input: {leaderboardId: "board", participantId: "a", score: "1"}) { ...Ranked }
          b: submitScore(input: {leaderboardId: "board", participantId: "b", score: "2"}) { ...Ranked }
          again: updateEntry(input: {leaderboardId: "board", participantId: "a"}) { rank { rank } }
        }
        fragment Ranked on Submission { entries { rank { rank } } }"""
    )
    assert response["data"] == {
        "a": {"entries": [{"rank": {"rank": 1}}]},
        "b": {"entries": [{"rank": {"rank": 1}}]},
        "again": {"rank": {"rank": 2}},
    }


@pytest.mark.parametrize(
    "query",
    [
        '{ leaderboard(id: "nope") { id } }',
        'mutation { updateLeaderboard(input: {id: "nope", version: 1}) { id } }',
        (
            'mutation { submitScore(input: {leaderboardId: "nope", participantId: "p", score: "1"}) '
            "{ accepted } }"
        ),
        'mutation { updateEntry(input: {leaderboardId: "nope", participantId: "p"}) { period } }',
        'mutation { removeEntry(leaderboardId: "nope", participantId: "p") { period } }',
    ],
)
def test_a_board_that_does_not_exist_is_not_found(api: Api, query: str) -> None:
    kind, message = api.refusal(query)
    assert kind == "LeaderboardNotFound"
    assert "nope" in message
