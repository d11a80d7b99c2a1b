"""Times in files: with an offset, or in a time zone that the user names. Pure."""

import contextlib
import re
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from local.importing.fields import quoted, refuse

_LOCAL = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?:[Tt ]([0-9]{2}:[0-9]{2})(:[0-9]{2})?([.,][0-9]+)?)?")


def instant(field: str, text: str, time_zone: str | None) -> datetime:
    """Return the instant that a text names.

    Raises:
        FieldError: it is no time; it has no offset and there is no time zone; or clocks change then, so that
            the zone has it twice or not at all.
    """
    if time_zone is not None:
        text = with_offset(field, text, time_zone)
    with contextlib.suppress(ValueError):
        moment = datetime.fromisoformat(text.strip())
        if moment.tzinfo is not None:
            return moment
    return refuse(
        field,
        f"must be a time with its offset, such as 2026-11-30T12:00:00Z, not {quoted(text)}; "
        "--time-zone names the zone of times without one",
    )


def with_offset(field: str, text: str, time_zone: str) -> str:
    """Return a local time or date with its offset in a time zone; any other text as it is.

    Raises:
        FieldError: the time zone has that time twice, or not at all.
    """
    local = _LOCAL.fullmatch(text.strip())
    if local is None:
        return text
    date, minute, second, fraction = local.groups()
    text = f"{date}T{minute or '00:00'}{second or ':00'}"
    try:
        moment = datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(time_zone))
    except ValueError:
        return text
    offset = moment.utcoffset()
    if offset is None or offset != moment.replace(fold=1).utcoffset():
        refuse(field, f"{text} is no single time in {time_zone}, where clocks change then; give its offset")
    minutes, seconds = divmod(abs(offset) // timedelta(seconds=1), 60)
    if seconds:  # local mean time, before there were zones: no offset in minutes names it
        refuse(field, f"{text} is before {time_zone} had an offset of whole minutes; give its offset")
    sign = "-" if offset < timedelta() else "+"
    return f"{text}{(fraction or '').replace(',', '.')}{sign}{minutes // 60:02}:{minutes % 60:02}"
