"""`leaderboard import` run again: it changes nothing, and resumes where it stopped."""

import csv
import io
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.domain.model import (
    Board,
    PeriodKind,
    ScorePolicy,
)
from core.domain.periods import periods_reached
from core.ranking import queries
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score, submit_scores
from tests.support.importing import THEN, World, scores_of

REDUCE: dict[ScorePolicy, Callable[[list[int]], int]] = {
    ScorePolicy.BEST: max,
    ScorePolicy.SUM: sum,
    ScorePolicy.LATEST: lambda scores: scores[-1],
}


def many_rows(seed: int, participants: int = 20, rows: int = 300) -> list[tuple[str, int, datetime]]:
    chance = random.Random(seed)
    return [
        (
            f"p{chance.randrange(participants)}",
            chance.randrange(-50, 100),
            THEN.replace(minute=chance.randrange(60)),
        )
        for _ in range(rows)
    ]


def as_csv(rows: Sequence[tuple[str, int, datetime]], *, with_time: bool) -> str:
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["participantId", "score", *(["achievedAt"] if with_time else [])])
    writer.writerows(
        (who, score, when.isoformat()) if with_time else (who, score) for who, score, when in rows
    )
    return text.getvalue()


@pytest.mark.parametrize("with_time", [True, False])
@pytest.mark.parametrize("policy", ScorePolicy)
def test_running_again_changes_nothing(world: World, policy: ScorePolicy, *, with_time: bool) -> None:
    world.create(policy)
    rows = many_rows(seed=1)
    file = world.write(as_csv(rows, with_time=with_time))
    assert world.run(file, "--workers", "16") == 0
    first = world.entries()
    expected: dict[str, int] = {}
    if policy is ScorePolicy.SUM:
        for who, score, _ in rows:
            expected[who] = expected.get(who, 0) + score
    elif policy is ScorePolicy.BEST:
        for who, score, _ in rows:
            expected[who] = max(expected.get(who, score), score)
    else:  # the last in time; of one time, and without any, the last in the file
        in_time = sorted(rows, key=lambda row: row[2]) if with_time else rows
        expected = {who: score for who, score, _ in in_time}
    assert world.scores() == {who: (score,) for who, score in expected.items()}
    assert world.run(file, "--workers", "3") == 0
    assert world.entries() == first, "no version, time or count has changed"


@pytest.mark.parametrize("policy", ScorePolicy)
def test_running_again_keeps_what_was_submitted_since(world: World, policy: ScorePolicy) -> None:
    board = world.create(policy)
    file = world.write(as_csv([("ann", 3, THEN), ("ann", 5, THEN)], with_time=False))
    assert world.run(file) == 0
    submit_score(world.db, board, Submission("ann", ["70"]), now=datetime.now(UTC))
    os.utime(file)  # as if the file had just been copied
    assert world.run(file) == 0
    assert world.scores() == {"ann": (78 if policy is ScorePolicy.SUM else 70,)}


def test_a_growing_file_under_one_name_adds_only_its_new_rows(world: World) -> None:
    world.create(ScorePolicy.SUM)
    content = "participantId,score\nann,1\nbob,2\n"
    for grown in ("", "ann,4\n", "bob,8\nann,16\n"):
        content += grown
        assert world.run(world.write(content), "--source", "the log") == 0
    assert world.scores() == {"ann": (21,), "bob": (10,)}


def test_another_column_of_the_same_file_is_another_import(world: World) -> None:
    world.create(ScorePolicy.SUM)
    file = world.write("participantId,monday,tuesday\nann,1,10\n")
    for column in ("monday", "tuesday", "monday"):
        assert world.run(file, "--score", column) == 0
    assert world.scores() == {"ann": (11,)}


