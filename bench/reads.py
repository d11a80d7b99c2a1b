"""Measure what each way of reading a board costs, and check every rank."""

import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from bench.distributions import Distribution
from bench.growth_simulation import Shape, shape_of
from bench.loading import Filled, Progress, engine_with, entry_bytes
from bench.probe import Probe, Reading
from core.counters.cache import CounterCache
from core.counters.known_trees import Trees
from core.domain.keys import standings_key
from core.domain.model import Board, Entry, Rank, RankStrategy
from core.domain.page_tokens import encode_token
from core.domain.periods import ALL_TIME
from core.domain.rank_key import just_above, participant_of, score_bytes
from core.ranking.pages import entries
from core.ranking.queries import around, entries_of, entry, top
from core.ranking.ranks import rank_entries
from core.storage.database import Database
from core.tree.shape import TIES_GROW_AT, capacity
from core.upkeep.checks import check

_DELAY = 0.015  # seconds that each request waits, so that those sent at once overlap

# What a process has cached before the read: nothing; the tree's shape or the ladder, as after an earlier read
# of the same kind; or the shape without recent counts.
COLD, WARM, PAUSED = "cold", "warm", "after a pause"


PLACES = ("1st", "1,000th", "middle", "last")


@dataclass(frozen=True)
class RankRead:
    """One way to read an entry and its rank."""

    strategy: RankStrategy
    state: str
    positions: bool

    def __str__(self) -> str:
        return f"{self.strategy.value} {self.state}{' +position' if self.positions else ''}"


RANK_READS = (
    RankRead(RankStrategy.INDEX, COLD, positions=False),
    *(
        RankRead(strategy, state, positions)
        for strategy in (RankStrategy.TREE, RankStrategy.LADDER)
        for state in (COLD, WARM)
        for positions in (False, True)
    ),
    RankRead(RankStrategy.APPROXIMATE, WARM, positions=False),
    *(
        RankRead(RankStrategy.AUTO, state, positions)
        for state in (COLD, PAUSED, WARM)
        for positions in (False, True)
    ),
)


@dataclass(frozen=True)
class Place:
    """A position on a board, and what it costs to read its entry with the rank."""

    name: str
    at: int  # from 0 on
    one_score: bool  # whether its leaf holds a single score
    in_leaf: int
    costs: dict[RankRead, Reading] = field(default_factory=dict)


@dataclass(frozen=True)
class BoardCosts:
    """The measurements of one board."""

    distribution: Distribution
    size: int
    shards: int  # of the rank index
    entry_bytes: int  # on the rank index
    shape: Shape
    places: Sequence[Place]
    others: dict[str, Reading]
    drifts: int
    wrong: Sequence[str]

    def __str__(self) -> str:
        return f"{self.distribution.name} of {self.size:,}"


def measure(distribution: Distribution, size: int, progress: Progress) -> BoardCosts:
    """Load a board, recount it to check its counters, and read it in every way."""
    progress("drawing entries")
    filled = Filled(distribution.board(size), distribution.participants(size))
    with engine_with([filled], progress) as db:
        progress("recounting")
        drifts = len(check(db, filled.board, filled.standings, patience=0).drifts)
        bench = _Bench(db, filled)
        places = []
        for name, at in _places(size):
            progress(f"reading the {name}")
            places.append(bench.place(name, at))
        progress("reading pages")
        others = bench.others()
    return BoardCosts(
        distribution=distribution,
        size=size,
        shards=filled.board.shards,
        entry_bytes=entry_bytes(filled),
        shape=shape_of(filled.tree, filled.standings),
        places=places,
        others=others,
        drifts=drifts,
        wrong=bench.wrong,
    )


