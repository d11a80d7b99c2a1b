"""A sum whose answer is lost on the way is added once.

botocore sends the update again then, and its condition fails on our own write, which must not be taken for
another writer's.
"""

from datetime import UTC, datetime

import pytest
from botocore.exceptions import ReadTimeoutError

from core.domain.board import define_board
from core.domain.model import ScorePolicy
from core.submissions.submit import Submission, submit_score


@pytest.mark.parametrize("before", [None, "1"])
def test_a_sum_whose_answer_is_lost_is_added_once(db, boards, monkeypatch, before):
    board = boards.create(define_board(id="sums", policy=ScorePolicy.SUM, now=datetime.now(UTC)))
    if before:
        submit_score(db, board, Submission("ann", [before]), now=datetime.now(UTC))
    session = db.client._endpoint.http_session
    send, to_lose = session.send, [1]

    def lossy(request):
        answer = send(request)
        if to_lose and "UpdateItem" in str(request.headers["X-Amz-Target"]):
            to_lose.pop()
            raise ReadTimeoutError(endpoint_url="lost")
        return answer

    monkeypatch.setattr(session, "send", lossy)
    result = submit_score(db, board, Submission("ann", ["10"]), now=datetime.now(UTC))
    assert result.entries[0].score == (11 if before else 10,)
