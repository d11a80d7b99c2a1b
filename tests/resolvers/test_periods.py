"""Periods and submission ids over HTTP."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from core.boards import Boards
from core.storage.database import Database
from tests.support.graphql_api import Api

KINDS = {"all-time": None, "daily": "daily-%Y-%m-%d", "weekly": "weekly-%G-W%V", "monthly": "monthly-%Y-%m"}
UPDATE = (
    "mutation ($input: UpdateLeaderboardInput!) "
    "{ updateLeaderboard(input: $input) { version periods timeZone } }"
)
READ = """
query ($period: String) {
  leaderboard(id: "board") {
    size(period: $period)
    top(period: $period) { period score { display } rank { rank total } }
    entries(period: $period) { items { period participant { id } rank { position } } }
    entry(participantId: "ann", period: $period) { period rank { rank } }
    around(participantId: "ann", period: $period) { period participant { id } }
    entriesOf(participantIds: ["ann", "nobody"], period: $period) { period participant { id } }
  }
}
"""


@pytest.fixture
def api(db: Database) -> Api:
    return Api(db, Boards(db, cache_seconds=0))


@pytest.fixture
def board(api: Api) -> Api:
    api.board(periods=["ALL_TIME", "DAILY", "WEEKLY", "MONTHLY"], timeZone="UTC")
    return api


def keys(now: datetime) -> list[str]:
    return ["all-time", *(now.strftime(form) for form in KINDS.values() if form)]


def settled_keys() -> list[str]:
    """The current keys; skips the test just before midnight."""
    now = datetime.now(UTC)
    if (now + timedelta(minutes=5)).date() != now.date():
        pytest.skip("the day is about to end")
    return keys(now)


def test_a_board_shows_its_current_periods(board: Api) -> None:
    expected = settled_keys()
    periods = board.data('{ leaderboard(id: "board") { currentPeriods { kind key startsAt endsAt } } }')
    found = periods["currentPeriods"]
    assert [one["key"] for one in found] == expected
    assert [one["kind"] for one in found] == ["ALL_TIME", "DAILY", "WEEKLY", "MONTHLY"]
    assert (found[0]["startsAt"], found[0]["endsAt"]) == (None, None)
    day = expected[1].removeprefix("daily-")
    assert found[1]["startsAt"] == f"{day}T00:00:00Z"
    assert found[1]["endsAt"] == f"{datetime.fromisoformat(day) + timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}"


def test_a_submission_returns_every_period_and_a_query_returns_its_own(
    board: Api, drain: Callable[[], int]
) -> None:
    now = settled_keys()
    submission = board.submit("ann", "7")
    assert [entry["period"] for entry in submission["entries"]] == now
    board.submit("bob", "8")
    drain()
    for name, key in [*zip(KINDS, now, strict=True), *zip(now, now, strict=True)]:
        found = board.data(READ, period=name)
        assert found["size"] == 2
        assert found["top"] == [
            {"period": key, "score": {"display": score}, "rank": {"rank": rank, "total": 2}}
            for rank, score in ((1, "8"), (2, "7"))
        ]
        assert [entry["period"] for entry in found["entries"]["items"]] == [key] * 2
        assert found["entry"] == {"period": key, "rank": {"rank": 2}}
        assert [entry["period"] for entry in found["around"]] == [key] * 2
        assert found["entriesOf"] == [{"period": key, "participant": {"id": "ann"}}]
    query = '{ participant(id: "ann") { entries { items { period rank { rank } } } } }'
    found = board.data(query)["entries"]["items"]
    assert sorted(entry["period"] for entry in found) == sorted(now)
    assert all(entry["rank"] == {"rank": 2} for entry in found)


def test_the_readmes_examples_of_periods_work(api: Api, drain: Callable[[], int]) -> None:
    section = (
        (Path(__file__).parents[2] / "README.md").read_text().split("\n## Periods\n")[1].split("\n## ")[0]
    )
    make, read = re.findall(r"```graphql\n(.*?)```", section, re.DOTALL)
    week = f"{datetime.now(UTC):weekly-%G-W%V}"
    made = api.ask(make)
    assert "errors" not in made
    assert len(made["data"]["submitScore"]["entries"]) == 4
    drain()
    found = api.ask(read.replace("weekly-2026-W49", week))
    assert "errors" not in found
    assert [entry["participant"]["id"] for entry in found["data"]["leaderboard"]["today"]] == ["ann"]


def test_past_and_future_periods_are_empty(board: Api) -> None:
    board.submit("ann", "7")
    yesterday = keys(datetime.now(UTC) - timedelta(days=3))[1]
    for period in (yesterday, "monthly-2099-01"):
        found = board.data(READ, period=period)
        assert found == {
            "size": 0,
            "top": [],
            "entries": {"items": []},
            "entry": None,
            "around": None,
            "entriesOf": [],
        }


@pytest.mark.parametrize(
    ("period", "rule"),
    [
        ("hourly", "period: must be all-time, daily"),
        ("daily-2026-02-30", "period: must be all-time, daily"),
        ("daily-2024-01-01", "period: daily-2024-01-01 is gone, 35 days after its end"),
    ],
)
def test_an_invalid_or_expired_period_is_refused(board: Api, period: str, rule: str) -> None:
    query = 'query ($period: String) { leaderboard(id: "board") { top(period: $period) { period } } }'
    kind, message = board.refusal(query, period=period)
    assert kind == "InvalidInput"
    assert message.startswith(rule)


def test_a_retry_is_answered_as_the_first_submission_was(board: Api) -> None:
    board.submit("ann", "5")
    first = board.submit("ann", "7", submissionId="1", metadata='{"a": 1}')
    assert (first["accepted"], first["duplicate"], first["previousScore"]) == (True, False, {"value": ["5"]})
    board.submit("ann", "9")
    again = board.submit("ann", "7", submissionId="1", metadata='{"a": 1}')
    assert (again["accepted"], again["duplicate"], again["previousScore"]) == (True, True, {"value": ["5"]})
    assert [entry["score"] for entry in again["entries"]] == [{"value": ["9"]}] * 4


def test_other_content_under_the_same_submission_id_is_a_conflict(board: Api) -> None:
    board.submit("ann", "5", submissionId="1")
    submit = "mutation ($input: SubmitScoreInput!) { submitScore(input: $input) { accepted } }"
    attempt = {"leaderboardId": "board", "participantId": "ann", "score": ["6"], "submissionId": "1"}
    kind, message = board.refusal(submit, input=attempt)
    assert kind == "SubmissionConflict"
    assert message.startswith("submissionId: '1' came with another submission before")


def test_a_score_after_the_grace_time_is_refused(board: Api) -> None:
    submit = "mutation ($input: SubmitScoreInput!) { submitScore(input: $input) { accepted } }"
    attempt = {
        "leaderboardId": "board",
        "participantId": "ann",
        "score": ["6"],
        "achievedAt": "2024-01-01T00:00:00Z",
    }
    assert board.refusal(submit, input=attempt) == (
        "InvalidInput",
        (
            "achievedAt: is in daily-2024-01-01, which has been over for more than 24 hours "
            "and takes no more scores"
        ),
    )


def test_periods_and_time_zone_can_be_changed(board: Api) -> None:
    changed = board.data(UPDATE, input={"id": "board", "version": 1, "periods": ["ALL_TIME", "WEEKLY"]})
    assert changed == {"version": 2, "periods": ["ALL_TIME", "WEEKLY"], "timeZone": "UTC"}
    changed = board.data(UPDATE, input={"id": "board", "version": 2, "timeZone": "Pacific/Apia"})
    assert changed == {"version": 3, "periods": ["ALL_TIME", "WEEKLY"], "timeZone": "Pacific/Apia"}
    same = board.data(UPDATE, input={"id": "board", "version": 3, "timeZone": None, "periods": None})
    assert same == changed | {"version": 4}
    assert len(board.submit("ann", "1")["entries"]) == 2


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"periods": []}, "periods: must name at least one period, and each once"),
        ({"periods": ["DAILY", "DAILY"]}, "periods: must name at least one period, and each once"),
        (
            {"timeZone": "Mars/Olympus"},
            "timeZone: must be an IANA name such as Europe/Rome, not 'Mars/Olympus'",
        ),
        ({"timeZone": ""}, "timeZone: must be an IANA name such as Europe/Rome, not ''"),
    ],
)
def test_invalid_periods_and_time_zones_are_refused(board: Api, change: dict[str, Any], rule: str) -> None:
    assert board.refusal(UPDATE, input={"id": "board", "version": 1, **change}) == ("InvalidInput", rule)
    create = "mutation ($input: CreateLeaderboardInput!) { createLeaderboard(input: $input) { id } }"
    assert board.refusal(create, input={"id": "new", **change}) == ("InvalidInput", rule)
