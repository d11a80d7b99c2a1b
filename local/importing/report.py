"""Report what became of an import's rows: the counts, and every refused row."""

import csv
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from core.domain.errors import LeaderboardError
from core.domain.model import SubmitResult
from local.importing.input_file import Format
from local.importing.rows import LeftOut, Refusal, Row

_SHOWN_REFUSALS = 20
_SHOWN_LEFT_OUT = 20
_LONGEST_LINE = 300


class Report:
    """Counts rows by outcome. Threads may share it."""

    def __init__(
        self, write_refusal: Callable[[Refusal], object] | None = None, *, dry_run: bool = False
    ) -> None:
        self.accepted = 0
        self.kept = 0
        self.repeated = 0
        self.refused = 0
        self._first_refusals: list[Refusal] = []
        self._left_out = Counter[str]()
        self._write_refusal = write_refusal
        self._dry_run = dry_run
        self._lock = threading.Lock()

    def settle(self, row: Row, outcome: SubmitResult | LeaderboardError) -> None:
        """Count a submitted row by its outcome."""
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

    def accept(self) -> None:
        """Count a row that would be submitted."""
        self.accepted += 1

    def leave_out(self, row: LeftOut) -> None:
        """Count a row that an option leaves out."""
        with self._lock:
            self._left_out[row.option] += 1

    def skip(self) -> None:
        """Count a row that an earlier run settled."""
        with self._lock:
            self.repeated += 1

    def refuse(self, refusal: Refusal) -> None:
        """Count a refused row and write it to the file of refused rows."""
        with self._lock:
            self.refused += 1
            if len(self._first_refusals) < _SHOWN_REFUSALS:
                self._first_refusals.append(refusal)
            if self._write_refusal is not None:
                self._write_refusal(refusal)

    def lines(self) -> Iterator[str]:
        """Yield lines for the counts and the first refused rows."""
        yield f"{self.accepted:,} {'would be submitted' if self._dry_run else 'accepted'}"
        if self.kept:
            yield f"{self.kept:,} changed nothing: a better or later score stands"
        if self.repeated:
            yield f"{self.repeated:,} were imported before"
        for option, count in self._left_out.most_common(_SHOWN_LEFT_OUT):
            yield f"{count:,} left out by {option}"
        if self.refused:
            yield f"{self.refused:,} refused"
        for refusal in sorted(self._first_refusals, key=lambda refusal: refusal.line):
            yield _short(f"  line {refusal.line}: {refusal.field}: {refusal.rule}")
        if self.refused > len(self._first_refusals):
            yield f"  and {self.refused - len(self._first_refusals):,} more; --refused FILE writes them all"


def refusal_writer(
    file: TextIO, file_format: Format, header: Sequence[str] | None, separator: str = ","
) -> Callable[[Refusal], object]:
    """Return a function that writes refused rows as they were read; those of a JSON array as JSON Lines.

    Three columns in front give the line, the field and the rule; without a header, where columns have
    numbers, they stand behind. Once corrected, that file can be imported with the same options.
    """
    if file_format == "csv":
        rows = csv.writer(file, lineterminator="\n", delimiter=separator)
        if header is None:
            return lambda refusal: rows.writerow([*refusal.raw, refusal.line, refusal.field, refusal.rule])
        rows.writerow(["refused_line", "refused_field", "refused_rule", *header])
        return lambda refusal: rows.writerow([refusal.line, refusal.field, refusal.rule, *refusal.raw])

    def write_object(refusal: Refusal) -> None:
        why = {"refused_line": refusal.line, "refused_field": refusal.field, "refused_rule": refusal.rule}
        text = refusal.raw[0].strip()
        if text.startswith("{") and text != "{}":
            # Join the texts: parsing would lose digits of a number, and the row may be no JSON.
            file.write(f"{json.dumps(why)[:-1]}, {text[1:]}\n")
        else:
            file.write(json.dumps(why | {"row": text}) + "\n")

    return write_object


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[:_LONGEST_LINE] + "\u2026"
