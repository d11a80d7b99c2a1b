"""Many writers at once: nothing is lost, nothing is counted twice."""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import pytest

from core.boards import Boards
from core.domain.board import ComponentInput
from core.domain.entry_item import entry_key
from core.domain.model import ScorePolicy, SortOrder, SubmitResult, TieBreak
from core.moderation.moderate import remove_entry
from core.ranking.queries import entry
from core.storage.database import Database
from tests.support.oracle import Standing
from tests.support.twin import ALL_TIME, LONG_AGO, NOW, Twin, standing_of, submit_to

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

THREADS = 16
PARTICIPANTS = [f"p{number:02}" for number in range(50)]
COMPONENTS = [ComponentInput(name="points"), ComponentInput(name="errors", order=SortOrder.ASCENDING)]
Drain = Callable[[], int]


class Attempt(NamedTuple):
    participant: str
    score: tuple[int, ...]
    at: int


def attempts(policy: ScorePolicy, rounds: int, participants: Sequence[str]) -> list[Attempt]:
    """Return submissions whose outcome does not depend on their order: LATEST has no equal times."""
    made = []
    for number in range(rounds * len(participants)):
        score = (random.randint(-9, 9), random.randint(-9, 9))
        if policy is ScorePolicy.LATEST:
            # No score is submitted twice: whether its time moves would depend on the order.
            score = (number, -number)
        elif policy is ScorePolicy.SUM:
            # No two cancel out: whether a sum goes back to its earlier time would depend on the order.
            score = (random.randint(1, 9), random.randint(-9, 9))
        made.append(Attempt(participants[number % len(participants)], score, at=number))
    if policy is ScorePolicy.BEST:
        made = [attempt._replace(at=attempt.at % 7) for attempt in made]
    random.shuffle(made)
    return made


def submit_all(twin: Twin, made: Sequence[Attempt]) -> list[tuple[Attempt, SubmitResult]]:
    def submit(attempt: Attempt) -> tuple[Attempt, SubmitResult]:
        achieved_at = NOW + timedelta(seconds=attempt.at)
        return attempt, submit_to(twin.db, twin.board, attempt.participant, attempt.score, achieved_at)

    with ThreadPoolExecutor(THREADS) as threads:
        return list(threads.map(submit, made))


def settle(twin: Twin, results: Sequence[tuple[Attempt, SubmitResult]]) -> None:
    """Bring the oracle to the state that any order of the submissions leads to."""
    accepted = Counter(attempt.participant for attempt, result in results if result.accepted)
    for attempt, _ in sorted(results, key=lambda pair: pair[0].at):
        twin.oracle.submit(attempt.participant, attempt.score, NOW + timedelta(seconds=attempt.at))
    for participant, standing in twin.oracle.entries.items():
        # How many better ones came before the best, and which addition came last, depends on the order.
        last = stored(twin, participant) if twin.oracle.policy == "SUM" else standing
        assert last is not None
        twin.oracle.entries[participant] = replace(
            standing, achieved_at=last.achieved_at, submissions=accepted[participant]
        )


def stored(twin: Twin, participant: str) -> Standing | None:
    found = entry(twin.db, twin.board, ALL_TIME, participant)
    return standing_of(found) if found else None


@pytest.mark.parametrize(
    ("policy", "tie_break"),
    [
        (ScorePolicy.BEST, TieBreak.EARLIEST),
        pytest.param(ScorePolicy.BEST, TieBreak.LATEST, marks=pytest.mark.thorough),
        (ScorePolicy.LATEST, TieBreak.EARLIEST),
        (ScorePolicy.SUM, TieBreak.PARTICIPANT),
    ],
)
def test_many_threads_end_where_the_oracle_does(
    db: Database, boards: Boards, drain: Drain, policy: ScorePolicy, tie_break: TieBreak
) -> None:
    twin = Twin.make(db, boards, policy=policy, tie_break=tie_break, components=COMPONENTS)
    results = submit_all(twin, attempts(policy, 20, PARTICIPANTS))
    drain()
    settle(twin, results)
    twin.check(page_sizes=[7], radii=[3], participants=PARTICIPANTS[::10])


@pytest.mark.parametrize("policy", ScorePolicy)
def test_many_threads_on_one_participant(
    db: Database, boards: Boards, drain: Drain, policy: ScorePolicy
) -> None:
    twin = Twin.make(db, boards, policy=policy, components=COMPONENTS)
    results = submit_all(twin, attempts(policy, 160, ["hero"]))
    drain()
    settle(twin, results)
    twin.check()
    # No two accepted submissions made the same version.
    versions = [result.entries[0].version for _, result in results if result.accepted]
    assert sorted(versions) == list(range(1, len(versions) + 1))


