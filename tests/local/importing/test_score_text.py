"""Scores as people's files have them: decimal marks, groups of digits, units, signs."""

import pytest

from core.domain.board import ComponentInput, define_board
from core.domain.model import Component, ScoreKind
from core.domain.scores import parse
from local.importing.fields import FieldError
from local.importing.score_text import DecimalMark, Unclear, plain_score, signed
from tests.support.importing import THEN, World


def component(kind: ScoreKind) -> Component:
    low = None if kind is ScoreKind.TIMESTAMP else "-9999999999"
    return define_board(id="b", components=[ComponentInput("c", kind, min=low)], now=THEN).components[0]


def read(kind: ScoreKind, text: str, decimal: DecimalMark | None = None, zone: str | None = None) -> int:
    one = component(kind)
    return parse(one, plain_score(one, signed(text), decimal, zone))


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("848.0", None, 848),
        ("848.", None, 848),
        ("-848.00", None, -848),
        ("848,0", "comma", 848),
        ("1,234", "point", 1234),
        ("1.234", "comma", 1234),
        ("1.234.567,0", "comma", 1_234_567),
        ("1,234,567.0", "point", 1_234_567),
        ("1.000", "point", 1),
        ("1.000", "comma", 1000),
        ("1 234 567", None, 1_234_567),
        ("1\u00a0234", None, 1234),
        ("1\u202f234", None, 1234),
        ("1'234", None, 1234),
        ("1\u2019234.0", None, 1234),
        ("\u22125", None, -5),
        ("\u20135", None, -5),
        ("\uff0b5", None, 5),
        ("\u00a05\u200b", None, 5),
    ],
)
def test_integers(text: str, decimal: DecimalMark | None, value: int) -> None:
    assert read(ScoreKind.INTEGER, text, decimal) == value


@pytest.mark.parametrize(
    ("text", "decimal", "value"),
    [
        ("12.5", None, 1250),
        ("1.234", "comma", 123_400),
        ("12,5", "comma", 1250),
        ("1.234,56", "comma", 123_456),
        ("1 234,56", "comma", 123_456),
        ("1,234.56", "point", 123_456),
        ("\u22120.25", None, -25),
    ],
)
def test_decimals(text: str, decimal: DecimalMark | None, value: int) -> None:
    assert read(ScoreKind.DECIMAL, text, decimal) == value


@pytest.mark.parametrize(
    ("text", "decimal", "milliseconds"),
    [
        ("79h 33' 20''", None, 286_400_000),
        ("79h33'20\"", None, 286_400_000),
        ("1h23m20s", None, 5_000_000),
        ("1h 23min 20sec", None, 5_000_000),
        ("1 h 23 m", None, 4_980_000),
        ("1h 20s", None, 3_620_000),
        ("33' 20''", None, 2_000_000),
        ("90'", None, 5_400_000),
        ("20.5''", None, 20_500),
        ("20\u2033", None, 20_000),
        ("2m 3.456s", None, 123_456),
        ("2m 3,456s", "comma", 123_456),
        ("1:27,452", "comma", 87_452),
        ("87,452", "comma", 87_452),
        ("87.452 ms", "comma", 87_452),
        ("87,452 ms", "point", 87_452),
        ("1:27.452", None, 87_452),
        ("87452 ms", None, 87_452),
        ("1.5 h", None, 5_400_000),
        ("5m", None, 300_000),
    ],
)
def test_durations(text: str, decimal: DecimalMark | None, milliseconds: int) -> None:
    assert read(ScoreKind.DURATION, text, decimal) == milliseconds


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ScoreKind.INTEGER, "1,234"),
        (ScoreKind.INTEGER, "1.000"),
        (ScoreKind.INTEGER, "1.234.567"),
        (ScoreKind.DECIMAL, "1,5"),
        (ScoreKind.DURATION, "1:27,452"),
        (ScoreKind.DURATION, "5,856"),
    ],
)
def test_what_can_be_read_in_two_ways_needs_an_option(kind: ScoreKind, text: str) -> None:
    with pytest.raises(Unclear, match="--decimal"):
        read(kind, text)


@pytest.mark.parametrize(
    ("kind", "text", "decimal"),
    [
        (ScoreKind.INTEGER, "1,5", "point"),
        (ScoreKind.INTEGER, "1,2345", "point"),
        (ScoreKind.DECIMAL, "1.23", "comma"),
        (ScoreKind.DECIMAL, "1,234,56", "point"),
        (ScoreKind.DURATION, "1:27.45", "comma"),
        (ScoreKind.DURATION, "1h 75' 20''", None),
        (ScoreKind.DURATION, "5' 61''", None),
    ],
)
def test_digits_grouped_otherwise_are_refused(
    kind: ScoreKind, text: str, decimal: DecimalMark | None
) -> None:
    with pytest.raises(FieldError):
        read(kind, text, decimal)


def test_timestamps_in_a_time_zone() -> None:
    noon = read(ScoreKind.TIMESTAMP, "2024-07-01T12:00:00.125+02:00")
    assert read(ScoreKind.TIMESTAMP, "2024-07-01 12:00:00.125", zone="Europe/Rome") == noon
    assert read(ScoreKind.TIMESTAMP, "2024-07-01T12:00:00.125+02:00", zone="Asia/Tokyo") == noon
    assert read(ScoreKind.TIMESTAMP, "2024-07-01", zone="UTC") == noon - 10 * 3_600_000 - 125


def test_an_unclear_cell_stops_the_file_before_anything_is_stored(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its other cells, such as 1.234, would be read by the wrong mark."""
    world.create(components=[ComponentInput("score", ScoreKind.DECIMAL)])
    file = world.write("participantId;score\nann;1.234\nbob;1.234,50\n")
    assert world.run(file) == 2
    assert "nothing was imported: line 3: score: '1.234,50': --decimal" in capsys.readouterr().err
    assert world.scores() == {}
    assert world.run(file, "--decimal", "comma") == 0
    assert world.scores() == {"bob": (123_450,), "ann": (123_400,)}


def test_numbers_of_json_have_a_point(world: World) -> None:
    world.create(components=[ComponentInput("score", ScoreKind.DECIMAL, decimals=3)])
    rows = '{"participantId":"ann","score":1.234}\n{"participantId":"bob","score":"1.234,5"}\n'
    assert world.run(world.write(rows, "s.jsonl"), "--decimal", "comma") == 0
    assert world.scores() == {"ann": (1_234,), "bob": (1_234_500,)}
