"""`leaderboard import`: submit the rows of a file to a board, and report why rows were refused."""

import argparse
import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from typing import BinaryIO, TextIO, TypeVar

from core.boards import Boards
from core.domain.board import ComponentInput, define_board
from core.domain.errors import InvalidInput, LeaderboardExists, LeaderboardNotFound
from core.domain.model import Board, ScoreKind, ScorePolicy, SortOrder, TieBreak
from local.console import progress
from local.errors import StackError
from local.importing.input_file import Columns, Format, InputFile
from local.importing.report import Report, refusal_writer
from local.importing.run import import_rows
from local.stack.target import add_target, opened

E = TypeVar("E", bound=Enum)
T = TypeVar("T")


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `import` command."""
    parser = subparsers.add_parser(
        "import",
        help="submit the rows of a CSV or JSON Lines file",
        description="Submits every row of a CSV or JSON Lines file to a board. Running the same import again "
        "changes nothing, whatever the policy and wherever the first run ended: each entry stores the number "
        "of the last row applied to it. Exit codes: 0 every row was imported; 1 some were refused; 2 the "
        "import could not run, or stopped.",
        epilog="To import refused rows, correct the file that --refused wrote and import that one. A changed "
        "file is a new source, and all of its rows are submitted. To import a file again after rows were "
        "appended to it, use the same --source NAME each time.",
    )
    parser.add_argument("file", metavar="FILE", help="CSV with a header, or JSON Lines; - for standard input")
    parser.add_argument("--board", required=True, metavar="ID", help="the board's id")
    parser.add_argument("--format", choices=["csv", "jsonl"], help="default: by FILE's name, else csv")
    parser.add_argument("--source", metavar="NAME", help="the source's name; default: a hash of the file")
    parser.add_argument(
        "--refused", type=Path, metavar="FILE", help="write every refused row and the reason to a file"
    )
    parser.add_argument("--workers", type=_workers, default=8, metavar="N", help="threads; default: 8")

    columns = parser.add_argument_group("columns", "Default: named as the fields of the GraphQL input.")
    columns.add_argument("--participant", default="participantId", metavar="COL")
    columns.add_argument(
        "--score",
        type=_list_of(str),
        default=["score"],
        metavar="COL[,COL...]",
        help="one for each component; in JSON Lines a single one may hold a list",
    )
    columns.add_argument(
        "--achieved-at", metavar="COL", help="times with a UTC offset; if blank, when FILE was last modified"
    )
    columns.add_argument("--display-name", metavar="COL")
    columns.add_argument(
        "--metadata",
        type=_list_of(str),
        metavar="COL[,COL...]",
        help="stored as one JSON object; a column metadataJson is stored as it is",
    )

    board = parser.add_argument_group(
        "creating the board", "Lists have one item a component, or one item for all."
    )
    board.add_argument("--create", action="store_true", help="create the board if it does not exist")
    board.add_argument("--title")
    board.add_argument(
        "--kind", type=_list_of(_member(ScoreKind)), default=[ScoreKind.INTEGER], help=_names(ScoreKind)
    )
    board.add_argument(
        "--order", type=_list_of(_member(SortOrder)), default=[SortOrder.DESCENDING], help=_names(SortOrder)
    )
    board.add_argument("--decimals", type=_list_of(int), default=[None])
    board.add_argument(
        "--policy", type=_member(ScorePolicy), default=ScorePolicy.BEST, help=_names(ScorePolicy)
    )
    board.add_argument(
        "--tie-break", type=_member(TieBreak), default=TieBreak.EARLIEST, help=_names(TieBreak)
    )
    add_target(parser)
    parser.set_defaults(func=run)


def run(args: argparse.Namespace) -> int:
    """Import a file and print what became of its rows; return the exit code.

    Raises:
        StackError: the file cannot be read or lacks a column, there is no such board, or the import stopped.
    """
    with contextlib.ExitStack() as stack:
        stream, written_at = _open_input(stack, args.file)
        file = InputFile(stream, args.format or _format_of(args.file))
        header = file.header()
        columns = _columns(args, file.format, header)
        db, boards, *_ = stack.enter_context(opened(args, creates=args.create))
        board = _board(boards, args)
        _check_components(board, columns, file.format)
        report = Report()
        if args.refused is not None:
            refused_file = _open_refused(stack, args.refused, args.file)
            report = Report(refusal_writer(refused_file, file.format, header))
        try:
            with progress(f"importing {args.file}", file.size) as show:
                import_rows(
                    db,
                    board,
                    file.rows(columns, written_at),
                    report,
                    source=_hash(args.source) if args.source else file.source(columns),
                    workers=args.workers,
                    show_progress=lambda: show(file.position),
                )
        finally:
            for line in report.lines():
                _print(line)
    return 1 if report.refused else 0


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


def _open_refused(stack: contextlib.ExitStack, path: Path, name: str) -> TextIO:
    try:
        if path.exists() and Path(name).exists() and path.samefile(name):
            raise StackError(f"--refused {path} is the file to import; name another")
        return stack.enter_context(path.open("w", encoding="utf-8", errors="surrogateescape", newline=""))
    except OSError as error:
        raise StackError(f"cannot write {path}: {error.strerror}") from None


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
        metadata_json="metadataJson" if file_format == "jsonl" or "metadataJson" in header else None,
    )
    required = [columns.participant, *columns.score]
    if file_format == "csv":  # a JSON object may omit optional names
        required += [name for name in (columns.achieved_at, columns.display_name) if name is not None]
        required += columns.metadata
    for name in required:
        if header.count(name) != 1:
            problem = "more than one column" if name in header else "no column"
            raise StackError(f"{args.file} has {problem} {name!r}; its columns: {', '.join(header)}")
    return columns


def _board(boards: Boards, args: argparse.Namespace) -> Board:
    """Return the board; create it if it does not exist and --create is given."""
    try:
        try:
            board = boards.get(args.board)
        except LeaderboardNotFound as error:
            if not args.create:
                raise StackError(f"{error}; --create creates it, see leaderboard import --help") from None
            board = boards.create(_new_board(args))
    except (InvalidInput, LeaderboardExists) as error:
        raise StackError(f"board {args.board!r}: {error}") from None
    return board


def _check_components(board: Board, columns: Columns, file_format: Format) -> None:
    names = [component.name for component in board.components]
    may_hold_list = file_format == "jsonl" and len(columns.score) == 1
    if len(columns.score) != len(names) and not may_hold_list:
        raise StackError(
            f"board {board.id!r} has {len(names)} component(s), {', '.join(names)}: "
            "name one column for each with --score"
        )


def _new_board(args: argparse.Namespace) -> Board:
    lists = {"score": args.score, "kind": args.kind, "order": args.order, "decimals": args.decimals}
    size = max(map(len, lists.values()))
    for option, values in lists.items():
        if len(values) not in (1, size):
            raise StackError(f"--{option} has {len(values)} items for {size} components: give one, or {size}")
    names, kinds, orders, decimals = (values * (size // len(values)) for values in lists.values())
    if len(args.score) < size:  # one column with lists
        names = [f"{name} {place}" for place, name in enumerate(names, start=1)]
    return define_board(
        id=args.board,
        title=args.title,
        components=[
            ComponentInput(name=name, kind=kind, order=order, decimals=places)
            for name, kind, order, places in zip(names, kinds, orders, decimals, strict=True)
        ],
        policy=args.policy,
        tie_break=args.tie_break,
        now=datetime.now(UTC),
    )


def _format_of(name: str) -> Format:
    return "jsonl" if Path(name).suffix.lower() in {".jsonl", ".ndjson"} else "csv"


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode(errors="surrogateescape")).hexdigest()[:16]


def _list_of(read: Callable[[str], T]) -> Callable[[str], list[T]]:
    def values(text: str) -> list[T]:
        return [read(item.strip()) for item in text.split(",")]

    return values


def _member(enum: type[E]) -> Callable[[str], E]:
    def member(text: str) -> E:
        try:
            return enum(text.upper())
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be one of {_names(enum)}, not {text!r}") from None

    return member


def _names(enum: type[Enum]) -> str:
    return ", ".join(member.value for member in enum)


def _workers(text: str) -> int:
    if text.isdecimal() and 1 <= int(text) <= 64:
        return int(text)
    raise argparse.ArgumentTypeError("must be from 1 to 64")


def _print(line: str) -> None:
    """Print a line that may contain bytes of the file that are not UTF-8."""
    print(line.encode(errors="backslashreplace").decode())  # noqa: T201
