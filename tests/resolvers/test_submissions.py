"""submitScore, over HTTP and the real engine."""

from datetime import UTC, datetime, timedelta

import pytest

from core.boards import Boards
from core.storage.database import Database
from tests.support.graphql_api import SUBMIT, Api


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    return Api(db, boards)


@pytest.fixture
def board(api: Api) -> Api:
    api.board()
    return api


def test_a_submission_returns_the_entry_and_the_previous_score(board: Api) -> None:
    first = board.submit(
        "p",
        "7",
        displayName="Pia",
        metadata='{ "team":"red",  "n": 1.0 }',
        achievedAt="2026-01-01T01:00:00.25+01:00",
    )
    assert first == {
        "accepted": True,
        "duplicate": False,
        "previousScore": None,
        "entries": [
            {
                "leaderboardId": "board",
                "period": "all-time",
                "participant": {"id": "p", "displayName": "Pia"},
                "score": {"value": ["7"]},
                "submissions": 1,
                "metadata": '{ "team":"red",  "n": 1.0 }',
                "achievedAt": "2026-01-01T00:00:00.250000Z",
            }
        ],
    }
    worse = board.submit("p", "6")
    assert not worse["accepted"]
    assert worse["previousScore"] == {"value": ["7"]}
    assert worse["entries"] == first["entries"]
    better = board.submit("p", "8", displayName=None, metadata=None, achievedAt=None)
    assert better["previousScore"] == {"value": ["7"]}
    (entry,) = better["entries"]
    assert entry["score"] == {"value": ["8"]}
    assert entry["participant"]["displayName"] == "Pia"


def test_a_single_value_needs_no_list(board: Api) -> None:
    literal = board.data(
        'mutation { submitScore(input: {leaderboardId: "board", participantId: "p", score: "9011"})'
        " { entries { score { value number display } } } }"
    )
    assert literal["entries"] == [{"score": {"value": ["9011"], "number": 9011.0, "display": "9011"}}]
    as_variable = board.data(SUBMIT, input={"leaderboardId": "board", "participantId": "p", "score": "9012"})
    assert as_variable["entries"][0]["score"]["value"] == ["9012"]


def test_a_composite_score_is_exact(api: Api) -> None:
    api.board(components=[{"name": "goals"}, {"name": "handicap", "kind": "DECIMAL", "order": "ASCENDING"}])
    submission = api.data(
        """mutation { submitScore(input: {
          leaderboardId: "board", participantId: "p", score: ["9223372036854775807", "-3.50"]
        }) { entries { score { value number display } } } }"""
    )
    assert submission["entries"][0]["score"] == {
        "value": ["9223372036854775807", "-3.50"],
        "number": float(2**63 - 1),
        "display": "9223372036854775807 / -3.5",
    }


@pytest.mark.parametrize("score", [[""], ["abc"], ["NaN"], ["1e400"], ["1.5"], ["1", "2"], [], ["9" * 100]])
def test_an_invalid_score_is_refused(board: Api, score: list[str]) -> None:
    error = board.error(SUBMIT, input={"leaderboardId": "board", "participantId": "p", "score": score})
    assert error["errorType"] == "InvalidScore"
    assert error["path"] == ["submitScore"]
    assert "score" in error["message"]
    assert board.data('{ participant(id: "p") { id } }') is None


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"participantId": ""}, "participantId"),
        ({"participantId": "a\x00"}, "participantId"),
        ({"metadata": "{"}, "metadata"),
        ({"metadata": ""}, "metadata"),
        ({"metadata": "NaN"}, "metadata"),
        ({"metadata": "[" * 900}, "metadata"),
        ({"metadata": f'"{"m" * 1024}"'}, "metadata"),
        ({"metadata": '"\ud800"'}, "metadata"),
        ({"displayName": "\ud800"}, "displayName"),
        ({"displayName": "n" * 300}, "displayName"),
        ({"achievedAt": (datetime.now(UTC) + timedelta(days=2)).isoformat()}, "achievedAt"),
    ],
)
def test_an_invalid_submission_is_refused(board: Api, given: dict[str, str], field: str) -> None:
    whole = {"leaderboardId": "board", "participantId": "p", "score": "1", **given}
    kind, message = board.refusal(SUBMIT, input=whole)
    assert kind == "InvalidInput"
    assert message.startswith(f"{field}:")


@pytest.mark.parametrize(
    "moment",
    [
        "2026-01-01T00:00:00",
        "2026-01-01",
        "yesterday",
        "",
        "2026-13-01T00:00:00Z",
        "2026-01-01T24:61:00Z",
        "20260101T000000Z",
        "2026-01-01 00:00:00Z",
        "2026-01-01T00:00:00+99:00",
        "0001-01-01T00:00:00+10:00",
        "٢٠٢٦-01-01T00:00:00Z",
        1767225600,
        True,
    ],
)
def test_an_invalid_time_is_refused(board: Api, moment: object) -> None:
    error = board.error(
        SUBMIT,
        input={"leaderboardId": "board", "participantId": "p", "score": "1", "achievedAt": moment},
    )
    assert error["errorType"] == "InvalidInput"
    assert "achievedAt" in error["message"]
    assert "2026-11-30T12:00:00Z" in error["message"]  # the example to follow


@pytest.mark.parametrize(
    ("moment", "kept"),
    [
        ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"),
        ("2026-01-01t00:00:00z", "2026-01-01T00:00:00Z"),
        ("2026-01-01T00:00:00.123456789Z", "2026-01-01T00:00:00.123456Z"),
        ("2025-12-31T19:30:00-04:30", "2026-01-01T00:00:00Z"),
    ],
)
def test_a_time_is_returned_in_utc(board: Api, moment: str, kept: str) -> None:
    (entry,) = board.submit("p", "1", achievedAt=moment)["entries"]
    assert entry["achievedAt"] == kept


@pytest.mark.parametrize("metadata", ["{a: 1}", "[1]", "3", "true"])
def test_metadata_is_json_as_a_string(board: Api, metadata: str) -> None:
    kind, message = board.refusal(
        'mutation { submitScore(input: {leaderboardId: "board", participantId: "p", score: "1", '
        f"metadata: {metadata}}}) {{ accepted }} }}"
    )
    assert kind == "InvalidInput"
    assert "JSON as a string" in message
