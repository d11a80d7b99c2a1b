"""Keys and ends of periods: calendars, summer time, changes of time zone, expiry."""

import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.boards import Boards
from core.domain.board import _time_zones, board_from_json, board_to_json, check_time_zone, define_board
from core.domain.errors import InvalidInput
from core.domain.model import Board, PeriodKind, Retention
from core.domain.periods import (
    change_zone,
    current_name,
    current_periods,
    expires_at,
    is_expired,
    period_before,
    period_end,
    period_key,
    periods_kept,
    periods_reached,
    resolve_period,
)

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
TIMED = (PeriodKind.DAILY, PeriodKind.WEEKLY, PeriodKind.MONTHLY)
# Summer time in both halves of the world, of half an hour, at midnight; both sides of the date line.
ZONES = [
    "UTC",
    "Europe/Rome",
    "America/New_York",
    "America/Santiago",
    "Africa/Cairo",
    "Asia/Beirut",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Pacific/Kiritimati",
    "Pacific/Pago_Pago",
    "Pacific/Apia",
]
instants = st.datetimes(datetime(2009, 1, 1), datetime(2035, 1, 1), timezones=st.just(UTC))
zones = st.sampled_from(ZONES)
kinds = st.sampled_from(TIMED)


def board_in(zone: str) -> Board:
    return define_board(id="b", now=NOW, periods=list(PeriodKind), time_zone=zone)


def at(text: str, zone: str) -> datetime:
    """Return the instant at which a wall clock in a zone shows a time."""
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).astimezone(UTC)


# One zone


@pytest.mark.parametrize(
    ("zone", "moment", "day"),
    [
        ("UTC", "2026-11-30T23:59:59.999999+00:00", "2026-11-30"),
        ("UTC", "2026-12-01T00:00:00+00:00", "2026-12-01"),
        ("Pacific/Kiritimati", "2026-11-30T10:00:00+00:00", "2026-12-01"),
        ("Pacific/Kiritimati", "2026-11-30T09:59:59+00:00", "2026-11-30"),
        ("Pacific/Pago_Pago", "2026-12-01T10:59:59+00:00", "2026-11-30"),
        ("Pacific/Apia", "2026-11-30T10:59:59+00:00", "2026-11-30"),
        ("Pacific/Apia", "2026-11-30T11:00:00+00:00", "2026-12-01"),
        ("Asia/Kathmandu", "2026-11-30T18:15:00+00:00", "2026-12-01"),
    ],
)
def test_reports_16_a_day_is_that_of_the_boards_time_zone(zone: str, moment: str, day: str) -> None:
    found = period_key(board_in(zone), PeriodKind.DAILY, datetime.fromisoformat(moment))
    assert found == f"daily-{day}"


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Rome", "2026-03-29", 23),
        ("Europe/Rome", "2026-10-25", 25),
        ("America/New_York", "2026-03-08", 23),
        ("America/New_York", "2026-11-01", 25),
        ("Australia/Lord_Howe", "2026-04-05", 24.5),
        ("Australia/Lord_Howe", "2026-10-04", 23.5),
        ("Africa/Cairo", "2026-04-24", 23),  # midnight does not exist
        ("Africa/Cairo", "2026-10-29", 25),  # the last hour comes twice
        ("America/Santiago", "2026-09-06", 23),
        ("Pacific/Apia", "2011-12-29", 24),
        ("Pacific/Apia", "2011-12-30", 0),  # it went from one side of the date line to the other
        ("UTC", "2026-06-01", 24),
    ],
)
def test_reports_16_a_day_is_as_long_as_its_time_zone_makes_it(zone: str, day: str, hours: float) -> None:
    board = board_in(zone)
    key = f"daily-{day}"
    start, end = period_end(board, period_before(key)), period_end(board, key)
    assert start is not None
    assert end is not None
    assert end - start == timedelta(hours=hours)
    if hours:
        assert period_key(board, PeriodKind.DAILY, start) == key
        assert period_key(board, PeriodKind.DAILY, end - timedelta(microseconds=1)) == key


