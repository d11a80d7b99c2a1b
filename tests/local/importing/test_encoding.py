"""Encodings are decided before anything is stored, and shown."""

import pytest

from tests.support.importing import World

TEXT = "participantId,score\nRäikkönen,3\nPérez,2\nHülkenberg,1\n"
SCORES = {"Räikkönen": (3,), "Pérez": (2,), "Hülkenberg": (1,)}


@pytest.mark.parametrize(
    ("codec", "options", "shown"),
    [
        ("utf-8", [], "in UTF-8;"),
        ("utf-8-sig", [], "UTF-8 by its byte order mark"),
        ("utf-16", [], "UTF-16 by its byte order mark"),
        ("utf-16-be", [], "UTF-16 without a mark"),
        ("utf-16-le", [], "UTF-16 without a mark"),
        ("utf-32", [], "UTF-32 by its byte order mark"),
        ("cp1252", [], "Windows-1252 (Latin-1), for it is no UTF-8: line 2 is 'Räikkönen,3'"),
        ("latin-1", ["--encoding", "latin-1"], "in iso8859-1;"),
        ("cp850", ["--encoding", "cp850"], "in cp850;"),
        ("utf-16-le", ["--encoding", "utf-16-le"], "in utf-16-le;"),
        ("utf-8", ["--encoding", "UTF8"], "in UTF-8;"),
    ],
)
def test_a_files_encoding_is_found_and_shown(
    world: World, capsys: pytest.CaptureFixture[str], codec: str, options: list[str], shown: str
) -> None:
    world.create()
    assert world.run(world.write(TEXT.encode(codec)), *options) == 0
    assert shown in capsys.readouterr().out
    assert world.scores() == SCORES


@pytest.mark.parametrize("name", ["scores.jsonl", "scores.json"])
def test_json_in_utf_16(world: World, name: str) -> None:
    world.create()
    rows = '{"participantId": "Pérez", "score": 2}'
    assert (
        world.run(world.write((f"[{rows}]" if name == "scores.json" else rows).encode("utf-16"), name)) == 0
    )
    assert world.scores() == {"Pérez": (2,)}


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        (
            "participantId,score\nЮлия,1\n".encode("cp1251"),
            [],
            "line 2 is not UTF-8: name the file's encoding",
        ),
        ("participantId,score\nДим,1\n".encode("koi8-r"), [], "--encoding"),
        ("participantId,score\n田中,1\n".encode("shift_jis"), [], "--encoding"),
        ("participantId,score\nMüller,1\n".encode("cp850"), [], "--encoding"),
        ("participantId,score\nJosé,1\n".encode("cp850"), [], "--encoding"),
        ("participantId,score\nJosé,1\n".encode("mac_roman"), [], "--encoding"),
        (
            "participantId,score\nMüller,1\n".encode("latin-1"),
            ["--encoding", "utf-16"],
            "the file is not utf-16",
        ),
        (b"participantId,score\na\x81,1\n", ["--encoding", "cp1252"], "does not decode, near byte"),
        (b"participantId,score\nann,1\n", ["--encoding", "latin-0"], "--encoding 'latin-0' is unknown"),
        (b"participantId,score\nann,1\n", ["--encoding", "rot13"], "is unknown"),
        (b"PK\x03\x04" + b"\0" * 99, [], "an Excel workbook"),
        (b"\x1f\x8b\x08" + b"\0" * 99, [], "compressed with gzip"),
    ],
)
def test_what_cannot_be_decided_is_refused_before_anything_is_stored(
    world: World, capsys: pytest.CaptureFixture[str], content: bytes, options: list[str], message: str
) -> None:
    world.create()
    assert world.run(world.write(content), *options) == 2
    assert message in capsys.readouterr().err
    assert world.scores() == {}


def test_a_broken_line_among_good_utf_8_spoils_only_itself(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    world.create()
    file = world.write(b"participantId,score\nJos\xe9,1\n" + "Zoë,2\n".encode())
    refused = world.folder / "refused.csv"
    assert world.run(file, "--refused", str(refused)) == 1
    assert "line 2: participantId: must be valid Unicode" in capsys.readouterr().out
    assert b"Jos\xe9,1" in refused.read_bytes()
    assert world.scores() == {"Zoë": (2,)}


def test_refused_rows_are_written_in_the_named_encoding(world: World) -> None:
    world.create()
    options = ["--encoding", "cp1250", "--separator", "semicolon"]
    refused = world.folder / "refused.csv"
    file = world.write("participantId;score\nDvořák;x\n".encode("cp1250"))
    assert world.run(file, *options, "--refused", str(refused)) == 1
    corrected = world.write(refused.read_bytes().replace(b";x", b";5"), "corrected.csv")
    assert world.run(corrected, *options) == 0
    assert world.scores() == {"Dvořák": (5,)}
