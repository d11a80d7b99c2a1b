"""Cells that a spreadsheet would run as formulas: escaped in an export, and taken back by an import. Pure.

An apostrophe goes in front of such a text, and a column of the row names the columns that got one. So no text
is taken for an escaped one, and a file is read back to the last character, whatever its texts begin with.
"""

from collections.abc import Mapping
from typing import Any

ESCAPED_COLUMN = "formulaEscaped"
_ESCAPE = "'"
# What begins a formula in Excel, LibreOffice or Google Sheets; the last four in East Asian width.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def escaped(texts: Mapping[str, str]) -> dict[str, str]:
    """Return a row's texts by column, those like formulas escaped, and the column that names these."""
    dangerous = [column for column, text in texts.items() if text.startswith(_FORMULA_STARTS)]
    safe = {column: _ESCAPE + text if column in dangerous else text for column, text in texts.items()}
    return safe | {ESCAPED_COLUMN: " ".join(dangerous)}


def unescaped(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a record's values as they were before `escaped`."""
    names = values.get(ESCAPED_COLUMN)
    if not isinstance(names, str) or not names.strip():
        return values
    columns = set(names.split())
    return {
        column: value.removeprefix(_ESCAPE) if column in columns and isinstance(value, str) else value
        for column, value in values.items()
    }
