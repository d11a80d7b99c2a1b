"""Which rows and fields of a file are imported, and the dry run that shows them."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.domain.model import ScorePolicy
from core.storage.database import Database
from local.cli import main
from local.importing.f1 import DATA
from tests.support.importing import World

RACES = """{"MRData": {"total": "2", "Races": [{"round": "1", "Results": [
    {"position": "1", "points": "25", "Driver": {"driverId": "hamilton", "familyName": "Hamilton"}},
    {"position": "2", "points": "18.0", "Driver": {"driverId": "rosberg", "familyName": "Rosberg"}},
    {"position": "3", "points": "x", "Driver": {"driverId": "ricciardo"}, "laps": [{"time": 1.10}]},
    "no object"
]}]}}"""


def test_an_array_and_fields_by_path(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.create()
    file = world.write(RACES, "results.json")
    options = ["--items", "MRData.Races.0.Results", "--participant", "Driver.driverId", "--score", "points"]
    options += ["--display-name", "Driver.familyName"]
    refused = world.folder / "refused.jsonl"
    assert world.run(file, *options, "--refused", str(refused)) == 1
    entries = world.entries()
    assert {name: (entry.score, entry.display_name) for name, entry in entries.items()} == {
        "hamilton": ((25,), "Hamilton"),
        "rosberg": ((18,), "Rosberg"),
    }
    output = capsys.readouterr().out
    assert "line 3: score component 'score': must be a whole number" in output
    assert "line 4: row: must be a JSON object" in output
    assert '"laps": [{"time": 1.10}]' in refused.read_text(), "every digit is kept"
    (row,) = [line for line in refused.read_text().splitlines() if "laps" in line]
    corrected = world.write(row.replace('"x"', '"15"'), "corrected.jsonl")
    assert world.run(corrected, *options[2:]) == 0
    assert world.scores()["ricciardo"] == (15,)


def test_a_json_array_alone(world: World) -> None:
    world.create()
    rows = '[{"participantId": "ann", "score": 1},\n {"participantId": "bob", "score": [2]}]'
    assert world.run(world.write(rows, "scores.json")) == 0
    assert world.scores() == {"bob": (2,), "ann": (1,)}


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ('{"data": {"rows": []}}', [], "--items PATH says where its array is. It has: data"),
        ('{"data": {"rows": 1}}', ["--items", "data.rows"], "has no JSON array at 'data.rows'"),
        ('{"a": 1}\n{"a": 2}\n', [], "if each line is one object: --format jsonl"),
        ("[1]", [], "no JSON object"),
        ("[" * 100_000, [], "the file is no JSON document"),
        ('[{"driver": {"id": 1}, "score": 1}]', ["--participant", "pilot.id"], "no column 'pilot.id'"),
    ],
)
def test_json_that_cannot_be_imported(
    world: World, capsys: pytest.CaptureFixture[str], content: str, options: list[str], message: str
) -> None:
    world.create()
    assert world.run(world.write(content, "scores.json"), *options) == 2
    assert message in capsys.readouterr().err


def test_a_column_with_a_point_in_its_name_is_no_path(world: World) -> None:
    world.create()
    assert world.run(world.write("driver.name,score\nann,1\n"), "--participant", "driver.name") == 0
    assert world.scores() == {"ann": (1,)}


def test_where_chooses_rows(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """A race of the Formula 1 data: the 2008 Australian Grand Prix."""
    options = ["--create", "--kind", "DECIMAL", "--participant", "driverId", "--score", "points"]
    where = ["--where", "raceId=18", "--where", "position=1"]
    assert world.run(DATA / "results.csv", *options, *where) == 0
    assert world.scores() == {"1": (1000,)}
    assert "27,117 left out by --where" in capsys.readouterr().out
    assert world.run(DATA / "results.csv", *options, "--where", "race=18") == 2
    assert "no column 'race'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("time", "achieved_at"),
    [
        ("2024-07-01T12:00:00", datetime(2024, 7, 1, 10, tzinfo=UTC)),
        ("2024-01-01 12:00", datetime(2024, 1, 1, 11, tzinfo=UTC)),
        ("2024-07-01", datetime(2024, 6, 30, 22, tzinfo=UTC)),
        ("2024-07-01T12:00:00.25", datetime(2024, 7, 1, 10, 0, 0, 250_000, tzinfo=UTC)),
        ("2024-07-01T12:00:00Z", datetime(2024, 7, 1, 12, tzinfo=UTC)),
    ],
)
def test_times_without_an_offset_are_in_the_named_zone(
    world: World, time: str, achieved_at: datetime
) -> None:
    world.create()
    file = world.write(f"participantId,score,achievedAt\nann,1,{time}\n")
    assert world.run(file, "--time-zone", "Europe/Rome") == 0
    assert world.entries()["ann"].achieved_at == achieved_at


@pytest.mark.parametrize("time", ["2024-10-27T02:30:00", "2024-03-31T02:30:00", "1850-01-01", "noon"])
def test_a_time_that_the_zone_has_twice_or_never_is_refused(
    world: World, capsys: pytest.CaptureFixture[str], time: str
) -> None:
    world.create()
    file = world.write(f"participantId,score,achievedAt\nann,1,{time}\n")
    assert world.run(file, "--time-zone", "Europe/Rome") == 1
    assert "line 2: achievedAt: " in capsys.readouterr().out


def test_an_unknown_zone_is_refused(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        world.run("x.csv", "--time-zone", "Rome")
    assert "must be an IANA name" in capsys.readouterr().err


def test_a_dry_run_shows_the_first_rows_and_stores_nothing(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.create(ScorePolicy.SUM)
    rows = "".join(f"p{number},{number}.0\n" for number in range(30))
    file = world.write(f"participantId,score\n ann ,1'848\nbob,x\n{rows}")
    before = item_counts(world.db)
    assert world.run(file, "--dry-run") == 1
    output = capsys.readouterr().out
    assert "dry run: nothing was stored" in output
    assert "31 would be submitted" in output
    assert "line 3: score component 'score': must be a whole number, not 'x'" in output
    assert "│ ann " in output
    assert "│ 1848 " in output
    assert "p8" in output
    assert "p9" not in output, "only ten rows are shown"
    assert item_counts(world.db) == before
    assert world.run(file) == 1
    assert world.scores()["ann"] == (1848,)


def test_a_dry_run_creates_no_data_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scores.csv"
    file.write_text("participantId,score\nann,1\n")
    target = ["--board", "race", "--data", str(tmp_path / "new")]
    assert main(["import", str(file), *target, "--create", "--dry-run"]) == 0
    assert "1 would be submitted" in capsys.readouterr().out
    assert not (tmp_path / "new").exists()


def item_counts(db: Database) -> list[int]:
    tables = (db.tables.scores, db.tables.boards, db.tables.records, db.tables.counters)
    return [db.client.scan(TableName=name, Select="COUNT")["Count"] for name in tables]


@pytest.mark.parametrize("name", ["x.jsonl", "x.json"])
def test_an_object_that_names_a_field_twice_is_refused(world: World, name: str) -> None:
    """Which of the two is meant cannot be known."""
    world.create()
    row = '{"participantId": "ann", "score": 1, "score": 2}'
    assert world.run(world.write(row if name == "x.jsonl" else f"[{row}]", name)) != 0
    assert world.entries() == {}
