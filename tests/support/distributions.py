"""Boards of every kind of score, with distributions of scores that are hard to count."""

import random
from collections.abc import Callable, Sequence
from typing import Any

from core.domain.board import ComponentInput
from core.domain.model import ScoreKind, SortOrder

Score = tuple[int, ...]
Draw = Callable[[random.Random], Score]
Distribution = tuple[Callable[[SortOrder], Sequence[ComponentInput]], Draw]


def _one(kind: ScoreKind = ScoreKind.INTEGER, **bounds: Any) -> Callable[[SortOrder], list[ComponentInput]]:
    return lambda order: [ComponentInput(kind=kind, order=order, **bounds)]


def _composite(order: SortOrder) -> list[ComponentInput]:
    other = SortOrder.ASCENDING if order is SortOrder.DESCENDING else SortOrder.DESCENDING
    return [
        ComponentInput("points", order=order),
        ComponentInput("seconds", ScoreKind.DURATION, other),
        ComponentInput("quota", ScoreKind.DECIMAL, order, decimals=1, min="-5", max="5"),
    ]


# Scores are in units of the last decimal.
DISTRIBUTIONS: dict[str, Distribution] = {
    "uniform": (_one(), lambda rng: (rng.randint(-(10**6), 10**6),)),
    "normal": (_one(), lambda rng: (round(rng.gauss(100, 15)),)),
    "power law": (_one(), lambda rng: (min(2**62, int(rng.paretovariate(0.3))),)),
    "all equal": (_one(), lambda _: (7,)),
    "few distinct": (_one(), lambda rng: (rng.choice([-1, 0, 10**6]),)),
    "negative": (_one(), lambda rng: (-int(rng.paretovariate(0.7)),)),
    "whole range": (
        _one(),
        lambda rng: (rng.choice([-(2**63), 2**63 - 1, rng.randint(-(2**63), 2**63 - 1)]),),
    ),
    "one score a leaf": (_one(min="0", max="100"), lambda rng: (rng.choice([0, 100, rng.randint(0, 100)]),)),
    "narrow": (_one(min="-3", max="-3"), lambda _: (-3,)),
    "decimal": (_one(ScoreKind.DECIMAL, decimals=3), lambda rng: (round(rng.gauss(0, 5000)),)),
    "bounded decimal": (
        _one(ScoreKind.DECIMAL, decimals=2, min="-50", max="50"),
        lambda rng: (max(-5000, min(5000, round(rng.gauss(0, 5)))),),
    ),
    "duration": (_one(ScoreKind.DURATION), lambda rng: (60_000 + int(rng.expovariate(1 / 2000)),)),
    "timestamp": (_one(ScoreKind.TIMESTAMP, decimals=3), lambda rng: (rng.randint(-(10**10), 10**12),)),
    "composite": (
        _composite,
        lambda rng: (rng.choice([0, 25, 10**9]), rng.randint(0, 3), rng.randint(-50, 50)),
    ),
}