@pytest.mark.parametrize(
    ("day", "week"),
    [
        ("2026-12-31", "2026-W53"),
        ("2027-01-03", "2026-W53"),
        ("2027-01-04", "2027-W01"),
        ("2024-12-29", "2024-W52"),
        ("2024-12-30", "2025-W01"),
        ("2021-01-01", "2020-W53"),
    ],
)
def test_weeks_are_iso_weeks(day: str, week: str) -> None:
    board = board_in("Europe/Rome")
    assert period_key(board, PeriodKind.WEEKLY, at(f"{day}T12:00", "Europe/Rome")) == f"weekly-{week}"
    assert resolve_period(board, f"weekly-{week}", at(f"{day}T12:00", "Europe/Rome")) == f"weekly-{week}"


def test_a_week_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidInput, match="period: must be"):
        resolve_period(board_in("UTC"), "weekly-2025-W53", NOW)


def calendar_key(kind: PeriodKind, moment: datetime, zone: str) -> str:
    """Return a period's key as strftime writes it."""
    formats = {"DAILY": "daily-%Y-%m-%d", "WEEKLY": "weekly-%G-W%V", "MONTHLY": "monthly-%Y-%m"}
    return moment.astimezone(ZoneInfo(zone)).strftime(formats[kind.value])


@given(zones, kinds, instants)
def test_every_instant_is_from_the_end_of_the_period_before_to_that_of_its_own(
    zone: str, kind: PeriodKind, moment: datetime
) -> None:
    board = board_in(zone)
    key = period_key(board, kind, moment)
    assert key == calendar_key(kind, moment, zone)
    start, end = period_end(board, period_before(key)), period_end(board, key)
    assert start is not None
    assert end is not None
    assert start <= moment < end
    assert calendar_key(kind, end, zone) > key


@pytest.mark.thorough
@pytest.mark.parametrize("year", range(2011, 2033, 3))
def test_in_every_zone_a_day_begins_when_its_clocks_first_show_it(year: int) -> None:
    for zone in _time_zones():
        board, there = board_in(zone), ZoneInfo(zone)
        day = date(year, 1, 1)
        while day.year == year:
            end = period_end(board, f"daily-{day}")
            assert end is not None
            assert (
                (end - timedelta(microseconds=1)).astimezone(there).date()
                <= day
                < end.astimezone(there).date()
            )
            day += timedelta(days=1)


# Changes of zone


def changes(random: random.Random, board: Board, start: datetime) -> Iterator[Board]:
    """Yield a board after each of some changes of its zone, some of them in quick succession."""
    moment = start
    for _ in range(random.randrange(1, 5)):
        yield (board := change_zone(board, random.choice(ZONES), moment))
        moment += timedelta(hours=random.choice([1, 20, 30, 24 * 9, 24 * 40]))


@given(st.randoms(use_true_random=False), kinds)
def test_across_changes_of_zone_every_instant_has_one_key_and_every_key_one_span(
    random: random.Random, kind: PeriodKind
) -> None:
    start = NOW + timedelta(minutes=random.randrange(100_000))
    *_, board = changes(random, board_in(random.choice(ZONES)), start)
    assert board_from_json(board_to_json(board)) == board
    moments = [start + timedelta(hours=hours) for hours in range(-100, 24 * 100, 11)]
    keys = [period_key(board, kind, moment) for moment in moments]
    assert keys == sorted(keys)
    for moment, key in zip(moments, keys, strict=True):
        end = period_end(board, key)
        assert end is not None
        assert moment < end
        assert period_key(board, kind, end) > key
        assert period_key(board, kind, end - timedelta(microseconds=1)) == key
        period = next(period for period in current_periods(board, moment) if period.kind is kind)
        assert (period.key, period.ends_at) == (key, end)
        assert period.starts_at is not None
        assert period.starts_at <= moment
        assert period_key(board, kind, period.starts_at) == key
        assert period_key(board, kind, period.starts_at - timedelta(microseconds=1)) < key


