"""`leaderboard export`: what it writes, and that `import` reads the same back."""

import csv
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from core.archives.write import begin_archive, write_archive
from core.domain.board import ComponentInput
from core.domain.model import Board, ScoreKind, SortOrder
from core.submissions.submit import Submission, submit_score
from local.cli import main, parser
from local.commands import export
from local.commands import import_file as import_command
from local.stack.target import Stack
from tests.support.stacks import entry_lines
from tests.support.twin import ALL_TIME, NOW, Twin


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs a command on a given stack."""

    def run(func: Callable[[Namespace], int], stack: Stack, /, **arguments: Any) -> int:
        @contextmanager
        def opened(*_: object, **__: object) -> Iterator[Stack]:
            yield stack

        for module in (export, import_command):
            monkeypatch.setattr(module, "opened", opened)
        return func(Namespace(**arguments))

    return run


def import_file(run: Callable[..., int], stack: Stack, file: Path, board: Board, **options: Any) -> int:
    args = parser().parse_args(["import", str(file), "--board", board.id])
    return run(import_command.run, stack, **{**vars(args), **options})


def export_file(run: Callable[..., int], stack: Stack, file: Path, **options: Any) -> int:
    defaults = {"board": None, "archive": None, "period": "all-time", "format": None, "spreadsheet": False}
    return run(export.run, stack, output=file, **{**defaults, **options})


ODD_IDS = ["a,b", 'q"q', "+39 06", "@left", "\U0001f3c1", "=1+1", "-null", "é"]
ODD_NAMES = ["a,b", 'q"q', " padded ", "\u202eleft", "'=quoted", "=1+1", "@null", "e\u0301"]


@pytest.mark.parametrize("file_format", ["csv", "spreadsheet", "jsonl"])
@pytest.mark.parametrize("composite", [False, True])
def test_an_export_imported_again_is_the_same_to_the_last_digit(
    stack: Stack, run: Callable[..., int], tmp_path: Path, file_format: str, composite: bool
) -> None:
    db, boards, drain, _ = stack
    kinds = [ScoreKind.DECIMAL, ScoreKind.DURATION, ScoreKind.TIMESTAMP] if composite else [ScoreKind.INTEGER]
    components = [
        ComponentInput(f"c, {at}", kind, SortOrder.ASCENDING if at else SortOrder.DESCENDING)
        for at, kind in enumerate(kinds)
    ]
    source, copy = (Twin.make(db, boards, components=components).board for _ in range(2))
    for at, (participant, name) in enumerate(zip(ODD_IDS, ODD_NAMES, strict=True)):
        score = [str(2**62 + at)]
        if composite:
            score = [f"-{at}.25", f"{at}:00:01.001", f"2026-11-30T12:00:0{at}.123Z"]
        metadata = [None, '{"a":1}', "[1]", '"text"', "-3.10", '{"b":"ü"}', "true", '{"c":"a,b"}'][at]
        submit_score(
            db,
            source,
            Submission(participant, score, NOW.replace(microsecond=at), name, metadata),
            now=NOW.replace(hour=23),
        )
    drain()
    file = tmp_path / ("board.jsonl" if file_format == "jsonl" else "board.csv")
    assert export_file(run, stack, file, board=source.id, spreadsheet=file_format == "spreadsheet") == 0
    options = {"score": ["score1", "score2", "score3"]} if composite and file_format != "jsonl" else {}
    assert import_file(run, stack, file, copy, **options) == 0
    drain()
    assert entry_lines(db, copy) == entry_lines(db, source)
    assert not list(tmp_path.glob("*.part"))
    if file_format == "spreadsheet":
        with file.open(newline="") as written:
            rows = list(csv.DictReader(written))
        for column in ("participantId", "displayName", "metadataJson"):
            assert not [row[column] for row in rows if row[column].startswith(("=", "+", "-", "@"))]
        assert {row["formulaEscaped"] for row in rows} == {
            "",
            "participantId",
            "participantId displayName",
            "metadataJson",
        }


def test_a_spreadsheets_json_lines_are_refused(
    ranked_board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--spreadsheet", "--format", "jsonl", "--data", str(tmp_path)]
    assert main(["export", ranked_board.id, *options]) == 2
    assert "--spreadsheet is for CSV" in capsys.readouterr().err


def test_an_archive_is_exported_as_it_was(stack: Stack, run: Callable[..., int], tmp_path: Path) -> None:
    db, boards, *_ = stack
    twin, copy = Twin.make(db, boards), Twin.make(db, boards)
    for number in range(5):
        twin.submit(f"p{number}", number)
    name = begin_archive(db, twin.board, ALL_TIME, NOW)
    write_archive(db, name, 1e9)
    then = entry_lines(db, twin.board)
    twin.submit("p0", 9, at=1)
    file = tmp_path / "archive.jsonl"
    export_file(run, stack, file, archive=name)
    import_file(run, stack, file, copy.board)
    assert entry_lines(db, copy.board) == then


def test_an_export_goes_to_a_file_or_to_stdout(
    ranked_board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = [ranked_board.id, "--data", str(tmp_path)]
    assert main(["export", *target]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "participantId,score,achievedAt,displayName,metadataJson",
        "p2,2,2026-11-30T12:00:00Z,,",
        "p1,1,2026-11-30T12:00:00Z,,",
        "p0,0,2026-11-30T12:00:00Z,,",
    ]
    assert "leaderboard import" in printed.err
    assert main(["export", *target, "-o", str(tmp_path / "x.csv")]) == 0
    assert (tmp_path / "x.csv").read_text() == printed.out
    assert main(["export", *target, "-o", str(tmp_path / "no" / "x.csv")]) == 2
    assert main(["export", "none", "--data", str(tmp_path)]) == 1
    assert main(["export", "--archive", "none", "--data", str(tmp_path)]) == 1
    assert "ArchiveNotFound" in capsys.readouterr().err
