"""CSV as people's programs write it."""

import io

import pytest

from local.importing.csv_file import find_separator
from tests.support.importing import World

SCORES = {"ann": (12,), "bob": (7,)}


@pytest.mark.parametrize(
    ("content", "options", "name"),
    [
        ("participantId;score\nann;12\nbob;7\n", [], "semicolon"),
        ("participantId\tscore\nann\t12\nbob\t7\n", [], "tab"),
        ("participantId|score\nann|12\nbob|7\n", [], "pipe"),
        ("sep=;\nparticipantId;score\nann;12\nbob;7\n", [], "semicolon"),
        ('"sep=\t"\r\nparticipantId\tscore\r\nann\t12\r\nbob\t7\r\n', [], "tab"),
        ("sep=:\nparticipantId:score\nann:12\nbob:7\n", [], "':'"),
        ("participantId^score\nann^12\nbob^7\n", ["--separator", "^"], "'^'"),
        ("participantId;a, b, c, d;score\nann;1, 2, 3, 4;12\nbob;1, 2, 3, 4;7\n", [], "semicolon"),
        ('participantId;score;note\nann;12;"a,b\n;,,c"\nbob;7;"x|y|z"\n', [], "semicolon"),
    ],
)
def test_the_separator_is_found_and_shown(
    world: World, capsys: pytest.CaptureFixture[str], content: str, options: list[str], name: str
) -> None:
    world.create()
    assert world.run(world.write(content), *options) == 0
    assert f"separator: {name}" in capsys.readouterr().out
    assert world.scores() == SCORES


@pytest.mark.parametrize(
    ("content", "separator"),
    [
        ("ann;1,5\nbob;2,5\n", ";"),
        ("ann 1:02:03\nbob 1:02:04\n", ","),
        ("ann\t1,5;\nbob\t2,5;\n", "\t"),
        ("", ","),
    ],
)
def test_without_a_header_the_first_rows_decide(content: str, separator: str) -> None:
    assert find_separator(io.StringIO(content), None, []) == separator


def test_a_file_without_a_header_has_numbered_columns(world: World) -> None:
    world.create()
    file = world.write("1;ann;x\n2;bob;7\n")
    options = ["--no-header", "--participant", "2", "--score", "3"]
    refused = world.folder / "refused.csv"
    assert world.run(file, *options, "--refused", str(refused)) == 1
    assert world.scores() == {"bob": (7,)}
    corrected = world.write(refused.read_text().replace(";x;", ";12;"), "corrected.csv")
    assert world.run(corrected, *options) == 0
    assert world.scores() == SCORES


def test_comment_lines_are_left_out_between_rows(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.create()
    file = world.write(
        '# exported by "a tool\n#\nparticipantId,score,note\nann,12,"a\n# no comment"\n'
        '# half, "time\nbob,x,\n'
    )
    assert world.run(file, "--comment", "#", "--metadata", "note") == 1
    assert world.scores() == {"ann": (12,)}
    assert world.entries()["ann"].metadata == '{"note":"a\\n# no comment"}'
    assert "line 7: score" in capsys.readouterr().out


LONG = "x" * 1_000_000


@pytest.mark.parametrize(
    ("content", "name", "options"),
    [
        (LONG, "a.csv", []),
        (",".join(f"c{number}" for number in range(100_000)), "a.csv", []),
        (f"participantId,score\n{LONG},1\n", "a.csv", []),
        (f"participantId,score\nann,{LONG}\n", "a.csv", []),
        (f"participantId,score\nann,{'1' * 100_000}\n", "a.csv", []),
        (f"participantId,score,achievedAt\nann,1,{LONG[:100_000]}\n", "a.csv", []),
        (f"participantId,score\nann,{'1,' * 50_000}\n", "a.csv", []),
        (f"participantId;score\nann;{'1,' * 50_000}\n", "a.csv", []),
        (f'{{"participantId": "{LONG}", "score": "{LONG}"}}\n', "a.jsonl", []),
        (f'{{"{LONG}": 1}}\n', "a.jsonl", []),
        (f"[{LONG}]", "a.json", []),
        (f'{{"{LONG}": 1}}', "a.json", []),
        (f"participantId,score,{LONG[:100_000]}\nann,1,2\n", "a.csv", ["--participant", "who"]),
        (f"participantId,score\ncaf\xe9{LONG[:100_000]},x\n", "a.csv", []),
        (f"participantId,score\n{' ' * 100_000}ann,1\n", "a.csv", []),
    ],
)
def test_messages_are_short_whatever_the_file_is(
    world: World, capsys: pytest.CaptureFixture[str], content: str, name: str, options: list[str]
) -> None:
    world.create()
    world.run(world.write(content, name), *options)
    captured = capsys.readouterr()
    lines = (captured.out + captured.err).splitlines()
    assert lines
    assert max(map(len, lines)) < 1200
