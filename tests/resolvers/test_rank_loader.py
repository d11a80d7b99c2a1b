"""Batched ranks: one core call for a page, however many entries it has."""

from collections.abc import Callable, Sequence
from contextvars import Context
from datetime import UTC, datetime
from typing import Any

import pytest

from core.boards import Boards
from core.domain.entry_item import entry_key
from core.domain.model import Board, Entry, Rank, RankStrategy
from core.ranking import ranks
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from tests.support.graphql_api import Api


@pytest.fixture
def api(db: Database, boards: Boards) -> Api:
    return Api(db, boards)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The participants of each later call of `ranks.rank_entries`."""
    calls: list[list[str]] = []
    rank_for_real = ranks.rank_entries

    def rank_entries(
        db: Database,
        board: Board,
        period: str,
        entries: Sequence[Entry],
        strategy: RankStrategy,
        *,
        positions: bool,
        total: int | None = None,
    ) -> list[Rank | None]:
        calls.append(sorted(entry.participant_id for entry in entries))
        return rank_for_real(db, board, period, entries, strategy, positions=positions, total=total)

    monkeypatch.setattr(ranks, "rank_entries", rank_entries)
    return calls


def test_a_page_is_ranked_by_one_core_call(
    api: Api, db: Database, boards: Boards, asked: list[list[str]]
) -> None:
    api.board(peakWritesPerSecond=100)
    board = boards.get("board")
    for place in range(120):
        submit_score(db, board, Submission(f"p{place:03}", [str(place % 50)]), now=datetime.now(UTC))
    query = """query ($limit: Int!, $rank: Boolean!) { leaderboard(id: "board") {
      entries(limit: $limit) { items { rank @include(if: $rank) { rank position } } }
    } }"""

    def requests(limit: int, *, rank: bool) -> int:
        response = api.ask(query, limit=limit, rank=rank)
        assert len(response["data"]["leaderboard"]["entries"]["items"]) == limit
        consumed: int = response["extensions"]["consumed"]["requests"]
        return consumed

    assert requests(100, rank=True) - requests(100, rank=False) <= requests(1, rank=True)
    assert [len(call) for call in asked] == [100, 1]


def test_an_entry_selected_twice_is_ranked_once(api: Api, asked: list[list[str]]) -> None:
    api.board()
    for participant, score in {"a": "3", "b": "2", "c": "2"}.items():
        api.submit(participant, score)
    board = api.data(
        """{ leaderboard(id: "board") {
          entriesOf(participantIds: ["a", "c"]) { one: rank { rank } two: rank { position } }
        } }"""
    )
    assert board["entriesOf"] == [
        {"one": {"rank": 1}, "two": {"position": 1}},
        {"one": {"rank": 2}, "two": {"position": 3}},
    ]
    assert asked == [["a", "c"]]


def test_each_board_and_strategy_is_ranked_by_its_own_call(api: Api, asked: list[list[str]]) -> None:
    for board in ("one", "two"):
        api.board(board)
        api.submit("a", "3", board=board)
    api.submit("b", "4", board="two")
    participant = api.data(
        """{ participant(id: "a") { entries { items {
          leaderboardId rank { rank } byIndex: rank(strategy: INDEX) { rank }
        } } } }"""
    )
    assert participant["entries"]["items"] == [
        {"leaderboardId": "one", "rank": {"rank": 1}, "byIndex": {"rank": 1}},
        {"leaderboardId": "two", "rank": {"rank": 2}, "byIndex": {"rank": 2}},
    ]
    assert asked == [["a"]] * 4


def test_a_hidden_entry_has_no_rank(api: Api, db: Database, boards: Boards) -> None:
    api.board()
    for participant in ("a", "b"):
        api.submit(participant, "1")
    db.client.update_item(
        TableName=db.tables.scores,
        Key=entry_key(boards.get("board"), "all-time", "a"),
        UpdateExpression="REMOVE rank_shard",
    )
    board = api.data(
        """{ leaderboard(id: "board") {
          entry(participantId: "a") { hidden score { value } rank { rank } }
          other: entry(participantId: "b") { hidden rank { rank } }
        } }"""
    )
    assert board["entry"] == {"hidden": True, "score": {"value": ["1"]}, "rank": None}
    assert board["other"] == {"hidden": False, "rank": {"rank": 1}}


def test_size_and_totals_of_one_answer_agree_while_entries_are_counted(
    api: Api, db: Database, boards: Boards, drain: Callable[[], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each call that ranks, one more entry is counted. The next answer shows them all."""
    api.board()
    for participant, score in {"a": "3", "b": "2", "c": "1"}.items():
        api.submit(participant, score)
    drain()
    rank_for_real = ranks.rank_entries
    added: list[str] = []

    def rank_entries(*args: Any, **kwargs: Any) -> list[Rank | None]:
        added.append(f"new{len(added)}")
        submission = Submission(added[-1], ["0"])
        Context().run(submit_score, db, boards.get("board"), submission, now=datetime.now(UTC))
        Context().run(drain)
        return rank_for_real(*args, **kwargs)

    monkeypatch.setattr(ranks, "rank_entries", rank_entries)
    for expected in (3, 5):
        board = api.data(
            """{ leaderboard(id: "board") {
              size
              top(limit: 2) { rank(strategy: INDEX) { total } }
              entry(participantId: "b") { rank(strategy: TREE) { total percentile } }
            } }"""
        )
        totals = [entry["rank"]["total"] for entry in [*board["top"], board["entry"]]]
        assert totals == [board["size"]] * 3 == [expected] * 3
