"""Fields of a record: cells of CSV, and values of JSON at a path."""

import json
from collections.abc import Mapping
from typing import Any, NoReturn

BLANK = (None, "")
_SHOWN = 48


class FieldError(Exception):
    """A field breaks a rule; its row is refused."""

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(field, rule)
        self.field = field
        self.rule = rule


class Float(float):
    """A JSON number that keeps its text, so that no digit of a score is lost."""

    text: str

    def __new__(cls, text: str) -> "Float":  # noqa: D102 - makes one from the number's text
        number = super().__new__(cls, text)
        number.text = text
        return number


def refuse(field: str, rule: str) -> NoReturn:
    """Refuse a row.

    Raises:
        FieldError: always.
    """
    raise FieldError(field, rule)


def quoted(text: str) -> str:
    """Return a text of a file for a message: in quotes, and short however long it is."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "\u2026")


def value_at(values: Mapping[str, Any], path: str) -> Any:
    """Return the value of a column, or at a path such as driver.name or laps.0.time; else None."""
    if path in values:
        return values[path]
    value: Any = values
    for step in path.split("."):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None
    return value


def text_of(value: object) -> str | None:
    """Return a cell, or a JSON string or number, as text; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, Float):
        return value.text
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def optional_text(values: Mapping[str, Any], column: str | None) -> str | None:
    """Return a column's text, or None if it is blank.

    Raises:
        FieldError: the value is no text.
    """
    value = None if column is None else value_at(values, column)
    if column is None or value in BLANK:
        return None
    return text_of(value) or refuse(column, "must be text")


def metadata(values: Mapping[str, Any], columns: tuple[str, ...]) -> str | None:
    """Return columns as one JSON object. A single column with a JSON object is returned as it is.

    Raises:
        FieldError: a value is not JSON.
    """
    found = {column: value for column in columns if (value := value_at(values, column)) not in BLANK}
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
        refuse(",".join(columns), "must be JSON, which has no NaN and no infinity")


def load_json(text: str) -> Any:
    """Return a JSON value whose numbers keep their digits.

    Raises:
        ValueError: the text is no JSON, or an object names a field twice.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, parse_float=Float, object_pairs_hook=_unique)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("an object names a field twice")
    return fields


def read_object(text: str) -> dict[str, Any]:
    """Return a JSON object.

    Raises:
        ValueError: the text is no JSON object.
        RecursionError: it is nested too deeply.
    """
    values = load_json(text)
    if not isinstance(values, dict):
        raise ValueError("it is another JSON value")  # noqa: TRY004 - handled like JSON that does not parse
    return values


def write_json(value: Any) -> str:
    """Return a value that was read from JSON as JSON on one line, with every digit of its numbers."""
    if isinstance(value, Float):
        return value.text
    if isinstance(value, dict):
        return (
            "{" + ", ".join(f"{json.dumps(name)}: {write_json(item)}" for name, item in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(write_json, value)) + "]"
    return json.dumps(value)
