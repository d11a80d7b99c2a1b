"""`leaderboard import`: which rows are read, and which are refused and why."""

import csv
import json
import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from core.domain.board import ComponentInput
from core.domain.model import (
    ScoreKind,
    ScorePolicy,
    SortOrder,
    TieBreak,
)
from local.cli import main
from tests.support.importing import THEN, World


def test_csv_as_spreadsheets_write_it(world: World) -> None:
    world.create()
    file = world.write(
        b"\xef\xbb\xbf"  # a byte order mark
        + "participantId,score,displayName,achievedAt,metadata\r\n"
        '"smith, ann",10,"Ann ""The Cat"" Smith",2024-01-02T03:04:05Z,"{""level"":7}"\r\n'
        "\r\n"
        "Мария,-3,Мария 🏁,2024-01-02T05:04:05.250+02:00,\r\n"
        " padded , 7 ,,,\r\n".encode()
    )
    assert world.run(file) == 0
    entries = world.entries()
    assert {name: entry.score for name, entry in entries.items()} == {
        "smith, ann": (10,),
        "Мария": (-3,),
        "padded": (7,),  # with blanks around it, it would be another player than "padded"
    }
    ann = entries["smith, ann"]
    assert (ann.display_name, ann.metadata) == ('Ann "The Cat" Smith', '{"level":7}')
    assert ann.achieved_at == datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    maria = entries["Мария"]
    assert (maria.display_name, maria.metadata) == ("Мария 🏁", None)
    assert maria.achieved_at == datetime(2024, 1, 2, 3, 4, 5, 250_000, tzinfo=UTC)


def test_named_columns_in_any_order_among_others(world: World) -> None:
    world.create(components=[ComponentInput("points"), ComponentInput("time", ScoreKind.DURATION)])
    file = world.write("rank,time,who,country,points,club\n1,1:27.452,ann,IT,9,Roma\n2,90 s,bob,,8,\n")
    options = ["--participant", "who", "--score", "points,time", "--metadata", "country,club"]
    assert world.run(file, *options) == 0
    assert world.scores() == {"ann": (9, 87_452), "bob": (8, 90_000)}
    assert world.entries()["ann"].metadata == '{"country":"IT","club":"Roma"}'
    assert world.entries()["bob"].metadata is None


def test_rows_without_a_time_get_the_files_modification_time(world: World) -> None:
    world.create()
    file = world.write("participantId,score\nann,1\n")
    os.utime(file, (THEN.timestamp(), datetime(2020, 5, 17, tzinfo=UTC).timestamp()))
    assert world.run(file) == 0
    assert world.entries()["ann"].achieved_at == datetime(2020, 5, 17, tzinfo=UTC)


def test_json_lines_keep_every_digit(world: World) -> None:
    world.create(
        components=[
            ComponentInput("points", ScoreKind.DECIMAL, decimals=18),
            ComponentInput("coins", min="-9223372036854775808"),
        ]
    )
    rows = [
        '{"participantId": "ann", "score": [0.300000000000000004, 9223372036854775807]}',
        '{"participantId": 42, "score": ["-12.5", -9223372036854775808], "metadata": {"run": 1.5}}',
        "",
        '{"score": [1, 2], "participantId": "b\\u00f6b", "displayName": "B", "achievedAt": "2024-01-01T00Z"}',
    ]
    assert world.run(world.write("\r\n".join(rows), "scores.jsonl")) == 0
    assert world.scores() == {
        "ann": (300000000000000004, 2**63 - 1),
        "42": (-12_500000000000000000, -(2**63)),
        "böb": (10**18, 2),
    }
    entries = world.entries()
    assert entries["42"].metadata == '{"run":1.5}'
    assert entries["böb"].display_name == "B"
    assert entries["böb"].achieved_at == datetime(2024, 1, 1, tzinfo=UTC)


