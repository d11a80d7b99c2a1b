"""`leaderboard export`: a board's standings, or an archive, in a file that `import` takes back."""

import argparse
import csv
import json
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from core.archives.read import archive_entries, read_complete
from core.domain.limits import MAX_PAGE
from core.domain.model import Board, Entry, Page
from core.domain.periods import resolve_period
from core.domain.scores import format_value
from core.ranking.queries import entries, size
from core.storage.database import Database
from local.errors import StackError
from local.import_report import progress
from local.stack import Stack, add_target, opened

_DESCRIPTION = """
Writes the standings of a board, or of an archive, best first: participantId, score, achievedAt, displayName
and metadataJson, with every digit of a score. Hidden entries are not in it; `leaderboard backup` keeps those
too.
"""

Pages = Callable[[str | None], Page[Entry]]


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `export` command."""
    parser = subparsers.add_parser(
        "export", help="write a board or an archive to a CSV or JSON Lines file", description=_DESCRIPTION
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("board", metavar="BOARD", nargs="?")
    what.add_argument("--archive", metavar="ID", help="an archive instead, by its id")
    parser.add_argument("--period", default="all-time", help="of the board; default all-time")
    parser.add_argument("--format", choices=["csv", "jsonl"], help="default: what FILE's name says")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="default: stdout")
    add_target(parser)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Export a board or an archive; give the exit code.

    Raises:
        StackError: the file cannot be written.
    """
    file_format = args.format or _format_of(args.output)
    with ExitStack() as stack:
        opened_stack = stack.enter_context(opened(args))
        board, total, pages = _source(opened_stack, args)
        part = args.output and args.output.with_name(args.output.name + ".part")
        file = stack.enter_context(_open(part)) if part else sys.stdout
        tell = stack.enter_context(progress(f"exporting {args.archive or args.board}", total))
        write = _csv_writer(file, board) if file_format == "csv" else _json_writer(file, board)
        count = 0
        for page in _walk(pages):
            for entry in page:
                write(entry)
            count += len(page)
            tell(count)
    if part:
        part.replace(args.output)  # a file that is there is whole
    _hint(args, board, file_format, count)
    return 0


def score_columns(board: Board) -> list[str]:
    """Name the columns of a board's scores, as `leaderboard import --score` takes them."""
    if len(board.components) == 1:
        return ["score"]
    return [f"score{number}" for number in range(1, len(board.components) + 1)]


def _source(stack: Stack, args: argparse.Namespace) -> tuple[Board, int, Pages]:
    """Give the board, how many entries there are, and how to read them."""
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


def _walk(pages: Pages) -> Iterator[Sequence[Entry]]:
    token: str | None = None
    while True:
        page = pages(token)
        yield page.items
        token = page.next_token
        if token is None:
            return


def _csv_writer(file: TextIO, board: Board) -> Callable[[Entry], object]:
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(["participantId", *score_columns(board), "achievedAt", "displayName", "metadataJson"])

    def write(entry: Entry) -> None:
        texts = [entry.display_name or "", entry.metadata or ""]
        rows.writerow([entry.participant_id, *_score(board, entry), _instant(entry), *texts])

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


def _open(path: Path) -> TextIO:
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
    sys.stderr.write(f"{count:,} entries; to take them back: leaderboard import {file} {options}\n")