@given(st.randoms(use_true_random=False), kinds)
def test_a_change_of_zone_leaves_the_current_and_earlier_periods_as_they_are(
    random: random.Random, kind: PeriodKind
) -> None:
    start = NOW + timedelta(minutes=random.randrange(100_000))
    *_, before = changes(random, board_in(random.choice(ZONES)), start - timedelta(days=60))
    after = change_zone(before, random.choice(ZONES), start)
    running = period_key(before, kind, start)
    end = period_end(before, running)
    assert end is not None
    for moment in (start - timedelta(days=40), start, end - timedelta(seconds=1)):
        key = period_key(before, kind, moment)
        assert period_key(after, kind, moment) == key
        assert period_end(after, key) == period_end(before, key)


@pytest.mark.parametrize(
    ("before", "after", "hours"),
    [
        ("UTC", "Pacific/Kiritimati", 10),
        ("UTC", "Pacific/Pago_Pago", 35),
        ("Pacific/Kiritimati", "Pacific/Pago_Pago", 49),
        ("UTC", "UTC", 24),
    ],
)
def test_the_first_day_in_a_new_zone_starts_when_the_last_of_the_old_one_ends(
    before: str, after: str, hours: float
) -> None:
    board = change_zone(board_in(before), after, NOW)
    last = period_key(board, PeriodKind.DAILY, NOW)
    end = period_end(board, last)
    assert end is not None
    first = period_key(board, PeriodKind.DAILY, end)
    assert period_before(first) == last
    ends = period_end(board, first)
    assert ends is not None
    assert ends - end == timedelta(hours=hours)
    assert ends.astimezone(ZoneInfo(after)).timetz().isoformat()[:8] == "00:00:00"


def test_a_day_that_a_move_east_leaves_empty_is_skipped() -> None:
    board = change_zone(board_in("Pacific/Pago_Pago"), "Pacific/Kiritimati", NOW)
    last = period_key(board, PeriodKind.DAILY, NOW)
    end = period_end(board, last)
    assert end is not None
    assert last == "daily-2026-11-30"
    assert period_key(board, PeriodKind.DAILY, end) == "daily-2026-12-02"
    assert resolve_period(board, "daily-previous", end) == "daily-2026-11-30"
    assert resolve_period(board, "daily-previous-2", end + timedelta(days=1)) == "daily-2026-11-30"


@pytest.mark.parametrize(
    ("zone", "to", "now"),
    [
        ("Pacific/Pago_Pago", "Pacific/Kiritimati", NOW),
        ("Pacific/Kiritimati", "Pacific/Pago_Pago", NOW),
        ("Europe/Rome", "America/New_York", NOW),
        ("Pacific/Apia", None, datetime(2011, 12, 27, tzinfo=UTC)),  # which skipped 30 December 2011
    ],
)
@pytest.mark.parametrize("kind", TIMED)
def test_previous_is_the_period_that_really_came_before(
    zone: str, to: str | None, now: datetime, kind: PeriodKind
) -> None:
    board = board_in(zone)
    if to is not None:
        board = change_zone(board, to, now)
    seen = [period_key(board, kind, now)]
    for hours in range(24 * 40):
        moment = now + timedelta(hours=hours)
        key = period_key(board, kind, moment)
        if key != seen[-1]:
            seen.append(key)
        for steps, before in enumerate(seen[-2:-6:-1], start=1):
            assert resolve_period(board, f"{kind.value.lower()}-previous-{steps}", moment) == before


