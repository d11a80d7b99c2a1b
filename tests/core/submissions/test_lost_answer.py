"""A sum whose answer is lost on the way is added once.

botocore then sends the update again, and its condition fails on our own write, which must not be taken for
another writer's.
"""

from datetime import UTC, datetime

import pytest

from core.boards import Boards
from core.domain.board import define_board
from core.domain.model import ScorePolicy
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from tests.support.wire import Request, lose_answers


@pytest.mark.parametrize("before", [None, "1"])
def test_a_sum_whose_answer_is_lost_is_added_once(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch, before: str | None
) -> None:
    board = boards.create(define_board(id="sums", policy=ScorePolicy.SUM, now=datetime.now(UTC)))
    if before:
        submit_score(db, board, Submission("ann", [before]), now=datetime.now(UTC))
    to_lose = ["UpdateItem"]

    def first_update(operation: str, _: Request) -> bool:
        return operation in to_lose and to_lose.pop() == operation

    lose_answers(monkeypatch, db, first_update)
    result = submit_score(db, board, Submission("ann", ["10"]), now=datetime.now(UTC))
    assert not to_lose
    assert result.entries[0].score == (11 if before else 10,)
