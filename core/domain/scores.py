"""Scores as text, as clients write them, and as exact integers. Pure.

A component's value is an integer count of its smallest step: units for INTEGER, 10**-decimals for
DECIMAL, 10**-decimals seconds for DURATION and, since 1970-01-01T00:00:00Z, for TIMESTAMP. So all
comparisons and sums are exact.

    >>> from core.domain.model import SortOrder
    >>> lap = Component("lap", ScoreKind.DURATION, SortOrder.ASCENDING, decimals=3, low=0, high=10**9)
    >>> [parse(lap, text) for text in ("1:27.452", "87.452", "87452 ms", "0.5 h")]
    [87452, 87452, 87452, 1800000]
    >>> format_value(lap, 87452), display([lap], [87452])
    ('87.452', '1:27.452')
"""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NoReturn

from core.domain.errors import InvalidScore
from core.domain.model import Component, ScoreKind

MAX_DIGITS = 38  # of a DynamoDB number

_INTEGER = re.compile(r"([+-]?)([0-9]+)")
_DECIMAL = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]+))?")
_CLOCK = re.compile(r"([+-]?)(?:([0-9]+):([0-5][0-9])|([0-9]+)):([0-5][0-9])(?:\.([0-9]+))?")
_WITH_UNIT = re.compile(r"([+-]?)([0-9]+)(?:\.([0-9]+))?(?: ?(ms|s|m|h))?")
_INSTANT = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]+))?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)
# By unit, its seconds as a factor and a number of decimal places.
_UNIT_SECONDS = {None: (1, 0), "s": (1, 0), "ms": (1, 3), "m": (60, 0), "h": (3600, 0)}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_score(components: Sequence[Component], values: Sequence[str]) -> tuple[int, ...]:
    """Return a whole score, given as one string a component, as integers.

    Raises:
        InvalidScore: naming the component and the rule that it breaks.
    """
    if len(values) != len(components):
        names = ", ".join(component.name for component in components)
        raise InvalidScore(f"score: needs {len(components)} value(s) ({names}), not {len(values)}")
    return tuple(parse(component, text) for component, text in zip(components, values, strict=True))


def parse(component: Component, text: str) -> int:
    """Return one component's value as an integer count of its smallest step.

    Raises:
        InvalidScore: naming the component and the rule that it breaks.
    """
    if len(text) > 64:
        _refuse(component, "must be at most 64 characters")
    value = _READERS[component.kind](component, text)
    return check_bounds(component, value)


def check_bounds(component: Component, value: int) -> int:
    """Return the value, if it lies within the component's bounds.

    Raises:
        InvalidScore: naming the component and the bound.
    """
    if value < component.low:
        _refuse(component, f"must be at least {format_value(component, component.low)}")
    if value > component.high:
        _refuse(component, f"must be at most {format_value(component, component.high)}")
    return value


def format_value(component: Component, value: int) -> str:
    """Return a value as exact text that `parse` accepts."""
    if component.kind is ScoreKind.TIMESTAMP:
        step = 10**component.decimals
        seconds, rest = divmod(value, step)
        moment = (_EPOCH + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S")
        return f"{moment.rjust(19, '0')}{_fraction(rest, component.decimals)}Z"
    sign = "-" if value < 0 else ""
    whole, rest = divmod(abs(value), 10**component.decimals)
    return f"{sign}{whole}{_fraction(rest, component.decimals)}"


def number(component: Component, value: int) -> float:
    """Return a value as a float, in seconds for durations and timestamps; for charts, not for ranking."""
    return value / int(10**component.decimals)


def display(components: Sequence[Component], score: Sequence[int]) -> str:
    """Return a score as text for people: "9011", "1:27.452", "25 / -3.5"."""
    return " / ".join(_display(component, value) for component, value in zip(components, score, strict=True))


def _display(component: Component, value: int) -> str:
    if component.kind is ScoreKind.DURATION:
        return _clock(value, component.decimals)
    text = format_value(component, value)
    if component.kind is ScoreKind.DECIMAL and "." in text:
        return text.rstrip("0").rstrip(".")
    return text


def _clock(value: int, decimals: int) -> str:
    sign = "-" if value < 0 else ""
    seconds, rest = divmod(abs(value), 10**decimals)
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    fraction = _fraction(rest, decimals)
    if hours:
        return f"{sign}{hours}:{minutes:02}:{seconds:02}{fraction}"
    if minutes:
        return f"{sign}{minutes}:{seconds:02}{fraction}"
    return f"{sign}{seconds}{fraction}"


def _fraction(rest: int, decimals: int) -> str:
    return f".{rest:0{decimals}}" if decimals else ""


def _read_integer(component: Component, text: str) -> int:
    match = _INTEGER.fullmatch(text) or _refuse(component, f"must be a whole number, not {text!r}")
    return _count(component, match[1], match[2], "", 0)


def _read_decimal(component: Component, text: str) -> int:
    match = _DECIMAL.fullmatch(text) or _refuse(component, f"must be a plain decimal number, not {text!r}")
    return _count(component, match[1], match[2], match[3] or "", component.decimals)


def _read_duration(component: Component, text: str) -> int:
    clock = _CLOCK.fullmatch(text)
    if clock:
        hours, minutes = int(clock[2] or 0), int(clock[3] or clock[4])
        whole = str((hours * 60 + minutes) * 60 + int(clock[5]))
        return _count(component, clock[1], whole, clock[6] or "", component.decimals)
    plain = _WITH_UNIT.fullmatch(text) or _refuse(
        component, f"must be a duration such as 1:27.452, 87.452 or 87452 ms, not {text!r}"
    )
    sign, whole, fraction, unit = plain[1], plain[2], plain[3] or "", plain[4]
    # In integers: the digits without their point, times the unit, then the point is put back.
    factor, shift = _UNIT_SECONDS[unit]
    places = len(fraction) + shift
    digits = str(int(whole + fraction) * factor).rjust(places + 1, "0")
    cut = len(digits) - places
    return _count(component, sign, digits[:cut], digits[cut:], component.decimals)


def _read_timestamp(component: Component, text: str) -> int:
    rule = f"must be an RFC 3339 time with its offset, such as 2026-11-30T12:00:00Z, not {text!r}"
    match = _INSTANT.fullmatch(text) or _refuse(component, rule)
    try:
        moment = datetime.fromisoformat(match[1].upper() + match[3].upper().replace("Z", "+00:00"))
    except ValueError:
        _refuse(component, rule)
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    fraction = _count(component, "", "0", match[2] or "", component.decimals)
    return seconds * int(10**component.decimals) + fraction


def _count(component: Component, sign: str, whole: str, fraction: str, decimals: int) -> int:
    fraction = fraction.rstrip("0")
    if len(fraction) > decimals:
        _refuse(component, f"must have at most {decimals} decimal place(s)")
    value = int(whole + fraction.ljust(decimals, "0"))
    if value >= 10**MAX_DIGITS:
        _refuse(component, f"must have at most {MAX_DIGITS} digits")
    return -value if sign == "-" else value


def _refuse(component: Component, rule: str) -> NoReturn:
    raise InvalidScore(f"score component {component.name!r}: {rule}")


_READERS = {
    ScoreKind.INTEGER: _read_integer,
    ScoreKind.DECIMAL: _read_decimal,
    ScoreKind.DURATION: _read_duration,
    ScoreKind.TIMESTAMP: _read_timestamp,
}