def test_processes_with_a_cached_board_agree_for_a_minute_after_a_change() -> None:
    board = board_in("Pacific/Pago_Pago")
    midnight = at("2026-12-01T00:00", "Pacific/Pago_Pago")
    for seconds in (1, 30, 59):
        changed_at = midnight - timedelta(seconds=seconds)
        changed = change_zone(board, "Pacific/Kiritimati", changed_at)
        for after in range(60):
            moment = changed_at + timedelta(seconds=after)
            assert period_key(changed, PeriodKind.DAILY, moment) == period_key(
                board, PeriodKind.DAILY, moment
            )


def test_a_zone_can_be_changed_32_times_in_a_while() -> None:
    board = board_in("UTC")
    for number in range(32):
        board = change_zone(board, ZONES[number % 3], NOW)
    with pytest.raises(InvalidInput, match="timeZone: was changed 32 times"):
        change_zone(board, "UTC", NOW)
    assert len(change_zone(board, "UTC", NOW + timedelta(days=200)).zone_changes) == 1


@pytest.mark.parametrize(
    "name",
    ["", "Rome", "localtime", "Factory", "posix/Europe/Rome", "../UTC", "europe/rome", "UTC ", "+02:00"],
)
def test_a_zone_must_be_an_iana_name(name: str) -> None:
    with pytest.raises(InvalidInput, match="timeZone: must be an IANA name"):
        check_time_zone(name)


# Periods as clients name them


def test_a_period_has_its_name_while_it_is_current() -> None:
    board = board_in("Pacific/Pago_Pago")
    periods = current_periods(board, NOW)
    assert [(period.kind, period.key) for period in periods] == [
        (kind, period_key(board, kind, NOW)) for kind in PeriodKind
    ]
    assert (periods[0].starts_at, periods[0].ends_at) == (None, None)
    names = [current_name(board, period.key, NOW) for period in periods]
    assert names == [None, "daily", "weekly", "monthly"]
    for period, name in zip(periods[1:], names[1:], strict=True):
        assert period.starts_at is not None
        assert period.ends_at is not None
        assert current_name(board, period.key, period.starts_at) == name
        assert current_name(board, period.key, period.ends_at - timedelta(microseconds=1)) == name
        assert current_name(board, period.key, period.ends_at) is None
        assert current_name(board, period_before(period.key), NOW) is None


def test_a_kinds_name_is_the_current_period_and_a_key_is_itself() -> None:
    board = board_in("Pacific/Kiritimati")
    assert resolve_period(board, None, NOW) == "all-time"
    assert resolve_period(board, "daily", NOW) == "daily-2026-12-01"
    assert resolve_period(board, "weekly", NOW) == "weekly-2026-W49"
    assert resolve_period(board, "monthly", NOW) == "monthly-2026-12"
    assert resolve_period(board, "daily-2026-11-30", NOW) == "daily-2026-11-30"


@pytest.mark.parametrize(
    ("kind", "name", "now", "key"),
    [
        (PeriodKind.DAILY, "previous", "2026-03-01T00:00", "daily-2026-02-28"),
        (PeriodKind.DAILY, "previous-2", "2024-03-01T12:00", "daily-2024-02-28"),
        (PeriodKind.DAILY, "previous", "2026-03-30T00:30", "daily-2026-03-29"),  # after a day of 23 hours
        (PeriodKind.DAILY, "previous", "2026-10-26T00:30", "daily-2026-10-25"),  # after one of 25
        (PeriodKind.DAILY, "daily-previous-30", "2026-03-31T12:00", "daily-2026-03-01"),
        (PeriodKind.WEEKLY, "previous", "2027-01-04T00:00", "weekly-2026-W53"),
        (PeriodKind.WEEKLY, "weekly-previous", "2026-01-01T12:00", "weekly-2025-W52"),
        (PeriodKind.MONTHLY, "previous-12", "2026-12-31T23:59", "monthly-2025-12"),
    ],
)
def test_previous_periods_are_counted_from_the_current_one(
    kind: PeriodKind, name: str, now: str, key: str
) -> None:
    board = replace(board_in("Europe/Rome"), periods=(PeriodKind.ALL_TIME, kind))
    moment = at(now, "Europe/Rome")
    assert resolve_period(board, name, moment) == key
    current = period_key(board, kind, moment)
    steps = int(name.rpartition("-")[2]) if name[-1].isdigit() else 1
    for _ in range(steps):
        current = period_before(current)
    assert current == key


