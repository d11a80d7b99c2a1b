"""Report what became of an import's rows: the counts, and every refused row."""

import csv
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from core.domain.errors import LeaderboardError
from core.domain.model import SubmitResult
from local.importing.input_file import Format
from local.importing.rows import Refusal, Row

_SHOWN_REFUSALS = 20


class Report:
    """Counts rows by outcome. Threads may share it."""

    def __init__(self, write_refusal: Callable[[Refusal], object] | None = None) -> None:
        self.accepted = 0
        self.kept = 0
        self.repeated = 0
        self.refused = 0
        self._first_refusals: list[Refusal] = []
        self._write_refusal = write_refusal
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
        yield f"{self.accepted:,} accepted"
        if self.kept:
            yield f"{self.kept:,} changed nothing: a better or later score stands"
        if self.repeated:
            yield f"{self.repeated:,} were imported before"
        if self.refused:
            yield f"{self.refused:,} refused"
        for refusal in sorted(self._first_refusals, key=lambda refusal: refusal.line):
            yield f"  line {refusal.line}: {refusal.field}: {refusal.rule}"
        if self.refused > len(self._first_refusals):
            yield f"  and {self.refused - len(self._first_refusals):,} more; --refused FILE writes them all"


def refusal_writer(file: TextIO, file_format: Format, header: Sequence[str]) -> Callable[[Refusal], object]:
    """Return a function that writes refused rows as they were read, in their file's format.

    Three columns in front give the line, the field and the rule. Once corrected, the file of refused rows can
    be imported with the same options.
    """
    if file_format == "csv":
        rows = csv.writer(file, lineterminator="\n")
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
