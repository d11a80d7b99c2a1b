"""Periods: which stretch of time a key names, in a board's own time zone. Pure."""

import re
from datetime import date, datetime
from zoneinfo import ZoneInfo

from core.errors import InvalidInput
from core.model import Board, PeriodKind

ALL_TIME = "all-time"

_NAMES = {
    ALL_TIME: PeriodKind.ALL_TIME,
    "daily": PeriodKind.DAILY,
    "weekly": PeriodKind.WEEKLY,
    "monthly": PeriodKind.MONTHLY,
}
_EXPLICIT = re.compile(r"(daily)-\d{4}-\d\d-\d\d|(weekly)-\d{4}-W\d\d|(monthly)-\d{4}-\d\d", re.ASCII)


def period_key(kind: PeriodKind, moment: datetime, time_zone: str) -> str:
    """Name the period of this kind that holds an instant, in an IANA time zone."""
    local = moment.astimezone(ZoneInfo(time_zone))
    if kind is PeriodKind.DAILY:
        return f"daily-{local:%Y-%m-%d}"
    if kind is PeriodKind.WEEKLY:
        year, week, _ = local.isocalendar()
        return f"weekly-{year:04}-W{week:02}"
    if kind is PeriodKind.MONTHLY:
        return f"monthly-{local:%Y-%m}"
    return ALL_TIME


def resolve_period(board: Board, period: str | None, now: datetime) -> str:
    """Turn what a client names, a current period or an explicit key, into the explicit key.

    Raises:
        InvalidInput: the name is malformed, or the board keeps no such period.
    """
    name = ALL_TIME if period is None else period
    explicit = _EXPLICIT.fullmatch(name)
    kind = _NAMES.get(name.split("-")[0] if explicit else name)
    if kind is None or (explicit and not _exists(kind, name)):
        raise InvalidInput(
            "period: must be all-time, daily, weekly or monthly, or a key such as daily-2026-11-30, "
            f"weekly-2026-W49 or monthly-2026-11, not {name[:64]!r}"
        )
    if kind not in board.periods:
        raise InvalidInput(f"period: this board keeps no {kind.value} standings")
    return name if explicit or kind is PeriodKind.ALL_TIME else period_key(kind, now, board.time_zone)


def _exists(kind: PeriodKind, key: str) -> bool:
    _, stamp = key.split("-", 1)
    try:
        if kind is PeriodKind.WEEKLY:
            date.fromisocalendar(int(stamp[:4]), int(stamp[6:]), 1)
        else:
            date.fromisoformat(stamp if kind is PeriodKind.DAILY else f"{stamp}-01")
    except ValueError:
        return False
    return True
