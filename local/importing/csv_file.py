"""Rows of CSV as people's programs write it: separators, `sep=`, comment lines, no header."""

import csv
import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import TextIO

SEPARATORS = {"tab": "\t", "semicolon": ";", "pipe": "|", "comma": ","}
_SEP_LINE = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
_SAMPLE_ROWS = 20
_SAMPLE_CHARACTERS = 1 << 16


class Lines:
    """The lines of a text, without a `sep=` line and without comments between rows; counts all of them."""

    def __init__(self, text: TextIO, comment: str | None) -> None:
        self.number = 0
        self.separator: str | None = None  # that a first line `sep=;` names
        self._text = text
        self._comment = comment
        self._between_rows = True
        text.seek(0)

    def expect_row(self) -> None:
        """Note that the next line begins a row, and is none of a quoted cell's."""
        self._between_rows = True

    def __iter__(self) -> "Lines":
        return self

    def __next__(self) -> str:
        while True:
            line = next(self._text)
            self.number += 1
            if self.number == 1 and (match := _SEP_LINE.fullmatch(line)):
                self.separator = match[1]
                continue
            if self._between_rows and self._comment and line.startswith(self._comment):
                continue
            self._between_rows = False
            return line


def find_separator(text: TextIO, comment: str | None, wanted: Collection[str]) -> str:
    """Return the separator: what `sep=` names, or that by which a header has the wanted columns.

    Where none has them, it is one that cuts the first rows into the same number of cells each; of several,
    the comma comes last, as it stands in numbers and texts too.
    """
    lines = Lines(text, comment)
    sample: list[str] = []
    for line in islice(lines, _SAMPLE_ROWS):
        sample.append(line[:_SAMPLE_CHARACTERS])
        lines.expect_row()
    if lines.separator is not None:
        return lines.separator

    def fit(separator: str) -> tuple[int, float]:
        try:
            rows = [row for row in csv.reader(sample, delimiter=separator) if row]
        except csv.Error:
            return 0, 0.0
        if not rows or len(rows[0]) == 1:
            return 0, 0.0
        alike = sum(len(row) == len(rows[0]) for row in rows) / len(rows)
        return len({name.strip() for name in rows[0]} & set(wanted)), alike

    best = max(SEPARATORS.values(), key=fit)  # the first of equals
    return best if fit(best) != (0, 0.0) else ","


def read_rows(
    text: TextIO, separator: str, comment: str | None
) -> Iterator[tuple[int, Sequence[str] | csv.Error, int]]:
    """Yield each row but blank ones, or its error, between the lines on which it begins and ends."""
    lines = Lines(text, comment)
    first_line = 0

    def noting_first(lines: Lines) -> Iterator[str]:
        nonlocal first_line
        for line in lines:
            first_line = first_line or lines.number
            yield line

    rows = csv.reader(noting_first(lines), delimiter=separator, strict=True)
    while True:
        first_line = 0
        lines.expect_row()
        try:
            cells: Sequence[str] | csv.Error = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            cells = error
        if cells:
            yield first_line, cells, lines.number


def separator_name(separator: str) -> str:
    """Return a separator's name for people."""
    return next((name for name, each in SEPARATORS.items() if each == separator), repr(separator))


def read_separator(text: str) -> str:
    """Return the separator of a command line: one character, or the name of one."""
    separator = SEPARATORS.get(text.lower(), text)
    if len(separator) != 1 or separator in '"\r\n':
        raise ValueError(f"must be one character, or one of {', '.join(SEPARATORS)}")
    return separator
