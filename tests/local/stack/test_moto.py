"""A board on moto, which the local stack uses if its engine is missing."""

from collections.abc import Iterator

import pytest
from moto import mock_aws

from core.boards import Boards
from core.domain.errors import LeaderboardExists, LeaderboardNotFound
from core.domain.model import ScorePolicy, TieBreak
from core.ranking.pages import entries
from core.ranking.queries import top
from core.storage.database import Database, Tables, connect
from core.storage.tables import create_tables
from tests.support.twin import ALL_TIME, Twin


@pytest.fixture
def moto(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setenv("LEADERBOARD_DYNAMODB_CLIENT", "boto3")  # moto answers within boto3's client
    with mock_aws():
        db = connect(
            Tables.with_prefix("moto"), region="eu-south-1", access_key="testing", secret_key="testing"
        )
        create_tables(db)
        create_tables(db)  # existing tables are left as they are
        yield db


@pytest.fixture
def moto_boards(moto: Database) -> Boards:
    return Boards(moto, cache_seconds=0)


def test_a_board_is_created_once(moto_boards: Boards, moto: Database) -> None:
    with pytest.raises(LeaderboardNotFound):
        moto_boards.get("races")
    board = Twin.make(moto, moto_boards, id="races", title="Races").board
    assert moto_boards.get("races") == board
    with pytest.raises(LeaderboardExists):
        Twin.make(moto, moto_boards, id="races")


@pytest.mark.parametrize("tie_break", TieBreak)
@pytest.mark.parametrize("policy", ScorePolicy)
def test_each_policy_keeps_the_same_entries_as_the_oracle(
    moto: Database, moto_boards: Boards, policy: ScorePolicy, tie_break: TieBreak
) -> None:
    twin = Twin.make(moto, moto_boards, policy=policy, tie_break=tie_break, peak_writes_per_second=1)
    for participant, score, at in [
        ("a", 5, 1),
        ("b", 5, 0),
        ("a", 5, 0),
        ("a", 0, 2),
        ("c", -3, 2),
        ("a", 5, 3),
    ]:
        twin.submit(participant, score, at=at)
    twin.check_top(10)
    twin.check_pages(2)
    for participant in "abc":
        twin.check_own(participant)
        twin.check_around(participant, 1)


def test_a_removed_entry_is_gone(moto: Database, moto_boards: Boards) -> None:
    twin = Twin.make(moto, moto_boards)
    twin.submit("a", 2)
    twin.submit("b", 1)
    twin.remove("a")
    twin.remove("a")
    assert [entry.participant_id for entry in top(moto, twin.board, ALL_TIME, 10)] == ["b"]
    assert [entry.participant_id for entry in entries(moto, twin.board, ALL_TIME, 10).items] == ["b"]
