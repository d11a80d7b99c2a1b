"""Clients that race, die and retry with their submission ids. Each history follows from one seed.

At every request another process may go on, or this one may die, before or after the request takes effect
(see `tests.support.interleaving`).
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
    """Some submissions, which several clients make until each is answered."""

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
        """Make most of the submissions in random order, and some of them twice."""
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
        """Return each score that some order of the submissions leads to, with the number of accepted ones."""
        made = [
            attempt
            for attempt in self.attempts
            if attempt.participant_id == participant and self.answers[attempt.submission_id]
        ]
        return {self._after(order) for order in itertools.permutations(made)}

    def _after(self, order: Sequence[Submission]) -> tuple[int, int] | None:
        """Return the score after these submissions, and the number of accepted ones."""
        score, times, at = 0, 0, instant(self.world)
        for attempt in order:
            submitted, achieved_at = int(attempt.score[0]), attempt.achieved_at or at
            if not times:
                score, times, at = submitted, 1, achieved_at
            elif self.board.policy is ScorePolicy.SUM:
                score, times = score + submitted, times + (submitted != 0)
            elif self.board.policy is ScorePolicy.LATEST:
                if submitted != score and achieved_at >= at:
                    score, times, at = submitted, times + 1, achieved_at
            elif submitted > score or (submitted == score and achieved_at < at):
                score, times, at = submitted, times + 1, achieved_at
        return (score, times) if times else None


@pytest.fixture
def live(lean: Database, monkeypatch: pytest.MonkeyPatch) -> Callable[[int], list[str]]:
    """Return a function that runs a seed's history and returns what is wrong in the end."""
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
        items = [entry(db, board, key, participant) for key in keys]
        stored = {(item.score[0], item.submissions) if item else None for item in items}
        if len(stored) > 1 or not stored <= clients.standing(participant):
            found.append(f"{participant}: {stored}")
    for name, answers in clients.answers.items():
        if sum(not answer.duplicate for answer in answers) > 1:
            found.append(f"{name} counted more than once")
        if len({(answer.accepted, answer.previous_score) for answer in answers}) > 1:
            found.append(f"{name} answered in more than one way")
    for key in keys:
        report = checks.check(db, board, standings_key(board.id, key, board.generation), patience=0)
        found += [f"{key} {drift}" for drift in report.drifts]
        if size(db, board, key) != report.entries:
            found.append(f"{key}: size")
    return found


@pytest.mark.parametrize("seeds", [SEEDS, pytest.param(MORE_SEEDS, id="more", marks=pytest.mark.thorough)])
def test_each_id_counts_once_in_every_period_and_all_answers_are_alike(
    live: Callable[[int], list[str]], seeds: range
) -> None:
    failed = {seed: found for seed in seeds if (found := live(seed))}
    assert not failed
