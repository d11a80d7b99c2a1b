"""Periods: their keys, and when they begin and end in the board's time zone. Pure.

A kind's keys sort as their periods do. Every instant is in one period of each kind, even if the board's time
zone changes: the current period ends as planned, those after it follow the new zone, and no key comes twice.
So the first period in a new zone may be shorter or longer than others.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from core.domain.errors import InvalidInput
from core.domain.model import Board, Period, PeriodKind, PeriodStart, Retention, ZoneChange

ALL_TIME = "all-time"
# Processes cache boards for some seconds (core.boards): a change of zone applies when all have read it.
_CHANGE_LEAD = timedelta(minutes=1)
_MAX_ZONE_CHANGES = 32
_SETTLED = timedelta(days=100)  # a change older than that decides no period that still takes scores

_NAMES = {
    ALL_TIME: PeriodKind.ALL_TIME,
    "daily": PeriodKind.DAILY,
    "weekly": PeriodKind.WEEKLY,
    "monthly": PeriodKind.MONTHLY,
}
_TIMED = (PeriodKind.DAILY, PeriodKind.WEEKLY, PeriodKind.MONTHLY)
_PREVIOUS = re.compile(r"(?:(daily|weekly|monthly)-)?previous(?:-([1-9]\d{0,2}))?", re.ASCII)
_EXPLICIT = re.compile(r"(daily)-\d{4}-\d\d-\d\d|(weekly)-\d{4}-W\d\d|(monthly)-\d{4}-\d\d", re.ASCII)


def period_key(board: Board, kind: PeriodKind, moment: datetime) -> str:
    """Return the key of the board's period of this kind that holds an instant.

    Raises:
        OverflowError: the instant is outside the years 1 to 9999 in the board's time zone.
    """
    if kind is PeriodKind.ALL_TIME:
        return ALL_TIME
    span = next(span for span in _spans(board, kind) if span.at is None or moment >= span.at)
    return max(_key_of(kind, moment.astimezone(ZoneInfo(span.zone)).date()), span.first)


def period_end(board: Board, period: str) -> datetime | None:
    """Return the instant at which a period ends; None if it has no end, or the key is no period's."""
    kind = _kind_of(period)
    if kind is None or kind is PeriodKind.ALL_TIME:
        return None
    span = next(span for span in _spans(board, kind) if period >= span.first)
    end = _midnight(_first_day(kind, _next_key(kind, period)), span.zone)
    return end if span.at is None else max(end, span.at)


def next_end(board: Board, moment: datetime) -> datetime | None:
    """Return when the first of the periods that hold an instant ends; None if none of them ends."""
    ends = (period_end(board, period_key(board, kind, moment)) for kind in board.periods)
    return min((end for end in ends if end is not None), default=None)


def expires_at(board: Board, period: str) -> datetime | None:
    """Return the instant at which a period and all its entries expire, None if never."""
    end = period_end(board, period)
    kind = _kind_of(period)
    if end is None or kind is None:
        return None
    try:
        return end + timedelta(days=_days_kept(board.retention, kind))
    except OverflowError:
        return None


def is_expired(board: Board, period: str, now: datetime) -> bool:
    """Return whether a period has expired: readers see none of its entries, deleted or not."""
    at = expires_at(board, period)
    return at is not None and now >= at


def periods_reached(board: Board, achieved_at: datetime, now: datetime) -> list[str]:
    """Return the keys of the periods that a score counts in, one of each of the board's kinds.

    Raises:
        InvalidInput: one of them ended longer ago than the board's grace.
    """
    grace = timedelta(hours=board.retention.grace_hours)
    keys = periods_holding(board, achieved_at)
    for key in keys:
        end = period_end(board, key)
        if end is not None and now >= end + grace:
            raise InvalidInput(
                f"achievedAt: is in {key}, which has been over for more than "
                f"{board.retention.grace_hours} hours and takes no more scores"
            )
    return keys


