"""Boards to measure, each with another distribution of scores."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from core.domain.board import ComponentInput, define_board
from core.domain.model import Board, CounterMode, ScoreKind, ScorePolicy, SortOrder

START = datetime(2024, 1, 1, tzinfo=UTC)
_STEP = timedelta(seconds=1)

Score = tuple[int, ...]


@dataclass(frozen=True)
class Participant:
    """One entry of a board."""

    id: str
    score: Score
    achieved_at: datetime


@dataclass(frozen=True)
class Distribution:
    """How scores are spread, in units of the last decimal place, and what the board declares of them."""

    name: str
    about: str
    draw: Callable[[random.Random], Score]
    components: tuple[ComponentInput, ...] = (ComponentInput(),)
    declares_size: bool = True
    definition: dict[str, Any] = field(default_factory=dict)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle by name: the function that draws scores cannot be pickled."""
        return _by_name, (self.name,)

    def board(self, size: int, board_id: str = "bench", mode: CounterMode = CounterMode.STREAM) -> Board:
        """Return a board for `size` entries."""
        return define_board(
            id=board_id,
            now=START,
            components=self.components,
            policy=ScorePolicy.LATEST,
            counter_mode=mode,
            expected_size=size if self.declares_size else None,
            **self.definition,
        )

    def participants(self, size: int, seed: int = 1) -> list[Participant]:
        """Draw entries in the order of arrival; each achieved its score when it arrived."""
        chance = random.Random(seed)
        return [
            Participant(f"player-{number:07}", self.draw(chance), START + number * _STEP)
            for number in range(size)
        ]


def _bounded(low: str, high: str, **more: Any) -> tuple[ComponentInput, ...]:
    return (ComponentInput(min=low, max=high, **more),)


def _uniform(chance: random.Random) -> Score:
    return (chance.randrange(1_000_000),)


def _composite(chance: random.Random) -> Score:
    return (min(1_000, int(chance.expovariate(1 / 120))), int(chance.lognormvariate(11, 0.4)))


DISTRIBUTIONS = (
    Distribution("uniform", "0 to 999,999, bounds and size declared", _uniform, _bounded("0", "999999")),
    Distribution("undeclared", "the same scores, nothing declared", _uniform, declares_size=False),
    Distribution(
        "normal",
        "mean 50,000, deviation 15,000, no bounds",
        lambda chance: (round(chance.gauss(50_000, 15_000)),),
    ),
    Distribution(
        "power law",
        "Pareto from 10 on, exponent 1.2, nothing declared",
        lambda chance: (int(10 * chance.paretovariate(1.2)),),
        declares_size=False,
    ),
    Distribution("all equal", "everyone has 100, nothing declared", lambda _: (100,), declares_size=False),
    Distribution(
        "few distinct",
        "10 scores from 0 to 100, bounds and size declared",
        lambda chance: (chance.randrange(10) * 11,),
        _bounded("0", "100"),
    ),
    Distribution(
        "dense",
        "3,000 scores, bounds and size declared",
        lambda chance: (chance.randrange(3_000),),
        _bounded("0", "2999"),
    ),
    Distribution(
        "negative",
        "mean -500,000, deviation 100,000, no bounds",
        lambda chance: (round(chance.gauss(-500_000, 100_000)),),
    ),
    Distribution(
        "decimal",
        "exponential, mean 1,000, 3 places, nothing declared",
        lambda chance: (int(1_000 * chance.expovariate(1 / 1_000)),),
        (ComponentInput(kind=ScoreKind.DECIMAL, decimals=3),),
        declares_size=False,
    ),
    Distribution(
        "duration",
        "log-normal around 90 s, shortest first, ms, no bounds",
        lambda chance: (int(90_000 * chance.lognormvariate(0, 0.3)),),
        (ComponentInput(kind=ScoreKind.DURATION, order=SortOrder.ASCENDING),),
    ),
    Distribution(
        "composite",
        "points to 1,000 downwards, then time upwards, bounds declared",
        _composite,
        (
            ComponentInput("points", min="0", max="1000"),
            ComponentInput("time", ScoreKind.DURATION, SortOrder.ASCENDING, min="0 ms", max="24 h"),
        ),
    ),
)

BY_NAME = {distribution.name: distribution for distribution in DISTRIBUTIONS}


def _by_name(name: str) -> Distribution:
    return BY_NAME[name]
