"""State machine of boards with periods: time passes, submission ids come again, zones and periods change.

It delivers the stream as `test_machine` does, and has few participants and few scores too.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from core.boards import Boards
from core.domain.model import CounterMode, PeriodKind
from core.storage.database import Database
from tests.core.test_machine import Stream, definitions
from tests.support.season import Season

PARTICIPANTS = ["a", "b", "a#b", "🏁"]
ZONES = ["UTC", "Europe/Rome", "Pacific/Kiritimati", "Pacific/Pago_Pago", "Asia/Kathmandu"]
START = datetime(2026, 3, 28, 12, tzinfo=UTC)  # daylight saving time begins the day after

scores = st.tuples(*[st.sampled_from([-300, -1, 0, 1, 2, 300])] * 3)
hours = st.sampled_from([0, 0, 0, 1, 13, 25, 50, 300])
ids = st.sampled_from([None, None, "1", "2", "3", "4", "5"])
kinds = st.lists(st.sampled_from(PeriodKind), min_size=1, unique=True)


class SeasonMachine(RuleBasedStateMachine):
    """Random actions on one board with periods."""

    def __init__(self, db: Database, stream: Stream) -> None:
        super().__init__()
        self._db, self._stream = db, stream
        self._now = START

    @initialize(definition=definitions(), zone=st.sampled_from(ZONES), mode=st.sampled_from(CounterMode))
    def create(self, definition: dict[str, Any], zone: str, mode: CounterMode) -> None:
        self.season = Season.make(
            self._db,
            Boards(self._db, 0),
            self._now,
            **definition | {"peak_writes_per_second": 1, "time_zone": zone, "counter_mode": mode},
        )
        self._stream.deliver()

    @rule(
        participant=st.sampled_from(PARTICIPANTS),
        score=scores,
        late=st.none() | hours,
        name=ids,
        bulk=st.booleans(),
        cuts=st.lists(st.integers(1, 8), max_size=3),
    )
    def submit(
        self,
        participant: str,
        score: Sequence[int],
        late: int | None,
        name: str | None,
        bulk: bool,
        cuts: Sequence[int],
    ) -> None:
        self.season.submit(
            participant,
            *score[: len(self.season.board.components)],
            now=self._now,
            at=None if late is None else self._now - timedelta(hours=late, seconds=late),
            submission_id=name,
            bulk=bulk,
        )
        self._stream.deliver(cuts)

    @precondition(lambda self: self.season.answers)
    @rule(which=st.integers(0, 100), bulk=st.booleans())
    def retry(self, which: int, bulk: bool) -> None:
        names = list(self.season.answers)
        name = names[which % len(names)]
        (participant, score, at), _, _ = self.season.answers[name]
        self.season.submit(participant, *score, now=self._now, at=at, submission_id=name, bulk=bulk)
        self._stream.deliver()

    @rule(passed=st.sampled_from([1, 11, 23, 40, 200]))
    def time_passes(self, passed: int) -> None:
        self._now += timedelta(hours=passed, minutes=7)

    @rule(zone=st.sampled_from(ZONES))
    def change_zone(self, zone: str) -> None:
        self.season.change_zone(zone, self._now)

    @rule(to=kinds)
    def change_periods(self, to: Sequence[PeriodKind]) -> None:
        self.season.change_periods(to)

    @rule(back=st.integers(1, 40), cuts=st.lists(st.integers(1, 40), max_size=3))
    def deliver_again(self, back: int, cuts: Sequence[int]) -> None:
        self._stream.deliver(cuts, back)

    @invariant()
    def every_read_agrees(self) -> None:
        if hasattr(self, "season"):
            self.season.check_touched()

    def teardown(self) -> None:
        if hasattr(self, "season"):
            self.season.check()


def run_machine(lean: Database, boards: Boards, examples: int) -> None:
    run_state_machine_as_test(
        cast("type[SeasonMachine]", partial(SeasonMachine, lean, Stream(lean, boards))),
        settings=settings(
            max_examples=examples,
            stateful_step_count=20,
            deadline=None,
            phases=[Phase.reuse, Phase.generate],
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )


def test_a_board_with_periods_agrees_with_the_oracle_after_each_step(lean: Database, boards: Boards) -> None:
    run_machine(lean, boards, 6)


@pytest.mark.thorough
def test_many_boards_with_periods_agree_with_the_oracle_after_each_step(
    lean: Database, boards: Boards
) -> None:
    run_machine(lean, boards, 80)
