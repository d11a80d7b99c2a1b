"""The options of `leaderboard import`."""

import argparse
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TypeVar

from core.domain.board import check_time_zone
from core.domain.errors import InvalidInput
from core.domain.model import ScoreKind, ScorePolicy, SortOrder, TieBreak
from local.importing.csv_file import SEPARATORS, read_separator
from local.stack.target import add_target

E = TypeVar("E", bound=Enum)
T = TypeVar("T")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments and options to the `import` command's parser."""
    parser.add_argument("file", metavar="FILE", help="CSV, JSON Lines or JSON; - for standard input")
    parser.add_argument("--board", required=True, metavar="ID", help="the board's id")
    parser.add_argument("--source", metavar="NAME", help="the source's name; default: a hash of the file")
    parser.add_argument(
        "--refused", type=Path, metavar="FILE", help="write every refused row and the reason to a file"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show the first rows as they would be stored; store nothing"
    )
    parser.add_argument("--workers", type=_workers, default=8, metavar="N", help="threads; default: 8")
    _add_file_options(parser)
    _add_columns(parser)
    _add_reading(parser)
    _add_board(parser)
    add_target(parser)


def _add_file_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the file", "What is found out is shown with the outcome.")
    group.add_argument("--format", choices=["csv", "jsonl", "json"], help="default: by FILE's name, else csv")
    group.add_argument(
        "--encoding",
        metavar="NAME",
        help="such as cp1250; default: by a byte order mark, else UTF-8, else Windows-1252 if it looks so",
    )
    group.add_argument(
        "--separator",
        type=_read_by(read_separator),
        metavar="CHAR",
        help=f"a character, or {', '.join(SEPARATORS)}; default: by a line sep=, else by the first rows",
    )
    group.add_argument("--no-header", action="store_true", help="name the columns of CSV by numbers from 1")
    group.add_argument(
        "--comment", metavar="TEXT", help="leave out lines of CSV that begin with it, such as #"
    )
    group.add_argument("--items", metavar="PATH", help="where the array is in a JSON document: data.results")


def _add_columns(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "columns", "Default: named as the fields of the GraphQL input. In JSON, paths such as driver.name."
    )
    group.add_argument("--participant", default="participantId", metavar="COL")
    group.add_argument(
        "--score",
        type=_list_of(str),
        default=["score"],
        metavar="COL[,COL...]",
        help="one for each component; in JSON a single one may hold a list",
    )
    group.add_argument(
        "--achieved-at",
        metavar="COL",
        help="times; if blank, when FILE was last modified, in the order of its rows",
    )
    group.add_argument("--display-name", metavar="COL")
    group.add_argument(
        "--metadata",
        type=_list_of(str),
        metavar="COL[,COL...]",
        help="stored as one JSON object; a column metadataJson is stored as it is",
    )


def _add_reading(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("cells and rows")
    group.add_argument(
        "--where",
        type=_condition,
        action="append",
        default=[],
        metavar="COL=VALUE",
        help="import only these rows; may be given again: all must hold. Other rows are another import",
    )
    group.add_argument(
        "--skip-value",
        type=_list_of(str),
        action="extend",
        default=[],
        metavar="VALUE[,VALUE...]",
        help="leave out rows with such a score, in any case, with * for any text: DNF,DSQ,'+* lap*'",
    )
    group.add_argument(
        "--decimal", choices=["point", "comma"], help="the decimal mark; the other one groups digits by three"
    )
    group.add_argument(
        "--gaps",
        choices=["refuse", "add"],
        default="refuse",
        help="what +5.856 as a time means: a gap to the leader, whose time is above it, to be added to that "
        "time; default: refuse the file",
    )
    group.add_argument("--gaps-by", metavar="COL", help="the column that tells the races of a file apart")
    group.add_argument(
        "--time-zone",
        type=_read_by(check_time_zone),
        metavar="ZONE",
        help="of times without an offset, such as Europe/Rome",
    )


def _add_board(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "the board",
        "Lists have one item a component, or one item for all. If the board exists, it must be as the given "
        "options say, and with --create as all of them say.",
    )
    group.add_argument("--create", action="store_true", help="create the board if it does not exist")
    group.add_argument("--title")
    group.add_argument(
        "--kind", type=_list_of(_member(ScoreKind)), help=f"{_names(ScoreKind)}; default: INTEGER"
    )
    group.add_argument(
        "--order", type=_list_of(_member(SortOrder)), help=f"{_names(SortOrder)}; default: DESCENDING"
    )
    group.add_argument("--decimals", type=_list_of(int))
    group.add_argument("--policy", type=_member(ScorePolicy), help=f"{_names(ScorePolicy)}; default: BEST")
    group.add_argument("--tie-break", type=_member(TieBreak), help=f"{_names(TieBreak)}; default: EARLIEST")


def _condition(text: str) -> tuple[str, str]:
    column, equals, value = text.partition("=")
    if not equals or not column:
        raise argparse.ArgumentTypeError("must be COL=VALUE")
    return column.strip(), value.strip()


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


def _read_by(read: Callable[[str], str]) -> Callable[[str], str]:
    def value(text: str) -> str:
        try:
            return read(text)
        except (ValueError, InvalidInput) as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return value


def _workers(text: str) -> int:
    if text.isdecimal() and 1 <= int(text) <= 64:
        return int(text)
    raise argparse.ArgumentTypeError("must be from 1 to 64")
