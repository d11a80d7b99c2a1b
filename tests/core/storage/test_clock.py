"""The time that items hold, on machines whose clocks are wrong, are set, or slept."""

import random
from email.utils import formatdate
from typing import Any

import pytest

from core.storage import clock
from core.storage.clock import Clock
from core.storage.database import Database


class Machine:
    """A machine in a simulated world: `true` is DynamoDB's time."""

    def __init__(self, wrong_by: float = 0.0) -> None:
        self.clock = Clock()
        self.true = 1_796_000_000.37
        self.wrong_by = wrong_by
        self.slept = 0.0  # seconds that its steady clock has missed

    def steady(self) -> float:
        return self.true - 1_795_900_000 - self.slept

    def now_off_by(self) -> float:
        return self.clock.now(self.true + self.wrong_by, self.steady()) - self.true

    def ask(self, *, there: float = 0.003, back: float = 0.003, date_is_old_by: float = 0.0) -> None:
        sent = self.steady()
        self.true += there
        date = formatdate(self.true - date_is_old_by, usegmt=True)
        self.true += back
        self.clock.learn(date, sent, self.steady(), self.true + self.wrong_by)


@pytest.mark.parametrize("wrong_by", [-3600.0, -30.0, -2.5, 2.5, 10.0, 60.0, 86_400.0])
def test_a_wrong_clock_is_corrected_by_the_first_answer(wrong_by: float) -> None:
    machine = Machine(wrong_by)
    assert machine.now_off_by() == pytest.approx(wrong_by)
    machine.ask()
    assert abs(machine.now_off_by()) <= 2.01  # an answer tells its second, and a second is tolerated


@pytest.mark.parametrize("wrong_by", [-0.9, 0.0, 0.9])
def test_a_clock_that_is_right_is_trusted(wrong_by: float) -> None:
    chance = random.Random(1)
    machine = Machine(wrong_by)
    for _ in range(300):
        machine.true += chance.random() * 3
        machine.ask(there=chance.random() * 2, back=chance.random() * 2)
        assert machine.now_off_by() == pytest.approx(wrong_by)


def test_a_step_back_has_no_effect() -> None:
    machine = Machine()
    machine.ask()
    for _ in range(20):
        machine.wrong_by -= 30
        assert abs(machine.now_off_by()) <= 2.01  # before the next answer
        machine.true += 7
        machine.ask()
        assert abs(machine.now_off_by()) <= 2.01


def test_a_step_ahead_is_corrected_by_the_next_answer() -> None:
    machine = Machine()
    machine.ask()
    machine.wrong_by = 300
    assert machine.now_off_by() == pytest.approx(300)  # it may have slept
    machine.ask()
    assert abs(machine.now_off_by()) <= 2.01


def test_a_machine_that_slept_has_the_right_time_at_once() -> None:
    machine = Machine()
    machine.ask()
    machine.true += 7200
    machine.slept += 7200
    assert machine.now_off_by() == pytest.approx(0, abs=1e-6)
    machine.ask()
    assert machine.now_off_by() == pytest.approx(0, abs=1e-6)


def test_an_answer_that_was_long_under_way_corrects_nothing() -> None:
    machine = Machine()
    for _ in range(4):
        machine.ask()
        machine.ask(there=20, back=20, date_is_old_by=5)
        machine.ask(date_is_old_by=4)
        assert machine.now_off_by() == pytest.approx(0, abs=1e-6)


def test_a_date_that_is_none_is_left_out() -> None:
    machine = Machine()
    machine.clock.learn("soon", 0, 1, 2)
    machine.clock.learn("", 0, 1, 2)
    assert machine.now_off_by() == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("client", ["lean", "boto3"])
def test_answers_of_the_database_are_learned_from(
    db: Database, monkeypatch: pytest.MonkeyPatch, client: str
) -> None:
    """With either client; the engine's answers bear a date as DynamoDB's do."""
    learned: list[Any] = []
    monkeypatch.setattr(clock, "_CLOCK", Clock())
    monkeypatch.setattr(clock._CLOCK, "learn", lambda *facts: learned.append(facts))
    of = db.client if client == "lean" else db.client.boto3_client  # type: ignore[attr-defined]
    of.get_item(TableName=db.tables.boards, Key={"board": {"S": "none"}})
    [(date, sent, received, _)] = learned
    assert date.endswith(" GMT")
    assert 0 <= received - sent < 10
