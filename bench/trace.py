"""Traces of score updates, the same for every design that is measured."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from bench.distributions import BY_NAME, START, Distribution, Participant, Score

PER_SECOND = 1_000
REDRAW, CLIMB = "anew", "climbing"
_CLIMB = 0.002  # mean step, as a share of the range of scores
_BEGIN = START + timedelta(days=365)  # after every entry of a board


@dataclass(frozen=True)
class Scenario:
    """The boards to update: all have the same definition and number of entries."""

    name: str
    distribution: Distribution
    boards: int
    entries: int

    @property
    def scores(self) -> int:
        """The number of possible scores."""
        first = self.distribution.board(self.entries).components[0]
        return first.high - first.low + 1


SCENARIOS = (
    Scenario("One dense board of 100,000", BY_NAME["dense"], 1, 100_000),
    Scenario("One dense board of 1,000,000", BY_NAME["dense"], 1, 1_000_000),
    Scenario("One sparse board of 1,000,000", BY_NAME["uniform"], 1, 1_000_000),
    Scenario("1,000 boards of 1,000", BY_NAME["uniform"], 1_000, 1_000),
)


@dataclass(frozen=True)
class Update:
    """One accepted submission: the entry before and after."""

    board: int
    old: Participant
    new: Participant
    version: int  # of the new one


@dataclass
class Trace:
    """An endless series of updates of participants, picked uniformly.

    A new score is drawn from the board's distribution, or climbs by 0.2 % of the range on average and starts
    again at its end. Time advances with every update.
    """

    scenario: Scenario
    boards: list[list[Participant]]
    movement: str = REDRAW
    _versions: dict[tuple[int, int], int] = field(default_factory=dict)
    _taken: int = 0

    def __post_init__(self) -> None:
        self._chance = random.Random(2)
        self._best = self.scenario.distribution.board(self.scenario.entries).components[0].high

    def take(self, count: int) -> list[Update]:
        """Return the next updates."""
        return [self._next() for _ in range(count)]

    def _next(self) -> Update:
        board = self._chance.randrange(len(self.boards))
        at = self._chance.randrange(len(self.boards[board]))
        old = self.boards[board][at]
        self._taken += 1
        achieved_at = _BEGIN + timedelta(seconds=self._taken / PER_SECOND)
        new = self.boards[board][at] = replace(old, score=self._score(old.score), achieved_at=achieved_at)
        version = self._versions[board, at] = self._versions.get((board, at), 1) + 1
        return Update(board, old, new, version)

    def _score(self, old: Score) -> Score:
        if self.movement == CLIMB:
            new = old[0] + 1 + int(self._chance.expovariate(1 / (_CLIMB * self.scenario.scores)))
            if new <= self._best:
                return (new,)
        while (drawn := self.scenario.distribution.draw(self._chance)) == old:
            pass
        return drawn


def by_stream_shard(updates: Sequence[Update], shards: int) -> list[list[Update]]:
    """Split updates by stream shard, as DynamoDB does: by participant, the table's partition key."""
    split: list[list[Update]] = [[] for _ in range(shards)]
    for one in updates:
        split[random.Random(one.new.id).randrange(shards)].append(one)
    return split