def periods_holding(board: Board, achieved_at: datetime) -> list[str]:
    """Return the keys of the periods that hold an instant, one of each of the board's kinds.

    Raises:
        InvalidInput: the calendar has no such period.
    """
    keys = []
    for kind in board.periods:
        try:
            keys.append(period_key(board, kind, achieved_at))
        except OverflowError:
            raise InvalidInput(f"achievedAt: is in no {kind.value} period") from None
    return keys


def resolve_period(board: Board, period: str | None, now: datetime) -> str:
    """Return the key of the period that a client names: by its key, or from the current one of a kind.

    `previous` is the one before, `previous-2` the one before that. A board with several kinds that begin
    anew wants the kind too: `daily-previous`.

    Raises:
        InvalidInput: the name is malformed, the board has no such periods, or it has expired.
    """
    name = ALL_TIME if period is None else period
    if before := _PREVIOUS.fullmatch(name):
        name = _previous(board, before[1], int(before[2] or 1), now)
    kind = _kind_of(name)
    if kind is None and name in _NAMES:
        kind = _NAMES[name]
        name = period_key(board, kind, now) if kind in board.periods else name
    if kind is None:
        raise InvalidInput(
            "period: must be all-time, daily, weekly, monthly, previous or previous-2, or a key such as "
            f"daily-2026-11-30, weekly-2026-W49 or monthly-2026-11, not {name[:64]!r}"
        )
    if kind not in board.periods:
        raise InvalidInput(f"period: this board keeps no {kind.value} standings")
    if is_expired(board, name, now):
        days = _days_kept(board.retention, kind)
        raise InvalidInput(f"period: {name} is gone, {days} days after its end")
    return name


def _previous(board: Board, kind_name: str | None, steps: int, now: datetime) -> str:
    kinds = [kind for kind in board.periods if kind in _TIMED]
    if kind_name is not None:
        kind = _NAMES[kind_name]
    elif len(kinds) == 1:
        kind = kinds[0]
    elif kinds:
        raise InvalidInput("period: this board keeps several kinds; name one, such as daily-previous")
    else:
        raise InvalidInput("period: this board keeps no daily, weekly or monthly standings")
    key = period_key(board, kind, now)
    for _ in range(steps):
        key = period_before(key)
        while _is_empty(board, key):
            key = period_before(key)
    return key


def _is_empty(board: Board, period: str) -> bool:
    """Return whether no instant is in a period: a change of zone, or the zone itself, has skipped it."""
    end, before = period_end(board, period), period_end(board, period_before(period))
    return end is not None and before is not None and before >= end


def current_name(board: Board, period: str, now: datetime) -> str | None:
    """Return the name by which a client may ask for a period while it is current, such as daily.

    None for all time, whose name is its key, and for a period that is over or to come.
    """
    kind = _kind_of(period)
    if kind not in _TIMED or period_key(board, kind, now) != period:
        return None
    return period.partition("-")[0]


def current_periods(board: Board, now: datetime) -> list[Period]:
    """Return the current period of each of the board's kinds."""
    return [_period(board, kind, period_key(board, kind, now)) for kind in board.periods]


def _period(board: Board, kind: PeriodKind, key: str) -> Period:
    if kind is PeriodKind.ALL_TIME:
        return Period(kind, key, None, None)
    # A period begins where the one before ends; one that a change of time zone left empty begins there too.
    return Period(kind, key, period_end(board, period_before(key)), period_end(board, key))


def periods_kept(board: Board, now: datetime) -> Iterator[str]:
    """Yield every period that may hold entries now, of every kind, the latest of each kind first.

    That includes kinds that the board has dropped, and periods that begin within the next hour, for clocks
    that are ahead.
    """
    yield ALL_TIME
    for kind in _TIMED:
        key = period_key(board, kind, now + timedelta(hours=1))
        while not is_expired(board, key, now):
            yield key
            key = period_before(key)


