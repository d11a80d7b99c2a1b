"""Read the records of a CSV, JSON Lines or JSON file."""

import csv
import hashlib
import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Literal

from local.errors import StackError
from local.importing.csv_file import find_separator, read_rows, separator_name
from local.importing.encoding import decide_encoding, open_text
from local.importing.fields import load_json, quoted, read_object, value_at, write_json
from local.importing.rows import Refusal
from local.importing.tidy import trimmed

Format = Literal["csv", "jsonl", "json"]
_NAMES = {"csv": "CSV", "jsonl": "JSON Lines", "json": "JSON"}
_SHOWN_COLUMNS = 20


@dataclass(frozen=True, slots=True)
class FileOptions:
    """How a file is written. What is None is found out.

    `items` is the path to the array in a JSON document; without one, the document is the array.
    """

    format: Format = "csv"
    encoding: str | None = None
    separator: str | None = None
    comment: str | None = None
    no_header: bool = False
    items: str | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A row of CSV or an object of JSON. `number` is its line, in a JSON array its place from 1."""

    number: int
    raw: tuple[str, ...]
    values: Mapping[str, Any]


class InputFile:
    """An open file of records. Its encoding and separator are decided here, before anything is read.

    Raises:
        StackError: the encoding cannot be decided.
    """

    def __init__(self, stream: BinaryIO, options: FileOptions, wanted: Collection[str] = ()) -> None:
        self._stream = stream
        self._options = options
        self.format = options.format
        self.size = stream.seek(0, io.SEEK_END)
        encoding = decide_encoding(stream, options.encoding)
        self.description = f"read as {_NAMES[self.format]} in {encoding.description}"
        self._text = open_text(stream, encoding)
        self._items: Sequence[Any] | None = None  # of a JSON document, which is read at once
        self.separator = ","
        if self.format == "csv":
            self.separator = options.separator or find_separator(self._text, options.comment, wanted)
            self.description += f"; separator: {separator_name(self.separator)}"

    @property
    def position(self) -> int:
        """The number of bytes read so far."""
        return self._stream.seek(0, io.SEEK_CUR)

    def digest(self, *reading: object) -> str:
        """Return a hash of the file's content, and of what else tells one import of it from another."""
        self._stream.seek(0)
        digest = hashlib.sha256()
        while block := self._stream.read(1 << 20):
            digest.update(block)
        digest.update(json.dumps(reading).encode())
        return digest.hexdigest()[:16]

    def header(self) -> list[str]:
        """Return the names of the columns: the first row of CSV, or the names in the first JSON object.

        Without a header, the columns of CSV are named by their numbers, from 1.

        Raises:
            StackError: the file has no such row or object.
        """
        if self.format == "csv":
            for _, cells, _ in read_rows(self._text, self.separator, self._options.comment):
                if isinstance(cells, csv.Error):
                    break
                if self._options.no_header:
                    return [str(number) for number in range(1, len(cells) + 1)]
                return [trimmed(name) for name in cells]
            raise StackError("the file has no header: the first line must name the columns")
        for record in self.records():
            if isinstance(record, Record):
                return list(record.values)
        raise StackError("the file has no JSON object: each line, or each item of an array, must be one")

    def records(self) -> Iterator[Record | Refusal]:
        """Yield every record but blank lines, and a refusal for each that cannot be read.

        Raises:
            StackError: the file is no JSON document with an array.
        """
        if self.format == "csv":
            return self._csv_records()
        return self._json_lines() if self.format == "jsonl" else self._json_items()

    def _csv_records(self) -> Iterator[Record | Refusal]:
        header = self.header()
        seen_header = self._options.no_header
        for line, cells, last_line in read_rows(self._text, self.separator, self._options.comment):
            if isinstance(cells, csv.Error):
                # Most often a missing closing quote, which makes the lines below part of the row.
                yield Refusal(line, "row", f"must be valid CSV: {cells} (lines {line} to {last_line})")
            elif not seen_header:
                seen_header = True
            elif len(cells) != len(header):
                rule = f"must have {len(header)} columns as the header has, not {len(cells)}"
                yield Refusal(line, "row", rule, tuple(cells))
            else:
                yield Record(line, tuple(cells), dict(zip(header, cells, strict=True)))

    def _json_lines(self) -> Iterator[Record | Refusal]:
        self._text.seek(0)
        for line, text in enumerate(self._text, start=1):
            raw = (text.rstrip("\r\n"),)
            if not text.strip():
                continue
            try:
                values = read_object(text)
            except (ValueError, RecursionError) as error:
                yield Refusal(line, "row", f"must be a JSON object: {error}", raw)
            else:
                yield Record(line, raw, values)

    def _json_items(self) -> Iterator[Record | Refusal]:
        if self._items is None:
            self._items = self._json_array()
        for number, item in enumerate(self._items, start=1):
            raw = (write_json(item),)
            if isinstance(item, dict):
                yield Record(number, raw, item)
            else:
                yield Refusal(number, "row", "must be a JSON object", raw)

    def _json_array(self) -> Sequence[Any]:
        self._text.seek(0)
        try:
            document = load_json(self._text.read().lstrip("\ufeff"))
        except RecursionError:
            raise StackError("the file is no JSON document: it is nested too deeply") from None
        except ValueError as error:
            raise StackError(
                f"the file is no JSON document: {error}; if each line is one object: --format jsonl"
            ) from None
        items = self._options.items
        found = document if items is None else value_at(document if isinstance(document, dict) else {}, items)
        if isinstance(found, list):
            return found
        if items is None and isinstance(document, dict):
            raise StackError(
                "the file is one JSON object; --items PATH says where its array is. It has: "
                + shown_columns(list(document))
            )
        raise StackError(f"the file has no JSON array{f' at {quoted(items)}' if items else ''}")


def shown_columns(names: Sequence[str]) -> str:
    """Return the names of columns for a message, which is short however many and long they are."""
    shown = [name if len(name) <= 32 else name[:32] + "\u2026" for name in names[:_SHOWN_COLUMNS]]
    more = f" and {len(names) - _SHOWN_COLUMNS:,} more" if len(names) > _SHOWN_COLUMNS else ""
    return ", ".join(shown) + more
