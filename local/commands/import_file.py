"""`leaderboard import`: submit the rows of a file to a board, and report why rows were refused."""

import argparse
import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO, TextIO, TypeVar

from core.boards import Boards
from core.domain.errors import InvalidInput, LeaderboardExists, LeaderboardNotFound
from core.domain.model import Board
from local.commands.import_options import add_options
from local.console import plain_console, progress
from local.errors import StackError
from local.importing.board import BoardOptions, check_board, new_board
from local.importing.checkpoint import Checkpoint
from local.importing.input_file import FileOptions, Format, InputFile, shown_columns
from local.importing.preview import preview
from local.importing.read_rows import Columns, DefaultTimes, Reading, RowReader
from local.importing.report import Report, refusal_writer
from local.importing.run import import_rows
from local.stack.target import Stack, opened

T = TypeVar("T")


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `import` command."""
    parser = subparsers.add_parser(
        "import",
        help="submit the rows of a CSV, JSON Lines or JSON file",
        description="Submits every row of a file to a board. Running the same import again changes nothing, "
        "whatever the policy and wherever the first run ended: each entry stores the number of the last row "
        "applied to it. Ids are tidied: no blanks around them, nothing invisible, Unicode's form NFC. Exit "
        "codes: 0 every row was imported; 1 some were refused; 2 the import could not run, or stopped.",
        epilog="To import refused rows, correct the file that --refused wrote and import that one. A changed "
        "file is a new source, and all of its rows are submitted. To import a file again after rows were "
        "appended to it, use the same --source NAME each time.",
    )
    add_options(parser)
    parser.set_defaults(func=run, when_interrupted="to resume")


def run(args: argparse.Namespace) -> int:
    """Import a file and print what became of its rows; return the exit code.

    Raises:
        StackError: the file cannot be read or lacks a column, a cell can be read in two ways, there is no
            such board or it differs from the options, or the import stopped.
    """
    with contextlib.ExitStack() as stack:
        stream, written_at = _open_input(stack, args.file)
        file = InputFile(stream, _file_options(args), [args.participant, *args.score])
        header = file.header()
        columns = _columns(args, file.format, header)
        opened_stack = _open_stack(stack, args)
        board, exists = _board(opened_stack and opened_stack.boards, args)
        _check_components(board, columns, file.format)
        reader = RowReader(file, columns, _reading(args), board, DefaultTimes(board, written_at))
        how = reader.reading.described() | {"encoding": args.encoding, "separator": args.separator}
        how["columns"] = [columns.participant, *columns.score]
        checkpoint = None
        if opened_stack is not None and exists:
            checkpoint = Checkpoint(opened_stack.db, board, _source(args, reader))
            checkpoint.check_reading(how)
        reader.survey()
        if opened_stack is None or args.dry_run:
            return _dry_run(reader)
        if checkpoint is None:
            board = _create(opened_stack.boards, board)
            reader.board = board
            checkpoint = Checkpoint(opened_stack.db, board, _source(args, reader))
        if args.source is None and checkpoint.default_time is not None:
            reader.times.last_time = (
                checkpoint.default_time
            )  # of the same content: a copy's rows are no later
        report = Report()
        if args.refused is not None:
            named_header = None if args.no_header else header
            refused_file = _open_refused(stack, args)
            report = Report(refusal_writer(refused_file, file.format, named_header, file.separator))
        checkpoint.begin(how, reader.times.last_time)
        try:
            with progress(f"importing {args.file}", file.size) as show:
                import_rows(
                    opened_stack.db,
                    board,
                    reader.rows(),
                    report,
                    checkpoint,
                    workers=args.workers,
                    show_progress=lambda: show(file.position),
                )
        finally:
            _print_report(reader, report)
    return 1 if report.refused else 0


def _dry_run(reader: RowReader) -> int:
    """Print what an import would do; return its exit code."""
    report = Report(dry_run=True)
    table = preview(reader.board, reader.rows(), report, datetime.now(UTC))
    plain_console().print(table)
    _print("dry run: nothing was stored")
    _print_report(reader, report)
    return 1 if report.refused else 0


def _print_report(reader: RowReader, report: Report) -> None:
    for line in (reader.file.description, *report.lines(), *reader.tidy.lines()):
        _print(line)


def _open_stack(stack: contextlib.ExitStack, args: argparse.Namespace) -> Stack | None:
    """Open the stack; None for a dry run that would create a local one."""
    if args.dry_run and args.create and args.stack is None and not args.data.exists():
        return None
    return stack.enter_context(opened(args, creates=args.create and not args.dry_run))


def _open_input(stack: contextlib.ExitStack, name: str) -> tuple[BinaryIO, datetime]:
    """Open a file; return it with its modification time. A pipe is copied, as the file is read twice."""
    now = datetime.now(UTC)
    try:
        stream = sys.stdin.buffer if name == "-" else stack.enter_context(Path(name).open("rb"))  # noqa: SIM115
    except OSError as error:
        raise StackError(f"cannot read {name}: {error.strerror}") from None
    if stream.seekable():
        return stream, min(now, datetime.fromtimestamp(os.fstat(stream.fileno()).st_mtime, UTC))
    copy = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115
    shutil.copyfileobj(stream, copy)
    return copy, now


def _open_refused(stack: contextlib.ExitStack, args: argparse.Namespace) -> TextIO:
    """Open the file of refused rows, in the encoding that was named for the file itself."""
    path, name = args.refused, args.file
    encoding, errors = (args.encoding, "backslashreplace") if args.encoding else ("utf-8", "surrogateescape")
    try:
        if path.exists() and Path(name).exists() and path.samefile(name):
            raise StackError(f"--refused {path} is the file to import; name another")
        file: TextIO = stack.enter_context(path.open("w", encoding=encoding, errors=errors, newline=""))
    except OSError as error:
        raise StackError(f"cannot write {path}: {error.strerror}") from None
    return file


def _file_options(args: argparse.Namespace) -> FileOptions:
    return FileOptions(
        format=args.format or _format_of(args.file),
        encoding=args.encoding,
        separator=args.separator,
        comment=args.comment,
        no_header=args.no_header,
        items=args.items,
    )


def _reading(args: argparse.Namespace) -> Reading:
    return Reading(
        decimal=args.decimal,
        time_zone=args.time_zone,
        add_gaps=args.gaps == "add",
        gaps_by=args.gaps_by,
        where=tuple(args.where),
        skip_values=tuple(args.skip_value),
    )


def _columns(args: argparse.Namespace, file_format: Format, header: Sequence[str]) -> Columns:
    """Return the columns to read: those that were named, and the usual optional ones if they exist.

    Raises:
        StackError: the file lacks a column.
    """

    def optional(named: T | None, usual: str, default: T) -> T | None:
        if named is not None or (file_format == "csv" and usual not in header):
            return named
        return default

    columns = Columns(
        participant=args.participant,
        score=tuple(args.score),
        achieved_at=optional(args.achieved_at, "achievedAt", "achievedAt"),
        display_name=optional(args.display_name, "displayName", "displayName"),
        metadata=tuple(optional(args.metadata, "metadata", ["metadata"]) or ()),
        metadata_json="metadataJson" if file_format != "csv" or "metadataJson" in header else None,
    )
    required = [columns.participant, *columns.score]
    if file_format == "csv":  # a JSON object may omit optional names
        required += [name for name in (columns.achieved_at, columns.display_name) if name is not None]
        required += columns.metadata
    required += [name for name, _ in args.where]
    required += [args.gaps_by] if args.gaps_by is not None else []
    for name in required:
        count = header.count(name if file_format == "csv" or name in header else name.partition(".")[0])
        if count != 1:
            problem = "more than one column" if count else "no column"
            raise StackError(f"{args.file} has {problem} {name!r}; its columns: {shown_columns(header)}")
    return columns


def _board(boards: Boards | None, args: argparse.Namespace) -> tuple[Board, bool]:
    """Return the board and whether it exists; one that does not exist is defined if --create is given."""
    names = ("score", "create", "title", "kind", "order", "decimals", "policy", "tie_break")
    options = BoardOptions(args.board, **{name: getattr(args, name) for name in names})
    now = datetime.now(UTC)
    try:
        try:
            if boards is None:
                return new_board(options, now), False
            board = boards.get(args.board)
        except LeaderboardNotFound as error:
            if not args.create:
                raise StackError(f"{error}; --create creates it, see leaderboard import --help") from None
            return new_board(options, now), False
        check_board(board, options, now)
    except InvalidInput as error:
        raise StackError(f"board {args.board!r}: {error}") from None
    return board, True


def _create(boards: Boards, board: Board) -> Board:
    try:
        return boards.create(board)
    except (InvalidInput, LeaderboardExists) as error:
        raise StackError(f"board {board.id!r}: {error}") from None


def _check_components(board: Board, columns: Columns, file_format: Format) -> None:
    names = [component.name for component in board.components]
    may_hold_list = file_format != "csv" and len(columns.score) == 1
    if len(columns.score) != len(names) and not may_hold_list:
        raise StackError(
            f"board {board.id!r} has {len(names)} component(s), {', '.join(names)}: "
            "name one column for each with --score"
        )
    if sorted(columns.score) == sorted(names) and list(columns.score) != names:
        raise StackError(
            f"--score names the columns in another order than board {board.id!r}: {','.join(names)}"
        )


def _source(args: argparse.Namespace, reader: RowReader) -> str:
    """Return a name for what the file adds to a board: its own, or that of its content, columns and rows."""
    if args.source:
        return hashlib.sha256(args.source.encode(errors="surrogateescape")).hexdigest()[:16]
    where = [reader.reading.where] if reader.reading.where else []
    return reader.file.digest(reader.columns.participant, reader.columns.score, *where)


def _format_of(name: str) -> Format:
    suffix = Path(name).suffix.lower()
    if suffix in {".jsonl", ".ndjson"}:
        return "jsonl"
    return "json" if suffix == ".json" else "csv"


def _print(line: str) -> None:
    """Print a line that may contain bytes of the file that are not UTF-8."""
    print(line.encode(errors="backslashreplace").decode())  # noqa: T201
