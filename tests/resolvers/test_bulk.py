"""submitScores: an outcome for each submission."""

import pytest

from core.boards import Boards
from core.storage.database import Database
from tests.support.graphql_api import Api

SUBMIT = """mutation ($inputs: [SubmitScoreInput!]!) { submitScores(inputs: $inputs) {
  errorType errorMessage submission { accepted previousScore { display } entries { score { display } } }
} }"""


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    api = Api(db, boards)
    api.board("best")
    api.board("sum", policy="SUM")
    return api


def score(board: str, participant: str, value: str, **more: str) -> dict[str, object]:
    return {"leaderboardId": board, "participantId": participant, "score": [value], **more}


def test_each_submission_has_its_own_outcome_in_the_order_of_the_inputs(api: Api) -> None:
    outcomes = api.data(
        SUBMIT,
        inputs=[
            score("best", "ann", "5"),
            score("nope", "ann", "5"),
            score("sum", "ann", "2"),
            score("best", "ann", "x"),
            score("best", "ann", "4"),
            score("sum", "ann", "3"),
            score("best", "", "3"),
            score("best", "bob", "1", submissionId=""),
        ],
    )
    assert [outcome["errorType"] for outcome in outcomes] == [
        None,
        "LeaderboardNotFound",
        None,
        "InvalidScore",
        None,
        None,
        "InvalidInput",
        "InvalidInput",
    ]
    accepted = [outcome["submission"] for outcome in outcomes if outcome["submission"]]
    assert [(one["accepted"], one["entries"][0]["score"]["display"]) for one in accepted] == [
        (True, "5"),
        (True, "2"),
        (False, "5"),
        (True, "5"),
    ]
    assert "score" in outcomes[3]["errorMessage"]


def test_a_hundred_submissions_cost_a_read_and_a_write_each(api: Api) -> None:
    inputs = [score("best", f"p{at}", str(at)) for at in range(100)]
    first = api.ask(SUBMIT, inputs=inputs)["extensions"]["consumed"]
    assert first["writeUnits"] == 200  # table and index, as for one at a time
    assert first["readUnits"] <= 101  # a consistent read each, and the board
    again = api.ask(SUBMIT, inputs=inputs)["extensions"]["consumed"]
    assert again["writeUnits"] == 0


@pytest.mark.parametrize("count", [0, 100, 101])
def test_more_than_a_hundred_submissions_are_refused(api: Api, count: int) -> None:
    response = api.ask(SUBMIT, inputs=[score("sum", "ann", "1")] * count)
    if count > 100:
        assert response["errors"][0]["errorType"] == "InvalidInput"
    else:
        assert len(response["data"]["submitScores"]) == count
