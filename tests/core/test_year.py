"""A year of submissions to a board of all four kinds of period, in five time zones, against the oracle."""

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.boards import Boards
from core.domain.board import ComponentInput
from core.domain.model import CounterMode, ScorePolicy, SortOrder, TieBreak
from core.storage.database import Database
from tests.support.season import Season

YEAR = datetime(2026, 1, 1, tzinfo=UTC)
LATENESS = [0, 0, 0, 0, 1, 5, 20, 30, 47, 49, 200]  # hours
RULES: dict[str, dict[str, Any]] = {
    "Europe/Rome": {},
    "America/New_York": {"policy": ScorePolicy.SUM, "components": [ComponentInput(min="-900", max="900")]},
    "Pacific/Kiritimati": {"policy": ScorePolicy.LATEST, "counter_mode": CounterMode.INLINE},
    "Pacific/Pago_Pago": {"counter_mode": CounterMode.TRANSACTIONAL, "tie_break": TieBreak.LATEST},
    "Australia/Lord_Howe": {
        "components": [ComponentInput("a"), ComponentInput("b", order=SortOrder.ASCENDING)]
    },
}


def run_year(db: Database, boards: Boards, drain: Callable[[], int], zone: str, submissions: int) -> None:
    chance = random.Random(f"{zone} {submissions}")
    season = Season.make(
        db, Boards(db, 0), YEAR, id="year", time_zone=zone, peak_writes_per_second=1, **RULES[zone]
    )
    width = len(season.board.components)
    answered: list[tuple[str, tuple[str, tuple[int, ...], datetime | None]]] = []
    # In groups within 30 hours, so that several fall into one day; spread over the year.
    moments = [YEAR + chance.random() * timedelta(days=365) for _ in range(submissions // 5)]
    times = sorted(chance.choice(moments) + chance.random() * timedelta(hours=30) for _ in range(submissions))
    for number, now in enumerate(times):
        at = now - timedelta(hours=chance.choice(LATENESS), seconds=chance.randrange(3600))
        participant, score = chance.choice("abc"), tuple(chance.randrange(-300, 300) for _ in range(width))
        given_at = chance.choice([at, at, None])
        name = f"{number}" if chance.random() < 0.3 else None
        season.submit(participant, *score, now=now, at=given_at, submission_id=name)
        if name in season.answers:
            answered.append((name, (participant, score, given_at)))
        if answered and chance.random() < 0.2:
            name, (participant, score, given_at) = chance.choice(answered)
            season.submit(participant, *score, now=now, at=given_at, submission_id=name)
    drain()
    kinds = {
        kind: [key for key in season.twins if key.startswith(kind)] for kind in ("daily", "weekly", "monthly")
    }
    assert len(kinds["monthly"]) > 5
    some = [key for keys in kinds.values() for key in chance.sample(keys, min(6, len(keys)))]
    season.check(["all-time", *some], page_sizes=[2], radii=[1])
    for twin in season.twins.values():
        twin.check_pages(100)


@pytest.mark.parametrize("zone", RULES)
def test_a_year_of_four_kinds_of_period_agrees_with_the_oracle(
    lean: Database, boards: Boards, drain: Callable[[], int], zone: str
) -> None:
    run_year(lean, boards, drain, zone, 50)


@pytest.mark.thorough
@pytest.mark.parametrize("zone", RULES)
def test_a_full_year_of_four_kinds_of_period_agrees_with_the_oracle(
    lean: Database, boards: Boards, drain: Callable[[], int], zone: str
) -> None:
    run_year(lean, boards, drain, zone, 700)