def test_a_pipe_on_stdin(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.create(ScorePolicy.SUM)
    for _ in range(2):
        reading, writing = os.pipe()
        os.write(writing, b"participantId,score\nann,1\nann,2\n")
        os.close(writing)
        with os.fdopen(reading) as pipe:
            monkeypatch.setattr(sys, "stdin", pipe)
            assert world.run("-") == 0
    assert world.scores() == {"ann": (3,)}


def test_creating_the_board(world: World) -> None:
    file = world.write("participantId,points,time\nann,9.5,61\n")
    options = ["--score", "points,time", "--create", "--kind", "decimal,DURATION", "--decimals", "1,0"]
    options += ["--order", "descending,ascending", "--policy", "latest", "--tie-break", "participant"]
    assert world.run(file, *options, "--title", "Two things") == 0
    board = world.boards.get(world.board_id)
    assert [(one.name, one.kind, one.order, one.decimals) for one in board.components] == [
        ("points", ScoreKind.DECIMAL, SortOrder.DESCENDING, 1),
        ("time", ScoreKind.DURATION, SortOrder.ASCENDING, 0),
    ]
    assert (board.title, board.policy, board.tie_break) == (
        "Two things",
        ScorePolicy.LATEST,
        TieBreak.PARTICIPANT,
    )
    assert world.scores() == {"ann": (95, 61)}
    assert world.run(file, *options) == 0, "an existing board is used as it is"


def test_creating_the_board_for_a_column_of_lists(world: World) -> None:
    file = world.write('{"participantId": "ann", "score": [1, 2]}\n', "scores.jsonl")
    assert world.run(file, "--create", "--order", "descending,ascending") == 0
    assert [one.name for one in world.boards.get(world.board_id).components] == ["score 1", "score 2"]


# What is refused


def test_each_refused_line_of_csv_is_named_with_its_rule(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.create(components=[ComponentInput(max="100")])
    file = world.write(
        b"who,score,achievedAt\n"
        b"ann,1,\n"
        b",2,\n"
        b"bob,,\n"
        b'"two\nlines",3,\n'
        b"cat,4\n"
        b"dan,NaN,\n"
        b"eve,101,\n"
        b"fay,5,yesterday\n"
        b"gus,5,2024-01-01T00:00:00\n"
        b"caf\xe9,6,\n"
        b'"hal"s,7,\n'
        b"iv\xc3\xa9,8,\n"  # a line of UTF-8, so that line 12 is a broken one and not Latin-1
    )
    refused = world.folder / "refused.csv"
    assert world.run(file, "--participant", "who", "--refused", str(refused)) == 1
    assert world.scores() == {"ann": (1,), "ivé": (8,)}
    output = capsys.readouterr().out
    assert "2 accepted" in output
    assert "10 refused" in output
    reasons = {
        3: ("participantId", "must not be empty"),
        4: ("score component 'score'", "must be a whole number"),
        5: ("participantId", "must not hold control characters"),
        7: ("row", "must have 3 columns as the header has, not 2"),
        8: ("score component 'score'", "must be a whole number, not 'NaN'"),
        9: ("score component 'score'", "must be at most 100"),
        10: ("achievedAt", "must be a time with its offset"),
        11: ("achievedAt", "must be a time with its offset"),
        12: ("participantId", "must be valid Unicode"),
        13: ("row", "must be valid CSV"),
    }
    for line, (field, rule) in reasons.items():
        assert f"  line {line}: {field}: {rule}" in output
    with refused.open(encoding="utf-8", errors="surrogateescape", newline="") as written:
        header, *rows = csv.reader(written)
    assert header == ["refused_line", "refused_field", "refused_rule", "who", "score", "achievedAt"]
    assert {int(row[0]): row[1] for row in rows} == {line: field for line, (field, _) in reasons.items()}
    assert next(row[3:] for row in rows if row[0] == "9") == ["eve", "101", ""]


def test_a_missing_closing_quote_does_not_hide_the_rows_before_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.create()
    lines = "".join(f"p{number},{number}\n" for number in range(30))
    assert world.run(world.write(f'participantId,score\nann,1\n"bob,2\n{lines}')) == 1
    assert world.scores() == {"ann": (1,)}
    assert "line 3: row: must be valid CSV: unexpected end of data (lines 3 to 33)" in capsys.readouterr().out


def test_each_refused_line_of_json_is_named_with_its_rule(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.create()
    rows = [
        '{"participantId": "ann", "score": 1}',
        '{"participantId": "bob", "score": }',
        '["cat", 3]',
        '{"participantId": "dan"}',
        '{"participantId": "eve", "score": true}',
        '{"participantId": null, "score": 5}',
        '{"participantId": "fay", "score": NaN}',
        '{"participantId": "gus", "score": 1e400}',
        '{"participantId": "hal", "score": [1, 2]}',
        '{"participantId": "ivy", "score": 1, "metadata": {"a": 1e400}}',
        "[" * 100_000,
        '{"participantId": "joe", "score": 12345678901234567890}',
        '{"participantId": "kim", "score": 0}',
    ]
    refused = world.folder / "refused.jsonl"
    file = world.write("\n".join(rows), "scores.ndjson")
    assert world.run(file, "--refused", str(refused)) == 1
    assert world.scores() == {"ann": (1,), "kim": (0,)}
    output = capsys.readouterr().out
    for line, reason in {
        2: "row: must be a JSON object",
        3: "row: must be a JSON object",
        4: "score: must be text, a number, or a list",
        5: "score: must be text, a number, or a list",
        6: "participantId: must be text",
        7: "score component 'score': must be a whole number",
        8: "score component 'score': must be a whole number, not '1e400'",
        9: "score: needs 1 value(s)",
        10: "metadata: must be JSON",
        11: "row: must be a JSON object",
        12: "score component 'score': must be at most 9223372036854775807",
    }.items():
        assert f"  line {line}: {reason}" in output
    written = [line for line in refused.read_text().splitlines() if "12345678901234567890" in line]
    assert json.loads(written[0])["participantId"] == "joe", "the row is written as it was read"


def test_refused_rows_can_be_corrected_and_imported(world: World) -> None:
    world.create(ScorePolicy.SUM)
    file = world.write("participantId,score\nann,1\nann,two\nann,4\nbob,x\n")
    refused = world.folder / "refused.csv"
    assert world.run(file, "--refused", str(refused)) == 1
    assert world.scores() == {"ann": (5,)}
    text = refused.read_text().replace("two", "2").replace("bob,x", "bob,8")
    corrected = world.write(text, "corrected.csv")
    for _ in range(2):
        assert world.run(corrected) == 0
        assert world.scores() == {"ann": (7,), "bob": (8,)}


def test_only_the_first_refused_lines_are_shown(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.create()
    file = world.write("participantId,score\n" + "ann,x\n" * 100)
    assert world.run(file) == 1
    output = capsys.readouterr().out
    assert "100 refused" in output
    assert output.count("  line ") == 20
    assert "and 80 more" in output


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("who,points\nann,1\n", [], "no column 'participantId'; its columns: who, points"),
        ("participantId,points\nann,1\n", [], "no column 'score'; its columns: participantId, points"),
        ("participantId,score\nann,1\n", ["--achieved-at", "when"], "no column 'when'"),
        ("participantId,score\nann,1\n", ["--metadata", "score,club"], "no column 'club'"),
        ("participantId,score,score\nann,1,2\n", [], "more than one column 'score'"),
        ("participantId,a,b\nann,1,2\n", ["--score", "a,b"], "has 1 component(s), score"),
        ("", [], "no header"),
        ('{"name": "ann"}\n', ["--format", "jsonl"], "no column 'participantId'; its columns: name"),
        ("ann,1\n", ["--format", "jsonl"], "no JSON object"),
    ],
)
def test_a_file_that_cannot_be_imported(
    world: World, capsys: pytest.CaptureFixture[str], content: str, options: list[str], message: str
) -> None:
    world.create()
    assert world.run(world.write(content), *options) == 2
    assert message in capsys.readouterr().err
    assert world.scores() == {}


def test_a_missing_board_or_file_is_reported(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    file = world.write("participantId,score\nann,1\n")
    assert world.run(file) == 2
    assert f"there is no leaderboard '{world.board_id}'; --create creates it" in capsys.readouterr().err
    assert world.run(world.folder / "nothing.csv") == 2
    assert "cannot read" in capsys.readouterr().err
    assert world.run(world.folder) == 2
    assert "cannot read" in capsys.readouterr().err


def test_refused_rows_never_overwrite_the_file_itself(world: World) -> None:
    world.create()
    content = "participantId,score\nann,x\n"
    file = world.write(content)
    assert world.run(file, "--refused", str(file)) == 2
    assert file.read_text() == content


def test_a_mistyped_data_folder_is_not_created(
    world: World, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing = tmp_path / "nowhere"
    file = world.write("participantId,score\nann,1\n")
    assert main(["import", str(file), "--board", "race", "--data", str(missing)]) == 2
    assert "nowhere" in capsys.readouterr().err
    assert not missing.exists()