def test_a_sum_is_exact_after_the_import_was_killed_twice(world: World) -> None:
    board = world.create(ScorePolicy.SUM)
    rows = many_rows(seed=2, rows=1500)
    file = world.write(as_csv(rows, with_time=True))
    command = [sys.executable, "-c", "import sys; from local.cli import main; sys.exit(main())"]

    def applied() -> int:
        return sum(entry.submissions for entry in world.entries().values())

    for stop_at in (200, 500):
        with subprocess.Popen([*command, *world.arguments(file)], stdout=subprocess.DEVNULL) as process:
            while applied() < stop_at and process.poll() is None:
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            assert process.wait() == -signal.SIGKILL, "it ended before it was killed"
        assert stop_at <= applied() < sum(1 for _, score, _ in rows if score)
    assert world.run(file) == 0
    totals = Counter[str]()
    for who, score, _ in rows:
        totals[who] += score
    assert world.scores() == {who: (total,) for who, total in totals.items()}
    assert {entry.board.generation for entry in world.entries().values()} == {board.generation}


def test_an_import_that_stopped_resumes_there(
    world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Settled rows are not submitted again; refused rows are reported again."""
    monkeypatch.setattr("local.importing.checkpoint._SAVE_EVERY_SECONDS", 0.0)
    board = world.create(ScorePolicy.SUM)
    rows = [f"p{at % 7},{'x' if at == 3 else 1}" for at in range(60)]
    file = world.write("participantId,score\n" + "\n".join(rows))
    calls: list[int] = []

    def fail_late(db: Database, board: Board, submissions: Sequence[Submission], *, now: datetime) -> Any:
        calls.extend(one.sequence[1] for one in submissions if one.sequence)
        if len(calls) > 40:
            raise ConnectionError
        return submit_scores(db, board, submissions, now=now)

    def count(db: Database, board: Board, submissions: Sequence[Submission], *, now: datetime) -> Any:
        calls.extend(one.sequence[1] for one in submissions if one.sequence)
        return submit_scores(db, board, submissions, now=now)

    monkeypatch.setattr("local.importing.submit.submit_scores", fail_late)
    monkeypatch.setattr("local.importing.submit.MAX_SUBMISSIONS", 5)
    assert world.run(file, "--workers", "1") == 2
    calls.clear()
    monkeypatch.setattr("local.importing.submit.submit_scores", count)
    capsys.readouterr()
    assert world.run(file, "--workers", "1") == 1
    assert "line 5: score" in capsys.readouterr().out
    assert len(calls) <= 26
    assert sum(value for (value,) in scores_of(world.db, board).values()) == 59
    calls.clear()
    assert world.run(file) == 1  # it was complete: every row is submitted again
    assert len(calls) == 60
    assert sum(value for (value,) in scores_of(world.db, board).values()) == 59


@pytest.mark.parametrize("policy", ScorePolicy)
def test_rows_count_once_in_each_period_of_their_time(world: World, policy: ScorePolicy) -> None:
    board = world.create(policy, periods=list(PeriodKind))
    now = datetime.now(UTC)
    times = [now - timedelta(hours=hours) for hours in (20, 10, 0)]
    rows = "".join(f"ann,{score},{at.isoformat()}\n" for score, at in zip((5, 3, 4), times, strict=True))
    file = world.write(f"participantId,score,achievedAt\n{rows}")
    expected: dict[str, list[int]] = {}
    for score, at in zip((5, 3, 4), times, strict=True):
        for period in periods_reached(board, at, now):
            expected.setdefault(period, []).append(score)
    for _ in range(2):
        assert world.run(file) == 0
        found = queries.participant_entries(world.db, world.boards, "ann", 100).items
        assert {one.period: one.score[0] for one in found if one.board.id == board.id} == {
            period: REDUCE[policy](scores) for period, scores in expected.items()
        }


def test_old_results_are_refused_on_a_board_with_periods(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """A board with all time alone accepts them. A result in only some periods would be worse than none."""
    world.create(periods=[PeriodKind.ALL_TIME, PeriodKind.WEEKLY])
    now = datetime.now(UTC)
    file = world.write(
        f"participantId,score,achievedAt\nann,1,2024-01-02T03:04:05Z\nbob,2,{now.isoformat()}\n"
    )
    assert world.run(file) == 1
    assert (
        "achievedAt: is in weekly-2024-W01, which has been over for more than 24 hours"
        in capsys.readouterr().out
    )
    assert world.scores() == {"bob": (2,)}