def test_previous_needs_one_kind_and_a_period_that_is_kept() -> None:
    board = board_in("UTC")
    with pytest.raises(InvalidInput, match="period: this board keeps several kinds; name one"):
        resolve_period(board, "previous", NOW)
    assert resolve_period(board, "monthly-previous", NOW) == "monthly-2026-10"
    with pytest.raises(InvalidInput, match="period: daily-2026-10-21 is gone"):
        resolve_period(board, "daily-previous-40", NOW)
    only = replace(board, periods=(PeriodKind.ALL_TIME,))
    with pytest.raises(InvalidInput, match="period: this board keeps no"):
        resolve_period(only, "previous", NOW)
    with pytest.raises(InvalidInput, match="period: this board keeps no DAILY"):
        resolve_period(only, "daily-previous", NOW)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "previous-0",
        "previous-01",
        "previous-1000",
        "previous-",
        "previous--1",
        "hourly-previous",
        "hourly",
        "daily-",
        "daily-2026-02-30",
        "daily-2026-11-3",
        "daily-2026-11-30 ",
        "daily-20261130",
        "DAILY",
        "weekly-2026-W00",
        "weekly-2026-W54",
        "weekly-2026-49",
        "monthly-2026-13",
        "monthly-2026-1",
        "daily-0000-01-01",
        "daily-9999-12-31",
        "weekly-9999-W52",
        "all-time-2026",
        "daily-٢٠٢٦-11-30",
    ],
)
def test_any_other_name_is_refused(name: str) -> None:
    board = board_in("UTC")
    with pytest.raises(InvalidInput, match="period: must be all-time, daily"):
        resolve_period(board, name, NOW)
    assert period_end(board, name) is None
    assert not is_expired(board, name, NOW)


def test_reports_15_a_period_that_the_board_does_not_have_is_refused() -> None:
    weekly = define_board(id="b", now=NOW, periods=[PeriodKind.WEEKLY])
    assert resolve_period(weekly, "weekly", NOW) == "weekly-2026-W49"
    for name in (None, "all-time", "daily", "daily-2026-11-30", "monthly"):
        with pytest.raises(InvalidInput, match="period: this board keeps no"):
            resolve_period(weekly, name, NOW)


# Grace and expiry


@pytest.mark.parametrize(
    ("late", "taken"),
    [(timedelta(), True), (timedelta(hours=5, seconds=-1), True), (timedelta(hours=5), False)],
)
@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Europe/Rome", "Pacific/Pago_Pago"])
def test_a_late_score_is_taken_until_the_grace_after_its_periods_end(
    zone: str, late: timedelta, taken: bool
) -> None:
    board = replace(board_in(zone), retention=Retention(grace_hours=5))
    end = period_end(board, "daily-2026-11-18")
    assert end is not None
    achieved_at = end - timedelta(hours=20)
    if taken:
        assert periods_reached(board, achieved_at, end + late) == [
            "all-time",
            "daily-2026-11-18",
            "weekly-2026-W47",
            "monthly-2026-11",
        ]
    else:
        with pytest.raises(
            InvalidInput, match="achievedAt: is in daily-2026-11-18, which has been over for more than 5"
        ):
            periods_reached(board, achieved_at, end + late)


def test_a_board_of_only_all_time_takes_scores_of_any_age() -> None:
    board = define_board(id="b", now=NOW)
    assert periods_reached(board, datetime(1, 1, 1, tzinfo=UTC), NOW) == ["all-time"]


