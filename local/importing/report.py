"""Tells how an import goes: the progress, the counts, and every refused row."""

import contextlib
import csv
import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from core.domain.errors import LeaderboardError
from core.domain.model import SubmitResult
from local.importing.input_file import Format, Refusal
from local.importing.submit import Row

_SHOWN_REFUSALS = 20
_SECONDS_BETWEEN_LINES = 5.0


class Report:
    """Counts what became of the rows. Its methods may be called from any thread."""

    def __init__(self, write_refusal: Callable[[Refusal], object] | None = None) -> None:
        self.accepted = 0
        self.kept = 0
        self.repeated = 0
        self.refused = 0
        self._first_refusals: list[Refusal] = []
        self._write_refusal = write_refusal
        self._lock = threading.Lock()

    def settle(self, row: Row, outcome: SubmitResult | LeaderboardError) -> None:
        """Count what became of a submitted row."""
        if isinstance(outcome, LeaderboardError):
            field, _, rule = str(outcome).partition(": ")
            self.refuse(Refusal(row.number, field, rule, row.raw))
            return
        with self._lock:
            if outcome.accepted:
                self.accepted += 1
            elif outcome.duplicate:
                self.repeated += 1
            else:
                self.kept += 1

    def skip(self) -> None:
        """Count a row that an earlier run has settled."""
        with self._lock:
            self.repeated += 1

    def refuse(self, refusal: Refusal) -> None:
        """Count a refused row and write it down."""
        with self._lock:
            self.refused += 1
            if len(self._first_refusals) < _SHOWN_REFUSALS:
                self._first_refusals.append(refusal)
            if self._write_refusal is not None:
                self._write_refusal(refusal)

    def lines(self) -> Iterator[str]:
        """Put the counts and the first refused rows in words."""
        yield f"{self.accepted:,} accepted"
        if self.kept:
            yield f"{self.kept:,} kept what stood before"
        if self.repeated:
            yield f"{self.repeated:,} had been imported before"
        if self.refused:
            yield f"{self.refused:,} refused"
        for refusal in sorted(self._first_refusals, key=lambda one: one.line):
            yield f"  line {refusal.line}: {refusal.field}: {refusal.rule}"
        if self.refused > len(self._first_refusals):
            yield f"  and {self.refused - len(self._first_refusals):,} more: all of them with --refused FILE"


def refusal_writer(file: TextIO, file_format: Format, header: Sequence[str]) -> Callable[[Refusal], object]:
    """Write refused rows as they were read, in the format of their file, with three columns in front.

    So the file that comes of it, mended, can be imported with the same options.
    """
    if file_format == "csv":
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["refused_line", "refused_field", "refused_rule", *header])
        return lambda refusal: rows.writerow([refusal.line, refusal.field, refusal.rule, *refusal.raw])

    def write_object(refusal: Refusal) -> None:
        why = {"refused_line": refusal.line, "refused_field": refusal.field, "refused_rule": refusal.rule}
        text = refusal.raw[0].strip()
        if text.startswith("{") and text != "{}":
            # Joined as text: a number of too many digits stays as it is, and what is no JSON can be mended.
            file.write(f"{json.dumps(why)[:-1]}, {text[1:]}\n")
        else:
            file.write(json.dumps(why | {"row": text}) + "\n")

    return write_object


def plain_console() -> Console:
    """Give a console for texts that others chose: it prints brackets and colons as they are."""
    return Console(markup=False, emoji=False, highlight=False)


@contextlib.contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show on stderr how much of `total` is done: a bar on a terminal, elsewhere a line now and then.

    Gives the function to tell it.
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

    def tell(done: int) -> None:
        nonlocal next_line
        if time.monotonic() >= next_line:
            next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
            console.print(f"{label}: {done / max(total, 1):.0%}", markup=False, highlight=False)

    yield tell
