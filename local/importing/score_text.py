"""Rewrite score cells of people's files as the text that the domain reads. Pure."""

import re
from typing import Literal

from core.domain.model import Component, ScoreKind, SortOrder
from local.importing.fields import FieldError, quoted
from local.importing.instants import with_offset
from local.importing.tidy import trimmed

DecimalMark = Literal["point", "comma"]

_OTHER_SIGNS = str.maketrans({"\u2212": "-", "\u2013": "-", "\ufe63": "-", "\uff0d": "-", "\uff0b": "+"})
_NUMBER = re.compile(r"([+-]?)([0-9][0-9.,]*)")
# Blanks and apostrophes between groups of three digits can mean nothing else.
_SPACED = re.compile(r"([+-]?)([0-9]{1,3}(?:[ \u00a0\u2009\u202f'\u2019][0-9]{3})+)(?=[.,]|$)")
_POINTS_ARE_UNCLEAR = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3}){2,}|[0-9]{1,3}\.000")
_WORDS = re.compile(
    r"(?:([0-9]+) ?h(?:rs?|ours?)? ?)?"
    r"(?:([0-9]+) ?(?:min(?:s|utes?)?|m|['\u2032\u2019]) ?)?"
    r"(?:([0-9]+)(?:\.([0-9]+))? ?(?:s(?:ecs?|econds?)?|''|\"|\u2033|\u201d|\u2032\u2032|\u2019\u2019))?",
    re.IGNORECASE,
)
_READ_BY_DOMAIN = re.compile(r"[0-9.]+ ?(?:ms|s|m|h)")


class Unclear(Exception):
    """A cell can be read in two ways, and no option says which. Nothing of its file may be imported."""

    def __init__(self, field: str, rule: str) -> None:
        super().__init__(f"{field}: {rule}")


def is_gap(component: Component, text: str) -> bool:
    """Return whether a score is a gap to the leader: +5.856 among times, or among ascending decimals."""
    is_time = component.kind is ScoreKind.DURATION or (
        component.kind is ScoreKind.DECIMAL and component.order is SortOrder.ASCENDING
    )
    return is_time and text.startswith("+")


def signed(text: str) -> str:
    """Return a cell without blanks around it and behind its sign, which becomes plain + or -."""
    text = trimmed(text)
    sign, rest = text[:1].translate(_OTHER_SIGNS), text[1:].lstrip()
    return sign + rest if sign in ("+", "-") and rest[:1].isdecimal() else text


def plain_score(component: Component, text: str, decimal: DecimalMark | None, time_zone: str | None) -> str:
    """Return a signed cell as the domain reads its kind; what has no known form is returned as it is.

    Raises:
        FieldError: digits are grouped other than by three, or minutes or seconds are above 59.
        Unclear: the cell needs a `decimal` to be read, or a time zone.
    """
    field = component.name
    if component.kind is ScoreKind.TIMESTAMP:
        return text if time_zone is None else with_offset(field, text, time_zone)
    if component.kind is ScoreKind.DURATION:
        return _plain_duration(field, text, decimal)
    text = _SPACED.sub(lambda match: match[1] + re.sub(r"[^0-9]", "", match[2]), text, count=1)
    number = _NUMBER.fullmatch(text)
    if number is None:
        return text
    is_integer = component.kind is ScoreKind.INTEGER
    if decimal is None and ("," in text or (is_integer and _POINTS_ARE_UNCLEAR.fullmatch(number[2]))):
        raise Unclear(field, f"{quoted(text)}: --decimal point or --decimal comma says how to read it")
    whole, fraction = _split(field, text, number[2], decimal or "point")
    if is_integer and not fraction.strip("0"):
        fraction = ""
    return f"{number[1]}{whole}.{fraction}" if fraction else f"{number[1]}{whole}"


def _split(field: str, text: str, digits: str, decimal: DecimalMark) -> tuple[str, str]:
    """Return the digits before and behind the decimal mark, without the marks between groups."""
    mark, group = (",", ".") if decimal == "comma" else (".", ",")
    whole, _, fraction = digits.partition(mark)
    if not re.fullmatch(rf"[0-9]+|[0-9]{{1,3}}(?:\{group}[0-9]{{3}})+", whole) or not re.fullmatch(
        "[0-9]*", fraction
    ):
        raise FieldError(
            field,
            f"{quoted(text)} is no number whose decimal mark is a {decimal} and whose groups have 3 digits",
        )
    return whole.replace(group, ""), fraction


def _plain_duration(field: str, text: str, decimal: DecimalMark | None) -> str:
    text = " ".join(text.split())
    if decimal is None and "," in text:
        raise Unclear(field, f"{quoted(text)}: --decimal point or --decimal comma says how to read it")
    sign = text[0] if text[:1] in ("+", "-") else ""
    body = text.removeprefix(sign)
    if "," in body or decimal == "comma":
        # Only the last number may have marks: the seconds, or a whole duration in one unit.
        before, digits, unit = re.fullmatch(r"(.*?)([0-9][0-9.,]*)?([^0-9]*)", body, re.DOTALL).groups()  # type: ignore[union-attr]
        if digits:
            whole, fraction = _split(field, text, digits, decimal or "point")
            body = before + (f"{whole}.{fraction}" if fraction else whole) + unit
    words = _WORDS.fullmatch(body)
    if not body or words is None or _READ_BY_DOMAIN.fullmatch(body):
        return sign + body
    hours, minutes, seconds, fraction = words.groups()
    if (hours and int(minutes or 0) > 59) or ((hours or minutes) and int(seconds or 0) > 59):
        raise FieldError(field, f"{quoted(text)}: minutes and seconds must be below 60")
    clock = f"{hours}:{int(minutes or 0):02}" if hours else minutes
    clock = f"{clock}:{int(seconds or 0):02}" if clock else seconds
    return f"{sign}{clock}.{fraction}" if fraction else f"{sign}{clock}"