@pytest.mark.parametrize("zone", ["Pacific/Kiritimati", "Pacific/Pago_Pago"])
def test_a_score_of_the_first_day_of_the_calendar_is_refused(zone: str) -> None:
    with pytest.raises(InvalidInput, match="achievedAt: is in"):
        periods_reached(board_in(zone), datetime(1, 1, 1, tzinfo=UTC), NOW)


def test_a_period_expires_days_after_its_end() -> None:
    board = replace(board_in("UTC"), retention=Retention(daily_days=3, weekly_days=30, monthly_days=400))
    end = datetime(2026, 11, 20, tzinfo=UTC) + timedelta(days=1)
    assert expires_at(board, "all-time") is None
    assert expires_at(board, "daily-2026-11-20") == end + timedelta(days=3)
    assert resolve_period(board, "daily-2026-11-20", end + timedelta(days=3, seconds=-1))
    with pytest.raises(InvalidInput, match="period: daily-2026-11-20 is gone, 3 days after its end"):
        resolve_period(board, "daily-2026-11-20", end + timedelta(days=3))


def test_the_periods_that_may_hold_entries_are_listed() -> None:
    board = replace(board_in("UTC"), retention=Retention(daily_days=3, weekly_days=10, monthly_days=40))
    assert list(periods_kept(board, NOW)) == [
        "all-time",
        *(f"daily-2026-11-{day}" for day in (30, 29, 28, 27)),
        *(f"weekly-2026-W{week}" for week in (49, 48, 47)),
        *(f"monthly-2026-{month}" for month in (11, 10)),
    ]


@given(kinds, st.dates(date(1990, 1, 1), date(2200, 1, 1)))
def test_the_period_before_ends_when_a_period_begins(kind: PeriodKind, day: date) -> None:
    board = board_in("UTC")
    key = period_key(board, kind, datetime(day.year, day.month, day.day, 12, tzinfo=UTC))
    before = period_before(key)
    assert before < key
    end = period_end(board, before)
    assert end is not None
    assert period_key(board, kind, end) == key
    assert end <= datetime(day.year, day.month, day.day, 12, tzinfo=UTC)


# A board's definition


def test_an_update_of_periods_and_zone_is_stored(boards: Boards) -> None:
    board = boards.create(define_board(id="b", now=NOW))
    changed = boards.update("b", board.version, periods=[PeriodKind.DAILY, PeriodKind.ALL_TIME], now=NOW)
    assert changed.periods == (PeriodKind.DAILY, PeriodKind.ALL_TIME)
    same = boards.update("b", changed.version, time_zone="UTC", now=NOW)
    assert same.zone_changes == ()
    moved = boards.update("b", same.version, time_zone="Pacific/Apia", now=NOW)
    assert moved.time_zone == "Pacific/Apia"
    assert boards.get("b") == moved
    assert period_key(moved, PeriodKind.DAILY, NOW) == "daily-2026-11-30"
    refused: list[dict[str, Any]] = [
        {"periods": []},
        {"periods": [PeriodKind.DAILY] * 2},
        {"time_zone": "Mars/Olympus"},
    ]
    for changed_to in refused:
        with pytest.raises(InvalidInput):
            boards.update("b", moved.version, **changed_to, now=NOW)
    assert boards.get("b") == moved


def test_new_boards_have_the_stacks_retention(boards: Boards) -> None:
    brief = Boards(boards._db, retention=Retention(daily_days=2))
    brief.create(define_board(id="new", now=NOW))
    assert boards.get("new").retention == Retention(daily_days=2)
    Boards(boards._db).create(define_board(id="plain", now=NOW))
    assert brief.get("plain").retention == Retention()


def test_a_board_stored_before_there_were_periods_is_read(boards: Boards) -> None:
    board = define_board(id="b", now=NOW)
    text = board_to_json(board)
    old = text[: text.index(',"zone_changes"')] + "}"
    assert board_from_json(old) == board