def periods_used(board: Board, now: datetime) -> Iterator[str]:
    """Yield the periods of `periods_kept` that can have entries of this board.

    Those that were over before it was created cannot, nor can kinds that it lacks if it was never changed.
    """
    oldest = board.created_at - timedelta(hours=board.retention.grace_hours)
    for period in periods_kept(board, now):
        end = period_end(board, period)
        if end is None or (end >= oldest and (board.version > 1 or _kind_of(period) in board.periods)):
            yield period


def period_before(period: str) -> str:
    """Return the key of the calendar's period before another.

    >>> period_before("weekly-2027-W01"), period_before("monthly-2026-01")
    ('weekly-2026-W53', 'monthly-2025-12')
    """
    kind = _kind_of(period)
    if kind is None or kind is PeriodKind.ALL_TIME:
        raise ValueError(period)
    return _key_of(kind, _first_day(kind, period) - timedelta(days=1))


def change_zone(board: Board, time_zone: str, now: datetime) -> Board:
    """Return a board with another time zone, from the next period of each kind on.

    Raises:
        InvalidInput: it was changed too often lately.
    """
    starts = []
    for kind in _TIMED:
        running = period_key(board, kind, now + _CHANGE_LEAD)
        end = period_end(board, running)
        assert end is not None  # noqa: S101 - these kinds all end
        starts.append(PeriodStart(kind, end, _next_key(kind, running)))
    old = now - _SETTLED
    recent = [change for change in board.zone_changes if max(start.at for start in change.starts) > old]
    if len(recent) == _MAX_ZONE_CHANGES:
        raise InvalidInput(f"timeZone: was changed {_MAX_ZONE_CHANGES} times lately; wait for a month")
    changes = (*recent, ZoneChange(board.time_zone, tuple(starts)))
    return replace(board, time_zone=time_zone, zone_changes=changes)


@dataclass(frozen=True, slots=True)
class _Span:
    """A span of time whose periods follow one zone: since `at` (None: always), from the key `first` on."""

    zone: str
    at: datetime | None
    first: str


def _spans(board: Board, kind: PeriodKind) -> Iterator[_Span]:
    """Yield the spans of one kind, the latest first."""
    zone = board.time_zone
    for change in reversed(board.zone_changes):
        start = next(start for start in change.starts if start.kind is kind)
        yield _Span(zone, start.at, start.key)
        zone = change.before
    yield _Span(zone, None, "")


def _days_kept(retention: Retention, kind: PeriodKind) -> int:
    days: int = getattr(retention, f"{kind.value.lower()}_days")
    return days


def _kind_of(period: str) -> PeriodKind | None:
    """Return the kind of a period's key; None if it is no key, or its end is beyond the calendar."""
    if period == ALL_TIME:
        return PeriodKind.ALL_TIME
    if not _EXPLICIT.fullmatch(period):
        return None
    kind = _NAMES[period.partition("-")[0]]
    try:
        _next_key(kind, _next_key(kind, period))
    except (ValueError, OverflowError):
        return None
    return kind


def _key_of(kind: PeriodKind, day: date) -> str:
    if kind is PeriodKind.DAILY:
        return f"daily-{day.isoformat()}"
    if kind is PeriodKind.WEEKLY:
        year, week, _ = day.isocalendar()
        return f"weekly-{year:04}-W{week:02}"
    return f"monthly-{day.isoformat()[:7]}"


def _first_day(kind: PeriodKind, key: str) -> date:
    stamp = key.partition("-")[2]
    if kind is PeriodKind.WEEKLY:
        return date.fromisocalendar(int(stamp[:4]), int(stamp[6:]), 1)
    return date.fromisoformat(stamp if kind is PeriodKind.DAILY else f"{stamp}-01")


def _next_key(kind: PeriodKind, key: str) -> str:
    days = {PeriodKind.DAILY: 1, PeriodKind.WEEKLY: 7, PeriodKind.MONTHLY: 31}
    return _key_of(kind, _first_day(kind, key) + timedelta(days=days[kind]))


def _midnight(day: date, zone: str) -> datetime:
    """Return the instant at which a day begins; a day that the zone skips begins when the next does."""
    return datetime.combine(day, time(), ZoneInfo(zone)).astimezone(UTC)
