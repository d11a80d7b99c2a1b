"""What commands print: tables with text as it is, and progress."""

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

_SECONDS_BETWEEN_LINES = 5.0


def plain_console() -> Console:
    """Return a console that prints brackets and colons as they are: ids and names are the users' own."""
    return Console(markup=False, emoji=False, highlight=False)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add `--json`, which `print_table` and `print_json` obey."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def print_json(value: object) -> None:
    """Print a value as JSON, with non-ASCII text as it is."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def print_table(
    args: argparse.Namespace, columns: Mapping[str, str], rows: Iterable[Sequence[str | int | bool | None]]
) -> None:
    """Print rows as a table, or with --json as a list of objects; `columns` maps JSON names to headings."""
    if args.json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
        return
    table = Table()
    for heading in columns.values():
        table.add_column(heading, overflow="fold")  # a hash or an id is useless if its end is cut off
    for row in rows:
        table.add_row(*map(_cell, row))
    plain_console().print(table)


def print_pairs(args: argparse.Namespace, pairs: Iterable[tuple[str, str]], title: str) -> None:
    """Print names with their texts as a table without headings, or with --json as one object."""
    if args.json:
        print_json(dict(pairs))
        return
    table = Table(title=title, show_header=False)
    for pair in pairs:
        table.add_row(*pair)
    plain_console().print(table)


def _cell(value: str | float | bool | None) -> str:  # noqa: FBT001
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


@contextlib.contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show on stderr how much of `total` is done: a bar on a terminal, else a line every five seconds.

    Yields the function to call with how much is done.
    """
    console = Console(stderr=True)
    if console.is_terminal:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
        )
        with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
            task = bar.add_task(label, total=total)
            yield lambda done: bar.update(task, completed=done)
        return
    next_line = time.monotonic() + _SECONDS_BETWEEN_LINES

    def print_now_and_then(done: int) -> None:
        nonlocal next_line
        if time.monotonic() >= next_line:
            next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
            console.print(f"{label}: {done / max(total, 1):.0%}", markup=False, highlight=False)

    yield print_now_and_then
