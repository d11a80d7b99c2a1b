"""Read the rows of a CSV or JSON Lines file; a row that cannot be submitted is read as a refusal."""

import contextlib
import csv
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO, Literal, NoReturn

from local.errors import StackError
from local.importing.rows import Refusal, Row

Format = Literal["csv", "jsonl"]
_BLANK = (None, "")


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns to read. In an optional one, a blank cell is the same as no value."""

    participant: str
    score: tuple[str, ...]
    achieved_at: str | None = None
    display_name: str | None = None
    metadata: tuple[str, ...] = ()
    metadata_json: str | None = None  # its cells are stored as they are


class InputFile:
    """An open file of rows, in UTF-8 with or without a byte order mark.

    Bytes that are not UTF-8 spoil only their own row: they become lone surrogates, which are refused.
    """

    def __init__(self, stream: BinaryIO, file_format: Format) -> None:
        self._stream = stream
        self.format = file_format
        self.size = stream.seek(0, io.SEEK_END)
        self._text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")

    @property
    def position(self) -> int:
        """The number of bytes read so far."""
        return self._stream.seek(0, io.SEEK_CUR)

    def source(self, columns: Columns) -> str:
        """Return a name for what the file adds to a board: a hash of its content and of the key columns."""
        self._stream.seek(0)
        digest = hashlib.sha256()
        while block := self._stream.read(1 << 20):
            digest.update(block)
        digest.update(json.dumps([columns.participant, columns.score]).encode())
        return digest.hexdigest()[:16]

    def header(self) -> list[str]:
        """Return the names of the columns: the first row of CSV, or the names in the first JSON object.

        Raises:
            StackError: the file has no such row or object.
        """
        self._text.seek(0)
        if self.format == "csv":
            rows = csv.reader(self._text, strict=True)
            try:
                return [name.strip() for name in next(row for row in rows if row)]
            except (StopIteration, csv.Error):
                raise StackError("the file has no header: the first line must name the columns") from None
        for line in self._text:
            try:
                return list(_read_object(line))
            except (ValueError, RecursionError):
                continue
        raise StackError("the file has no JSON object: each line must be one")

    def rows(self, columns: Columns, default_time: datetime) -> Iterator[Row | Refusal]:
        """Yield every row but blank lines. Rows without a time get `default_time`."""
        read = self._csv_rows() if self.format == "csv" else self._json_rows()
        for row in read:
            if isinstance(row, Refusal):
                yield row
                continue
            line, raw, values = row
            try:
                yield Row(
                    number=line,
                    participant_id=_participant(values, columns.participant),
                    score=_score(values, columns.score),
                    achieved_at=_instant(values, columns.achieved_at) or default_time,
                    display_name=_optional_text(values, columns.display_name),
                    metadata=_optional_text(values, columns.metadata_json)
                    or _metadata(values, columns.metadata),
                    raw=raw,
                )
            except _FieldError as error:
                yield Refusal(line, error.field, error.rule, raw)

    def _csv_rows(self) -> "Iterator[tuple[int, tuple[str, ...], Mapping[str, Any]] | Refusal]":
        header = self.header()
        self._text.seek(0)
        rows = csv.reader(self._text, strict=True)
        seen_header = False
        while True:
            line = rows.line_num + 1
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                # Most often a missing closing quote, which makes the lines below part of the row.
                yield Refusal(line, "row", f"must be valid CSV: {error} (lines {line} to {rows.line_num})")
                continue
            if not cells:
                continue
            if not seen_header:
                seen_header = True
            elif len(cells) != len(header):
                rule = f"must have {len(header)} columns as the header has, not {len(cells)}"
                yield Refusal(line, "row", rule, tuple(cells))
            else:
                yield line, tuple(cells), dict(zip(header, cells, strict=True))

    def _json_rows(self) -> "Iterator[tuple[int, tuple[str, ...], Mapping[str, Any]] | Refusal]":
        self._text.seek(0)
        for line, text in enumerate(self._text, start=1):
            raw = (text.rstrip("\r\n"),)
            if not text.strip():
                continue
            try:
                values = _read_object(text)
            except (ValueError, RecursionError) as error:
                yield Refusal(line, "row", f"must be a JSON object: {error}", raw)
            else:
                yield line, raw, values


class _FieldError(Exception):
    def __init__(self, field: str, rule: str) -> None:
        super().__init__(field, rule)
        self.field = field
        self.rule = rule


class _Float(float):
    """A JSON number that keeps its text, so that no digit of a score is lost."""

    text: str

    def __new__(cls, text: str) -> "_Float":
        number = super().__new__(cls, text)
        number.text = text
        return number


def _read_object(text: str) -> dict[str, Any]:
    values = json.loads(text, parse_float=_Float)
    if not isinstance(values, dict):
        raise ValueError("it is another JSON value")  # noqa: TRY004 - handled like JSON that does not parse
    return values


def _text(value: object) -> str | None:
    """Return a cell, or a JSON string or number, as text; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, _Float):
        return value.text
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _optional_text(values: Mapping[str, Any], column: str | None) -> str | None:
    if column is None or values.get(column) in _BLANK:
        return None
    return _text(values[column]) or _refuse(column, "must be text")


def _participant(values: Mapping[str, Any], column: str) -> str:
    participant = _text(values.get(column))
    return _refuse(column, "must be text") if participant is None else participant


def _score(values: Mapping[str, Any], columns: tuple[str, ...]) -> tuple[str, ...]:
    parts: list[str] = []
    for column in columns:
        value = values.get(column)
        for element in value if isinstance(value, list) else [value]:
            part = _text(element)
            parts.append(
                _refuse(column, "must be text, a number, or a list") if part is None else part.strip()
            )
    return tuple(parts)


def _instant(values: Mapping[str, Any], column: str | None) -> datetime | None:
    text = _optional_text(values, column)
    if column is None or text is None:
        return None
    with contextlib.suppress(ValueError):
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is not None:
            return moment
    return _refuse(column, f"must be a time with its offset, such as 2026-11-30T12:00:00Z, not {text[:64]!r}")


def _metadata(values: Mapping[str, Any], columns: tuple[str, ...]) -> str | None:
    """Return the columns as one JSON object. A single column with a JSON object is returned as it is."""
    found = {column: values[column] for column in columns if values.get(column) not in _BLANK}
    if not found:
        return None
    if len(columns) == 1:
        only = found[columns[0]]
        if isinstance(only, dict):
            found = only
        elif isinstance(only, str) and only.lstrip().startswith("{"):
            return only
    try:
        return json.dumps(found, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return _refuse(",".join(columns), "must be JSON, which has no NaN and no infinity")


def _refuse(field: str, rule: str) -> NoReturn:
    raise _FieldError(field, rule)