def _places(size: int) -> list[tuple[str, int]]:
    """Return the names and indexes of the positions to read."""
    at = dict(zip(PLACES, (0, 999, size // 2, size - 1), strict=True))
    return [(name, place) for name, place in at.items() if place < size - 1 or name == "last"]


@dataclass
class _Bench:
    """One loaded board under measurement."""

    db: Database
    filled: Filled
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.board: Board = self.filled.board
        self.order = self.filled.order
        self.probe = Probe(self.db, _DELAY)

    def place(self, name: str, at: int) -> Place:
        """Measure every way to read the entry at a position and its rank."""
        key = self.order[at]
        leaf = Trees(self.db, self.board, self.filled.standings).locate([key])[1][key]
        first = bisect_left(self.order, leaf.low)
        end = len(self.order) if leaf.high is None else bisect_left(self.order, leaf.high)
        one_score = capacity(self.board, leaf.low, leaf.high) == TIES_GROW_AT
        found = Place(name, at, one_score, end - first)
        for read in RANK_READS:
            again = read.state == WARM
            found.costs[read] = _least(partial(self._rank_cost, at, read), again=again)
        return found

    def others(self) -> dict[str, Reading]:
        """Measure the reads of more than one entry's rank."""
        middle = len(self.order) // 2
        listing = f"entries {standings_key(self.board.id, ALL_TIME, self.board.generation)}"
        token = encode_token(listing, self.order[max(0, middle - 1)])
        some = [participant_of(self.board, self.order[at * len(self.order) // 20]) for at in range(20)]
        me = participant_of(self.board, self.order[middle])
        reads: dict[str, Callable[[Database], Sequence[Entry]]] = {
            "entry": lambda db: [own] if (own := entry(db, self.board, ALL_TIME, me)) else [],
            "top 10": lambda db: top(db, self.board, ALL_TIME, 10),
            "first 100": lambda db: entries(db, self.board, ALL_TIME, 100).items,
            "100 from the middle": lambda db: entries(db, self.board, ALL_TIME, 100, token).items,
            "5 around the middle": lambda db: around(db, self.board, ALL_TIME, me, 5) or [],
            "20 by name": lambda db: entries_of(db, self.board, ALL_TIME, some),
        }
        costs = {}
        for name, read in reads.items():
            costs[name] = _least(partial(self._other_cost, name, read, None), again=True)
            if name != "entry":
                for state in (COLD, WARM):
                    cost = partial(self._other_cost, name, read, state)
                    costs[f"{name}, ranks {state}"] = _least(cost, again=state == WARM)
        return costs

    def _fresh(self) -> Database:
        """Return the database with empty caches, as in a process that has just started."""
        return Database(self.db.client, self.db.tables)

    def _rank_cost(self, at: int, read: RankRead) -> Reading:
        """Measure a read of the entry at a position and its rank, with the caches that `read` names."""
        db = self._fresh()
        if read.state != COLD:
            self._rank(db, at, read)
        if read.state == PAUSED:
            db.cache(CounterCache).roots.clear()
        _keep_warm(db, self.filled.standings)
        with self.probe.read() as reading:
            rank = self._rank(db, at, read)
        self._judge(at, read, rank)
        return reading

    def _other_cost(
        self, name: str, read: Callable[[Database], Sequence[Entry]], state: str | None
    ) -> Reading:
        """Measure a read of some entries and, if `state` names the caches, of their ranks too."""
        db = self._fresh()
        if state == WARM:
            rank_entries(db, self.board, ALL_TIME, read(db))
        _keep_warm(db, self.filled.standings)
        with self.probe.read() as reading:
            found = read(db)
            ranks = rank_entries(db, self.board, ALL_TIME, found) if state else []
        for ranked, rank in zip(found, ranks, strict=False):
            self._judge(bisect_left(self.order, ranked.rank_key), name, rank)
        return reading

    def _rank(self, db: Database, at: int, read: RankRead) -> Rank | None:
        own = entry(db, self.board, ALL_TIME, participant_of(self.board, self.order[at]))
        assert own is not None
        return rank_entries(db, self.board, ALL_TIME, [own], read.strategy, positions=read.positions)[0]

    def _judge(self, at: int, read: object, rank: Rank | None) -> None:
        """Record a rank that differs from the sorted list's."""
        score = self.order[at][: score_bytes(self.board)]
        size = len(self.order)
        truth = bisect_left(self.order, score) + 1
        percentile = 100 * (size - bisect_left(self.order, just_above(score))) / size
        guessed = isinstance(read, RankRead) and read.strategy is RankStrategy.APPROXIMATE
        if rank is None:
            self.wrong.append(f"{read}: no rank")
        elif rank.total != size or not 1 <= rank.lower_bound <= truth <= rank.upper_bound <= size:
            self.wrong.append(f"{read}: {rank}, not {truth} of {size}")
        elif not guessed and (not rank.exact or rank.rank != truth or rank.percentile != percentile):
            self.wrong.append(f"{read}: {rank}, not exactly {truth}, percentile {percentile}")
        elif not guessed and rank.position not in {None, at + 1}:
            self.wrong.append(f"{read}: position {rank.position}, not {at + 1}")


def _keep_warm(db: Database, standings: str) -> None:
    """Mark a ladder as just loaded: on a busy machine the first read may have taken a second."""
    cache = db.cache(CounterCache)
    if rungs := cache.ladders.get(standings):
        cache.put_ladder(standings, replace(rungs, loaded_at=time.monotonic()))


def _least(cost: Callable[[], Reading], *, again: bool) -> Reading:
    """Measure; measure again if a busy machine may have added round trips, and return the lower."""
    found = cost()
    return min(found, cost(), key=lambda one: one.round_trips) if again and found.round_trips > 2 else found
