"""Whatever the database does, nothing acknowledged is lost or counted twice, and every call is answered."""

import pytest

from core.storage.database import Database
from tests.chaos.run import Run
from tests.chaos.settings import hurried


@pytest.mark.parametrize(
    "seed", [*range(15), *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(15, 120))]
)
def test_a_run(db: Database, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    hurried(monkeypatch)
    run = Run(db, seed)
    try:
        run.go()
    finally:
        run.faults.remove()
    assert run.answers > 20


def test_runs_do_meet_faults(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    hurried(monkeypatch)
    run = Run(db, 3)
    run.faults.rate = 0.6
    for second in range(60):
        run.submit(second)
    run.faults.remove()
    assert len(run.faults.made) >= 5
    assert run.retried > 0


def test_a_lost_submission_is_noticed(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check at the end can fail."""
    hurried(monkeypatch)
    run = Run(db, 5)
    run.submit(1)
    run.twin.oracle.submit("p8", (99,), run.twin.oracle.ranked()[0].achieved_at)
    run.calm_down()
    with pytest.raises(AssertionError):
        run.twin.check()
    run.faults.remove()
