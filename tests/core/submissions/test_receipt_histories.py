"""Clients that race, die and try again with their submission ids; each history is one seed's.

See `tests.support.interleaving`: every request is a moment at which another process may
go on, or this one die,
before the request takes effect or after.
"""

import itertools
import random
import uuid
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import timedelta

import pytest

from core.boards import Boards
from core.domain.board import define_board
from core.domain.keys import standings_key
from core.domain.model import Board, CounterMode, PeriodKind, ScorePolicy, SubmitResult
from core.ranking.queries import entry, size
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score, submit_scores
from core.upkeep import checks
from tests.support.deliveries import Deliveries, Records
from tests.support.interleaving import Killed, Process, World, instant, virtual
from tests.support.season import KEPT, key_in

SEEDS = range(12)
MORE_SEEDS = range(100, 400)


class Clients:
    """Some submissions, each of which several clients make until they are answered."""

    def __init__(self, world: World, board: Board) -> None:
        self.world, self.board = world, board
        chance = world.random
        start = instant(world)
        self.attempts = [
            Submission(
                chance.choice(["ann", "bob"]),
                [str(chance.choice([0, 1, 2, 5, 7]))],
                achieved_at=start - timedelta(seconds=chance.randrange(9)),
                submission_id=f"{number}",
            )
            for number in range(5)
        ]
        self.answers: defaultdict[str | None, list[SubmitResult]] = defaultdict(list)

    def submit(self, client: Process) -> None:
        """Make most of the submissions in any order, and some of them again."""
        for attempt in self.world.random.choices(self.attempts, k=7):
            while True:
                try:
                    self.answers[attempt.submission_id].append(self._send(client, attempt))
                    break
                except Killed:
                    client.restart()

    def _send(self, client: Process, attempt: Submission) -> SubmitResult:
        now = instant(self.world)
        if self.world.random.random() < 0.5:
            return submit_score(client.db, self.board, attempt, now=now)
        (outcome,) = submit_scores(client.db, self.board, [attempt], now=now)
        assert isinstance(outcome, SubmitResult)
        return outcome

    def standing(self, participant: str) -> set[tuple[int, int] | None]:
        """The scores, and how many submissions led to each, that some order of the submissions leads to."""
        made = [
            one
            for one in self.attempts
            if one.participant_id == participant and self.answers[one.submission_id]
        ]
        return {self._after(order) for order in itertools.permutations(made)}

    def _after(self, order: Sequence[Submission]) -> tuple[int, int] | None:
        """What stands after these submissions."""
        score, times, at = 0, 0, instant(self.world)
        for one in order:
            offered, achieved_at = int(one.score[0]), one.achieved_at or at
            if not times:
                score, times, at = offered, 1, achieved_at
            elif self.board.policy is ScorePolicy.SUM:
                score, times = score + offered, times + (offered != 0)
            elif self.board.policy is ScorePolicy.LATEST:
                if offered != score and achieved_at >= at:
                    score, times, at = offered, times + 1, achieved_at
            elif offered > score or (offered == score and achieved_at < at):
                score, times, at = offered, times + 1, achieved_at
        return (score, times) if times else None


@pytest.fixture
def live(lean: Database, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[str]]:
    """Lives through a seed's history; gives what is wrong in the end."""
    records = Records(lean)

    def run(seed: int) -> list[str]:
        with monkeypatch.context() as patch:
            world = World(lean, random.Random(seed))
            virtual(patch, world)
            chance = world.random
            board = define_board(
                id=f"board-{uuid.uuid4().hex[:8]}",
                now=instant(world),
                policy=chance.choice(list(ScorePolicy)),
                counter_mode=chance.choice(list(CounterMode)),
                periods=list(PeriodKind),
                peak_writes_per_second=1,
            )
            clients = Clients(world, Boards(lean, retention=KEPT).create(board))
            deaths = chance.choice([0, 0.05, 0.2])
            deliveries = Deliveries(world, records, 1)
            world.run([world.add(f"client{at}", clients.submit, deaths=deaths) for at in range(3)])
            db, boards = world.connect()
            deliveries.drain(db, boards)
            return wrong(db, clients)

    return run


def wrong(db: Database, clients: Clients) -> list[str]:
    board = clients.board
    keys = [key_in(kind.value, instant(clients.world), "UTC") for kind in PeriodKind]
    found = []
    for participant in ("ann", "bob"):
        stands = [entry(db, board, key, participant) for key in keys]
        told = {(one.score[0], one.submissions) if one else None for one in stands}
        if len(told) > 1 or not told <= clients.standing(participant):
            found.append(f"{participant}: {told}")
    for name, answers in clients.answers.items():
        if sum(not one.duplicate for one in answers) > 1:
            found.append(f"{name} counted more than once")
        if len({(one.accepted, one.previous_score) for one in answers}) > 1:
            found.append(f"{name} answered in more than one way")
    for key in keys:
        report = checks.check(db, board, standings_key(board.id, key, board.generation), patience=0)
        found += [f"{key} {drift}" for drift in report.drifts]
        if size(db, board, key) != report.entries:
            found.append(f"{key}: size")
    return found


@pytest.mark.parametrize("seeds", [SEEDS, pytest.param(MORE_SEEDS, id="more", marks=pytest.mark.thorough)])
def test_each_id_counts_once_in_every_period_and_is_answered_in_one_way(
    live: Callable[[int], list[str]], seeds: range
) -> None:
    failed = {seed: found for seed in seeds if (found := live(seed))}
    assert not failed
