"""Histories of a board among processes that race, lag and die; each follows from a seed."""

import random
import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from core import stream
from core.boards import Boards
from core.counters.directory import read_directory
from core.domain import rank_key
from core.domain.board import define_board
from core.domain.entry_item import entry_key
from core.domain.keys import rank_shard, shard_of, standings_key
from core.domain.model import Board, CounterMode
from core.domain.periods import ALL_TIME
from core.moderation.moderate import remove_entry
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from core.tree import edges, shape
from core.upkeep import checks, rebuilds
from core.upkeep.growth import grow
from tests.support.deliveries import Deliveries, Records
from tests.support.interleaving import Killed, Process, World, instant, virtual
from tests.support.recount import Ranked, Tree, ranked, recount
from tests.support.twin import LONG_AGO

PARTICIPANTS = [f"p{at:02}" for at in range(24)]
SCORES = [1, 1, 1, 2, 3, 40, 41, 42, 60, -5]  # so few that leaves fill up and there are many ties
CLOCKS = [0, 0, 0, -1_000, 1_500, -20_000, 8_000, 3_600_000]  # milliseconds ahead


def small_leaves(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let leaves grow from four entries on, into few children, so that trees have several levels."""
    for module in (shape, stream):
        monkeypatch.setattr(module, "GROW_AT", 3)
    monkeypatch.setattr(shape, "TIES_GROW_AT", 3)
    monkeypatch.setattr(edges, "FANOUT", 6)
    monkeypatch.setattr(edges, "_OUTER", 2)


@dataclass
class Life:
    """A board in a simulation of its own, and everything that its processes do to it."""

    world: World
    board: Board
    deliveries: Deliveries
    writes: int = 15
    pause: float = 0.0  # seconds between two writes of a writer, at most
    clocks: list[int] = field(default_factory=lambda: CLOCKS)
    participants: set[str] = field(default_factory=lambda: set(PARTICIPANTS))

    @classmethod
    def make(
        cls,
        monkeypatch: pytest.MonkeyPatch,
        database: Database,
        records: Records,
        seed: int,
        **definition: Any,
    ) -> "Life":
        world = World(database, random.Random(seed))
        virtual(monkeypatch, world)
        board = define_board(id=f"board-{uuid.uuid4().hex[:8]}", now=datetime.now(UTC), **definition)
        shards = world.random.choice([1, 1, 2, 4])
        resharded_at = world.random.choice([None, 15])
        queued = world.random.choice([True, True, False])
        deliveries = Deliveries(world, records, shards, resharded_at, queued=queued)
        return cls(world, Boards(database).create(board), deliveries)

    @classmethod
    def of_twelve(cls, monkeypatch: pytest.MonkeyPatch, database: Database) -> "Life":
        """Make a board of one index shard with twelve entries, all counted, and leaves that grow early."""
        small_leaves(monkeypatch)
        made = cls.make(monkeypatch, database, Records(database), 0, peak_writes_per_second=1)
        db, _ = made.world.connect()
        for at in range(12):
            submission = Submission(PARTICIPANTS[at], [str(at // 2)])
            submit_score(db, made.board, submission, now=instant(made.world))
        assert made.calm_down() == []
        return made

    @property
    def standings(self) -> str:
        return standings_key(self.board.id, ALL_TIME, self.board.generation)

    # What processes do

    def write(self, writer: Process) -> None:
        """Submit and remove scores, and change entries by hand, at random."""
        chance = self.world.random
        for _ in range(self.writes):
            participant = chance.choice(PARTICIPANTS)
            action = chance.randrange(10)
            if action < 7:
                submission = Submission(participant, [str(chance.choice(SCORES))])
                submit_score(writer.db, self.board, submission, now=instant(self.world))
            elif action == 7:
                remove_entry(writer.db, self.board, participant, LONG_AGO)
            else:
                self.remove_attribute(writer.db, participant, "rank_shard" if action == 8 else "written_at")
            if self.pause:
                writer.sleep(chance.random() * self.pause)

    def remove_attribute(self, db: Database, participant: str, attribute: str) -> None:
        """Change an entry by hand: it is hidden, or the time when it was written is unknown."""
        if self.board.counter_mode is not CounterMode.STREAM:
            return  # writers count for themselves, so nobody would count this
        try:
            db.client.update_item(
                TableName=db.tables.scores,
                Key=entry_key(self.board, ALL_TIME, participant),
                UpdateExpression=f"REMOVE {attribute}",
                ConditionExpression="attribute_exists(rank_key)",
            )
        except db.client.exceptions.ConditionalCheckFailedException:
            return

    def grow_forever(self, grower: Process) -> None:
        while True:
            try:
                more = grow(grower.db, self.board, self.standings)
            except Killed:
                grower.restart()
            else:
                grower.sleep(1 if more else 2)

    def grow_fully(self, grower: Process) -> None:
        """Grow the tree until no step is left."""
        while True:
            try:
                more = grow(grower.db, self.board, self.standings)
            except Killed:
                grower.restart()
            else:
                if not more:
                    return
                grower.sleep(1)

    def rebuild(self, rebuilder: Process) -> None:
        """Rebuild the counters, again after each death."""
        while True:
            try:
                rebuilds.rebuild(rebuilder.db, self.board, self.standings)
            except Killed:
                rebuilder.restart()
            else:
                return

    # What tests do

    def start(self, writers: int = 2, consumers: int | None = None, deaths: float = 0.06) -> list[Process]:
        """Start writers and consumers; return the writers."""
        chance = self.world.random
        for at in range(consumers or chance.choice([1, 2])):
            traits = {"deaths": deaths, "weight": chance.choice([0.3, 1, 3])}
            self.world.add(f"consumer{at}", self.deliveries.consume, **traits)
            self.world.add(f"bookkeeper{at}", self.deliveries.keep_books, **traits)
        return [
            self.world.add(f"writer{at}", self.write, skew=chance.choice(self.clocks))
            for at in range(writers)
        ]

    def populate(self) -> None:
        """Put an entry for half of the participants, as other tools may import them, and count them."""
        chance = self.world.random
        puts: list[Any] = []
        for participant in PARTICIPANTS[::2]:
            now = instant(self.world)
            key = rank_key.encode(self.board, [chance.choice(SCORES)], now, participant)
            item = {
                **entry_key(self.board, ALL_TIME, participant),
                "rank_key": {"B": key},
                "rank_shard": {"S": rank_shard(self.standings, shard_of(self.board, participant))},
                "achieved_at": {"N": str(rank_key.microseconds(now))},
                "written_at": {"N": str(self.world.now)},
                "submissions": {"N": "1"},
                "version": {"N": "1"},
            }
            puts.append({"PutRequest": {"Item": item}})
        tables = self.world.database.tables
        self.world.database.client.batch_write_item(RequestItems={tables.scores: puts})
        self.drain()

    def tree_in_use(self) -> int:
        return read_directory(self.world.database, self.standings).current

    def drain(self) -> int:
        """Count all records, also those that follow from counting; return how many there were."""
        return self.deliveries.drain(*self.world.connect())

    def entries(self) -> list[Ranked]:
        return ranked(self.world.database, self.standings, sorted(self.participants))

    def recount(self) -> Tree:
        return recount(self.world.database, self.board, self.standings, sorted(self.participants))

    def calm_down(self) -> list[str]:
        """Count all records and grow the tree until no step is left; return what is wrong then."""
        db, _ = self.world.connect()
        for _ in range(60):
            self.drain()
            self.world.now += 3_000
            if not grow(db, self.board, self.standings) and not self.drain():
                break
        else:
            return ["the tree does not stop growing"]
        report = checks.check(db, self.board, self.standings, patience=0)
        tree = self.recount()
        return tree.wrong + [str(drift) for drift in report.drifts] + ["unsettled"] * tree.unsettled