def test_each_sum_continues_from_the_one_before(db: Database, boards: Boards) -> None:
    """The answers' previous and new scores make one chain."""
    twin = Twin.make(db, boards, policy=ScorePolicy.SUM)
    results = submit_all(twin, [Attempt("hero", (1,), at) for at in range(100)])
    links = sorted((result.previous_score or (0,), result.entries[0].score) for _, result in results)
    assert links == [((total,), (total + 1,)) for total in range(100)]


def test_size_and_top_are_right_after_submissions_and_removals_at_once(
    db: Database, boards: Boards, drain: Drain
) -> None:
    twin = Twin.make(db, boards, policy=ScorePolicy.LATEST)

    def act(number: int) -> Any:
        participant = PARTICIPANTS[number % 20]
        if number % 3 == 0:
            return remove_entry(db, twin.board, participant, LONG_AGO)
        return submit_to(db, twin.board, participant, (number % 13,), NOW + timedelta(seconds=number))

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(act, range(600)))
    drain()
    # Who is left depends on the order. All derived data must agree with that.
    for participant in PARTICIPANTS[:20]:
        if left := stored(twin, participant):
            twin.oracle.entries[participant] = left
    twin.check()


# What DynamoDB and its SDK do under load and the local engine does not: a stale read, a lost answer


class Client:
    """A client that does what the real one does, unless a subclass says otherwise."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class StaleClient(Client):
    """Answers reads of an entry with an old state, unless they are consistent."""

    def __init__(self, real: Any, stale: dict[str, Any]) -> None:
        super().__init__(real)
        self._stale = stale

    def get_item(self, **arguments: Any) -> Any:
        return self._real.get_item(**arguments) if arguments.get("ConsistentRead") else self._stale


class LossyClient(Client):
    """Loses the answer to one update, which the SDK then sends again, as after a broken connection."""

    lost = False

    def update_item(self, **arguments: Any) -> Any:
        if not self.lost:
            self.lost = True
            self._real.update_item(**arguments)
        return self._real.update_item(**arguments)


def through(client: Client, twin: Twin) -> Twin:
    """Return the same board and oracle, with another client."""
    other = replace(twin, db=Database(cast("DynamoDBClient", client), twin.db.tables))
    other.oracle = twin.oracle
    return other


def state_of(twin: Twin, participant: str) -> dict[str, Any]:
    key = entry_key(twin.board, ALL_TIME, participant)
    return dict(twin.db.client.get_item(TableName=twin.db.tables.scores, Key=key))


def test_the_latest_score_stands_after_a_stale_read(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards, policy=ScorePolicy.LATEST)
    twin.submit("p", 5, at=1)
    old = state_of(twin, "p")
    twin.submit("p", 7, at=2)
    through(StaleClient(db.client, old), twin).submit("p", 5, at=3)
    assert twin.check_own("p")


@pytest.mark.parametrize("policy", ScorePolicy)
def test_a_submission_creates_an_entry_after_a_stale_read_of_the_removed_one(
    db: Database, boards: Boards, policy: ScorePolicy
) -> None:
    twin = Twin.make(db, boards, policy=policy)
    twin.submit("p", 5, at=5)
    old = state_of(twin, "p")
    twin.remove("p")
    through(StaleClient(db.client, old), twin).submit("p", 0, at=1)
    assert twin.check_own("p")


def test_a_sum_is_not_refused_for_the_bound_of_a_stale_read(db: Database, boards: Boards) -> None:
    parts = [ComponentInput("points", max="10")]
    twin = Twin.make(db, boards, policy=ScorePolicy.SUM, components=parts)
    twin.submit("p", 9)
    old = state_of(twin, "p")
    twin.submit("p", -5)
    through(StaleClient(db.client, old), twin).submit("p", 3)
    assert twin.check_own("p")


@pytest.mark.parametrize("policy", ScorePolicy)
def test_a_submission_whose_answer_is_lost_counts_once(
    db: Database, boards: Boards, policy: ScorePolicy
) -> None:
    twin = Twin.make(db, boards, policy=policy)
    for at, score in enumerate([5, 6]):
        achieved_at = NOW + timedelta(seconds=at)
        twin.oracle.submit("p", (score,), achieved_at)
        result = submit_to(through(LossyClient(db.client), twin).db, twin.board, "p", (score,), achieved_at)
        assert result.accepted
        assert [standing_of(found) for found in result.entries] == twin.oracle.ranked()
        assert twin.check_own("p")
