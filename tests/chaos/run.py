"""One run: a board under operations, its stream and its upkeep, while the database fails; all from a seed."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TypeVar

from core.archives.read import archive_entries
from core.archives.write import begin_archive, write_archive
from core.boards import Boards
from core.domain.errors import ArchiveNotFound, EntryNotFound, EntryRemoved, Throttled
from core.domain.model import Board, CounterMode, ScorePolicy
from core.moderation.correct import correct_entry
from core.moderation.moderate import hide_entry, remove_entry, restore_entry
from core.records.audit import AuditContext
from core.storage.database import Database
from core.storage.faults import is_unavailable
from core.stream import count_bundles, process
from core.submissions.submit import Submission, submit_score
from core.tree.bundle import Bundle
from core.upkeep.checks import check
from core.upkeep.growth import grow
from tests.chaos.faults import Faults
from tests.support.deliveries import Records
from tests.support.oracle import Removed
from tests.support.twin import ALL_TIME, NOW, Twin, written_score

T = TypeVar("T")

_PARTICIPANTS = [f"p{number}" for number in range(9)]
_OPERATIONS = 60
# Not INLINE: a count whose answer is lost is added again. The check finds that, and a rebuild mends it.
_MODES = [CounterMode.STREAM, CounterMode.STREAM, CounterMode.TRANSACTIONAL]
_TRIES = 200  # of one call, until it is answered

_sleep = time.sleep  # a run replaces it


@dataclass
class Run:
    """A board in a database of its own, and the oracle of what has been acknowledged."""

    db: Database
    seed: int
    answers: int = 0
    retried: int = 0  # calls that ended with an error that says to try again
    faults: Faults = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.faults = Faults(self.db, self.chance)
        self.boards = Boards(self.db)
        policy = self.chance.choice(list(ScorePolicy))
        mode = self.chance.choice(_MODES)
        peak = self.chance.choice([1, 1_000])
        self.twin = Twin.make(
            self.db, self.boards, id="board", policy=policy, counter_mode=mode, peak_writes_per_second=peak
        )
        self.records: list[dict[str, object]] = []
        self.counted = 0
        self.queue: list[tuple[int, Bundle]] = []
        self.number = 0
        self.stream = Records(self.db)

    @property
    def board(self) -> Board:
        return self.twin.board

    def go(self) -> None:
        """Run all of it. Raises AssertionError, or whatever a call raises that it must not."""
        self.faults.rate = self.chance.choice([0.02, 0.1, 0.3, 0.6])
        actions: list[Callable[[int], object]] = [self.submit, self.moderate, self.consume, self.grow]
        for second in range(_OPERATIONS):
            self.chance.choices(actions, weights=[6, 1, 3, 1])[0](second)
        self.faults.rate = 0.0
        self.calm_down()
        self.twin.check()
        self.check_archive()

    # Operations, each until it is answered

    def until_answered(self, call: Callable[[], T]) -> T:
        """Call until there is an answer; only errors that say so may be tried again."""
        for _ in range(_TRIES):
            try:
                answer = call()
            except Exception as error:
                if not isinstance(error, Throttled) and not is_unavailable(error):
                    raise
                self.retried += 1
            else:
                self.answers += 1
                return answer
        raise AssertionError(f"never answered: {call}")

    def submit(self, second: int) -> None:
        participant = self.chance.choice(_PARTICIPANTS)
        score = (self.chance.choice([1, 1, 2, 3, 5, 40]),)
        achieved_at = NOW + timedelta(seconds=second)
        # A sum is made safe by an id: a call whose outcome is unknown is made again.
        with_id = self.board.policy is ScorePolicy.SUM or self.chance.random() < 0.3
        submission = Submission(
            participant,
            written_score(self.board, score),
            achieved_at,
            submission_id=f"s{second}" if with_id else None,
        )
        call = partial(submit_score, self.db, self.board, submission, now=achieved_at)
        try:
            self.twin.oracle.submit(participant, score, achieved_at)
        except Removed:
            try:
                self.until_answered(call)
            except EntryRemoved:
                return
            raise AssertionError(f"{participant} is not removed") from None
        self.until_answered(call)

    def moderate(self, second: int) -> None:
        oracle = self.twin.oracle
        participant = self.chance.choice(_PARTICIPANTS)
        at = NOW + timedelta(seconds=second)
        audit = AuditContext("ops", at, "R")
        action = self.chance.choice(["hide", "restore", "remove", "correct"])
        there = participant in oracle.entries
        arguments = (self.db, self.board, participant)
        try:
            match action:
                case "hide":
                    self.until_answered(partial(hide_entry, *arguments, audit))
                    oracle.hidden.add(participant)
                case "restore":
                    self.until_answered(partial(restore_entry, *arguments, audit))
                    oracle.hidden.discard(participant)
                case "remove":
                    self.until_answered(partial(remove_entry, *arguments, audit))
                    if there:
                        oracle.remove(participant, at)
                case "correct":
                    self.until_answered(partial(correct_entry, *arguments, ["7"], audit, period=ALL_TIME))
                    oracle.correct(participant, (7,), None)
        except EntryNotFound:
            assert not there, f"{action}: {participant} is there"
        else:
            assert there or action == "remove", f"{action}: {participant} is not there"

    # The stream and the upkeep: what fails is done again, as Lambda does

    def consume(self, _: int = 0) -> None:
        """Count some of the stream; now and then again what is counted already."""
        self.records += self.stream.new()
        end = self.chance.randint(self.counted, len(self.records))
        if end > self.counted:
            batch = self.records[self.counted : end]
            if self.attempt(lambda: process(self.db, self.boards, "shard", batch, self.hand_on)):
                self.counted = max(0, end - self.chance.choice([0, 0, 4]))
        if self.queue:
            taken = self.queue[: self.chance.randint(1, 10)]
            if self.attempt(lambda: count_bundles(self.db, self.boards, taken, wait=False)):
                self.queue = self.queue[len(taken) :]

    def hand_on(self, bundles: Sequence[Bundle]) -> None:
        for bundle in bundles:
            self.number += 1
            self.queue.append((self.number, bundle))

    def grow(self, _: int = 0) -> bool:
        more: list[bool] = []
        done = self.attempt(lambda: more.append(grow(self.db, self.board, self.twin.standings)))
        return not done or any(more)

    def attempt(self, call: Callable[[], object]) -> bool:
        """Call once; return whether it was answered."""
        try:
            call()
        except Exception as error:
            if not isinstance(error, Throttled) and not is_unavailable(error):
                raise
            return False
        return True

    # The end

    def calm_down(self) -> None:
        """Count all that is left, and let the tree grow, without faults."""
        for _ in range(400):
            self.records += self.stream.new()
            if self.counted < len(self.records):
                process(self.db, self.boards, "shard", self.records[self.counted :], self.hand_on)
                self.counted = len(self.records)
            while self.queue:
                count_bundles(self.db, self.boards, self.queue[:10], wait=False)
                self.queue = self.queue[10:]
            more = self.grow()
            if not more and not self.stream_goes_on():
                break
            _sleep(0.01)
        else:
            raise AssertionError("the tree does not stop growing")
        drifts = check(self.db, self.board, self.twin.standings, patience=0).drifts
        assert not drifts, [str(drift) for drift in drifts]

    def stream_goes_on(self) -> bool:
        new = self.stream.new()
        self.records += new
        return bool(new)

    def check_archive(self) -> None:
        """Write an archive, failing again, and compare it with the oracle."""
        self.faults.rate = 0.2
        name = self.until_answered(lambda: begin_archive(self.db, self.board, ALL_TIME, NOW))
        for _ in range(_TRIES):
            if self.attempt(lambda: write_archive(self.db, name, 1e9)):
                break
        self.faults.rate = 0.0
        write_archive(self.db, name, 1e9)
        try:
            found = archive_entries(self.db, name, 1000).items
        except ArchiveNotFound:
            raise AssertionError("the archive is not complete") from None
        ranked = self.twin.oracle.ranked()
        assert [(entry.participant_id, entry.score) for entry, _ in found] == [
            (one.participant, one.score) for one in ranked
        ]
