"""`leaderboard export`: write a board's standings, or an archive, to a file that `import` can read."""

import argparse
import csv
import json
import shlex
import sys
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from core.archives.read import archive_entries, read_complete
from core.domain.limits import MAX_PAGE
from core.domain.model import Board, Entry, Page
from core.domain.page_tokens import every_item
from core.domain.periods import ALL_TIME, resolve_period
from core.domain.scores import format_value
from core.ranking.pages import entries
from core.ranking.queries import size
from core.storage.database import Database
from local.console import progress
from local.errors import StackError
from local.importing.spreadsheet import ESCAPED_COLUMN, escaped
from local.stack.target import Stack, add_target, opened

_DESCRIPTION = """
Writes the entries of a board or an archive, best first: participantId, score with every digit, achievedAt,
displayName and metadataJson. Hidden entries are left out; `leaderboard backup` keeps those too.
"""

ReadPage = Callable[[str | None], Page[Entry]]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `export` command."""
    parser = subparsers.add_parser(
        "export", help="write a board or an archive to a CSV or JSON Lines file", description=_DESCRIPTION
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("board", metavar="BOARD", nargs="?", help="the board's id")
    source.add_argument("--archive", metavar="ID", help="export an archive, by its id, instead of a board")
    parser.add_argument("--period", default=ALL_TIME, metavar="KEY", help="of the board; default: all-time")
    parser.add_argument("--format", choices=["csv", "jsonl"], help="default: by FILE's name, else csv")
    parser.add_argument(
        "--spreadsheet",
        action="store_true",
        help="write CSV for a spreadsheet: an apostrophe in front of ids, names and metadata that it would "
        f"run as formulas; a column {ESCAPED_COLUMN} names them, and import takes the apostrophes away again",
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: standard output")
    add_target(parser)
    parser.set_defaults(func=run, when_interrupted="to start over")


def run(args: argparse.Namespace) -> int:
    """Export a board or an archive; return the exit code.

    Raises:
        StackError: the file cannot be written.
    """
    file_format = args.format or _format_of(args.output)
    with ExitStack() as stack:
        opened_stack = stack.enter_context(opened(args))
        board, total, read_page = _source(opened_stack, args)
        part = args.output and args.output.with_name(args.output.name + ".part")
        file = stack.enter_context(_open_for_writing(part)) if part else sys.stdout
        show = stack.enter_context(progress(f"exporting {args.archive or args.board}", total))
        if args.spreadsheet and file_format != "csv":
            raise StackError("--spreadsheet is for CSV: leave it out, or --format csv")
        if file_format == "csv":
            write = _csv_writer(file, board, for_spreadsheet=args.spreadsheet)
        else:
            write = _json_writer(file, board)
        count = 0
        for count, entry in enumerate(every_item(read_page), start=1):
            write(entry)
            if count % MAX_PAGE == 0:
                show(count)
    if part:
        part.replace(args.output)  # an export that was interrupted leaves no incomplete file of this name
    _hint(args, board, file_format, count)
    return 0


def score_columns(board: Board) -> list[str]:
    """Return the names of the score columns, for `leaderboard import --score`."""
    if len(board.components) == 1:
        return ["score"]
    return [f"score{number}" for number in range(1, len(board.components) + 1)]


def _source(stack: Stack, args: argparse.Namespace) -> tuple[Board, int, ReadPage]:
    """Return the board, the number of entries, and the function that reads a page of them."""
    if args.archive is None:
        board = stack.boards.get(args.board)
        period = resolve_period(board, args.period, datetime.now(UTC))
        return (
            board,
            size(stack.db, board, period),
            lambda token: entries(stack.db, board, period, MAX_PAGE, token),
        )
    header, count, _ = read_complete(stack.db, args.archive)
    return header.board, count, lambda token: _archived(stack.db, args.archive, token)


def _archived(db: Database, name: str, token: str | None) -> Page[Entry]:
    page = archive_entries(db, name, MAX_PAGE, token)
    return Page([entry for entry, _ in page.items], page.next_token)


def _csv_writer(file: TextIO, board: Board, *, for_spreadsheet: bool) -> Callable[[Entry], object]:
    rows = csv.writer(file, lineterminator="\n")
    last_columns = [ESCAPED_COLUMN] if for_spreadsheet else []
    header = ["participantId", *score_columns(board), "achievedAt", "displayName", "metadataJson"]
    rows.writerow(header + last_columns)

    def write(entry: Entry) -> None:
        texts = {
            "participantId": entry.participant_id,
            "displayName": entry.display_name or "",
            "metadataJson": entry.metadata or "",
        }
        participant, *others = (escaped(texts) if for_spreadsheet else texts).values()
        rows.writerow([participant, *_score(board, entry), _instant(entry), *others])

    return write


def _json_writer(file: TextIO, board: Board) -> Callable[[Entry], object]:
    def write(entry: Entry) -> None:
        line = {"participantId": entry.participant_id, "score": _score(board, entry)}
        line |= {"achievedAt": _instant(entry)}
        if entry.display_name is not None:
            line["displayName"] = entry.display_name
        if entry.metadata is not None:
            line["metadataJson"] = entry.metadata
        file.write(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n")

    return write


def _score(board: Board, entry: Entry) -> list[str]:
    return [
        format_value(component, value) for component, value in zip(board.components, entry.score, strict=True)
    ]


def _instant(entry: Entry) -> str:
    return entry.achieved_at.isoformat().replace("+00:00", "Z")


def _open_for_writing(path: Path) -> TextIO:
    try:
        return path.open("w", encoding="utf-8", newline="")
    except OSError as error:
        raise StackError(f"cannot write {path}: {error.strerror}") from None


def _format_of(output: Path | None) -> str:
    return "jsonl" if output is not None and output.suffix.lower() in {".jsonl", ".ndjson"} else "csv"


def _hint(args: argparse.Namespace, board: Board, file_format: str, count: int) -> None:
    options = f"--board {shlex.quote(board.id)}"
    if file_format == "csv" and len(board.components) > 1:
        options += f" --score {','.join(score_columns(board))}"
    file = shlex.quote(str(args.output or "FILE"))
    sys.stderr.write(f"exported {count:,} entries; to import them: leaderboard import {file} {options}\n")
