"""Scores as text: exact both ways, or refused with the component and the rule."""

import re
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.boards import Boards
from core.domain.board import ComponentInput
from core.domain.errors import InvalidInput, InvalidScore
from core.domain.model import Component, ScoreKind, ScorePolicy, SortOrder, TieBreak
from core.domain.scores import display, format_value, number, parse, parse_score
from core.ranking.pages import entries
from core.ranking.queries import entry
from core.storage.database import Database, metered
from core.submissions.submit import Submission, submit_score
from tests.support.twin import ALL_TIME, NOW, Twin, written

LOWEST, HIGHEST = -(2**63), 2**63 - 1
int64 = st.integers(LOWEST, HIGHEST)


# The range of TIMESTAMP, in seconds: years of four digits.
FIRST_SECOND = (datetime(1, 1, 1, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(seconds=1)
LAST_SECOND = (datetime(9999, 12, 31, tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
    seconds=1
) + 86399


def component(
    kind: ScoreKind = ScoreKind.INTEGER,
    decimals: int = 0,
    low: int | None = None,
    high: int | None = None,
    name: str = "points",
) -> Component:
    lowest, highest = LOWEST, HIGHEST
    if kind is ScoreKind.TIMESTAMP:
        lowest, highest = FIRST_SECOND * 10**decimals, (LAST_SECOND + 1) * 10**decimals - 1
    return Component(
        name=name,
        kind=kind,
        order=SortOrder.DESCENDING,
        decimals=decimals,
        low=lowest if low is None else low,
        high=highest if high is None else high,
        bounded_below=low is not None,
        bounded_above=high is not None,
    )


# Exact both ways


@given(int64)
@example(0)
@example(LOWEST)
@example(HIGHEST)
def test_an_integer_is_read_and_written_exactly(value: int) -> None:
    assert parse(component(), str(value)) == value
    assert format_value(component(), value) == str(value)


@given(int64, st.integers(1, 18))
@example(LOWEST, 18)
@example(HIGHEST, 18)
@example(-1, 18)
def test_a_decimal_is_read_and_written_exactly(scaled: int, decimals: int) -> None:
    decimal = component(ScoreKind.DECIMAL, decimals)
    assert parse(decimal, written(ScoreKind.DECIMAL, scaled, decimals)) == scaled
    canonical = format_value(decimal, scaled)
    assert Decimal(canonical) == Decimal(scaled).scaleb(-decimals)
    assert parse(decimal, canonical) == scaled


@given(int64, st.integers(0, 9))
def test_a_duration_is_read_and_written_exactly(scaled: int, decimals: int) -> None:
    duration = component(ScoreKind.DURATION, decimals)
    assert parse(duration, written(ScoreKind.DECIMAL, scaled, decimals)) == scaled
    canonical = format_value(duration, scaled)
    assert Decimal(canonical) == Decimal(scaled).scaleb(-decimals)
    assert parse(duration, canonical) == scaled


@given(st.integers(0, 10**9))
def test_a_duration_is_the_same_in_every_spelling(milliseconds: int) -> None:
    duration = component(ScoreKind.DURATION, 3)
    seconds, thousandths = divmod(milliseconds, 1000)
    minutes, second = divmod(seconds, 60)
    hour, minute = divmod(minutes, 60)
    spellings = [
        f"{milliseconds} ms",
        f"{seconds}.{thousandths:03d}",
        f"{seconds}.{thousandths:03d} s",
        f"{hour}:{minute:02d}:{second:02d}.{thousandths:03d}",
    ]
    if hour == 0:
        spellings.append(f"{minute}:{second:02d}.{thousandths:03d}")
    assert {spelling: parse(duration, spelling) for spelling in spellings} == dict.fromkeys(
        spellings, milliseconds
    )


instants = st.builds(
    lambda moment, offset: moment.replace(tzinfo=timezone(timedelta(minutes=offset))),
    st.datetimes(min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30)),
    st.integers(-14 * 60, 14 * 60),
)


@given(instants)
def test_a_timestamp_is_the_same_instant_in_every_offset(instant: datetime) -> None:
    timestamp = component(ScoreKind.TIMESTAMP, 6)
    scaled = parse(timestamp, instant.isoformat())
    assert scaled == (instant - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    canonical = format_value(timestamp, scaled)
    assert parse(timestamp, canonical) == scaled
    assert datetime.fromisoformat(canonical) == instant
    assert datetime.fromisoformat(canonical).utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    ("kind", "decimals", "text", "scaled", "canonical"),
    [
        (ScoreKind.INTEGER, 0, "0", 0, "0"),
        (ScoreKind.INTEGER, 0, "-0", 0, "0"),
        (ScoreKind.INTEGER, 0, "+7", 7, "7"),
        (ScoreKind.INTEGER, 0, "-7", -7, "-7"),
        (ScoreKind.INTEGER, 0, "007", 7, "7"),
        (ScoreKind.INTEGER, 0, "9223372036854775807", HIGHEST, "9223372036854775807"),
        (ScoreKind.INTEGER, 0, "-9223372036854775808", LOWEST, "-9223372036854775808"),
        (ScoreKind.DECIMAL, 1, "0.3", 3, "0.3"),
        (ScoreKind.DECIMAL, 2, "-0.07", -7, "-0.07"),
        (ScoreKind.DECIMAL, 2, "-0.00", 0, "0.00"),
        (ScoreKind.DURATION, 3, "1:27.452", 87452, "87.452"),
        (ScoreKind.DURATION, 3, "87452 ms", 87452, "87.452"),
        (ScoreKind.DURATION, 3, "1.5 m", 90000, "90.000"),
        (ScoreKind.DURATION, 3, "0.25 h", 900000, "900.000"),
        (ScoreKind.DURATION, 3, "1:00:00", 3600000, "3600.000"),
        (ScoreKind.DURATION, 0, "90", 90, "90"),
    ],
)
def test_the_documented_spellings(
    kind: ScoreKind, decimals: int, text: str, scaled: int, canonical: str
) -> None:
    assert parse(component(kind, decimals), text) == scaled
    assert format_value(component(kind, decimals), scaled) == canonical


def test_a_tenth_and_two_tenths_make_three_tenths() -> None:
    decimal = component(ScoreKind.DECIMAL, 1)
    assert parse(decimal, "0.1") + parse(decimal, "0.2") == parse(decimal, "0.3")


@given(st.lists(int64, min_size=1, max_size=32))
def test_a_composite_is_read_component_by_component(values: list[int]) -> None:
    components = [component(name=f"c{index}") for index in range(len(values))]
    assert parse_score(components, [str(value) for value in values]) == tuple(values)


# Text for people, numbers for charts


def test_display() -> None:
    assert display([component()], (9011,)) == "9011"
    assert display([component(ScoreKind.DURATION, 3)], (87452,)) == "1:27.452"
    assert display([component(), component(ScoreKind.DECIMAL, 1)], (25, -35)) == "25 / -3.5"


@given(int64, st.integers(0, 18))
def test_number_is_the_nearest_float(scaled: int, decimals: int) -> None:
    assert number(component(ScoreKind.DECIMAL, decimals), scaled) == float(
        written(ScoreKind.DECIMAL, scaled, decimals)
    )


# Refused

NOT_NUMBERS = [
    "",
    " ",
    "abc",
    "NaN",
    "nan",
    "Infinity",
    "-Infinity",
    "inf",
    "1e400",
    "1e3",
    "1E3",
    "0x10",
    "1_000",
    "1,000",
    " 1",
    "1 ",
    "1\n",
    "\t1",
    "1\u00a0",
    "--1",
    "+-1",
    "-",
    "+",
    ".",
    "1.2.3",
    "\uff11\uff12",  # full-width digits
    "\u0661\u0662",  # Arabic-Indic digits
    "\u00b2",  # superscript two
    "\u22121",  # a minus sign that is no hyphen
    "1\x00",
    "\ud800",
    "9" * 5000,
    "-" + "9" * 5000,
    "0." + "1" * 5000,
]
KINDS = [
    component(ScoreKind.INTEGER),
    component(ScoreKind.DECIMAL, 2),
    component(ScoreKind.DURATION, 3),
    component(ScoreKind.TIMESTAMP, 3),
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda each: each.kind.name)
@pytest.mark.parametrize("text", NOT_NUMBERS, ids=lambda text: ascii(text)[:20])
def test_text_that_is_no_score_is_refused_with_its_component(kind: Component, text: str) -> None:
    with pytest.raises(InvalidScore, match="points"):
        parse(kind, text)


@pytest.mark.parametrize(
    ("kind", "decimals", "text", "rule"),
    [
        (ScoreKind.INTEGER, 0, "1.5", r"integer|whole|digits"),
        (ScoreKind.DECIMAL, 2, "1.234", "at most 2 decimal"),
        (ScoreKind.DURATION, 3, "1:27.4521", "at most 3 decimal"),
        (ScoreKind.DURATION, 3, "0.5 ms", "at most 3 decimal"),
        (ScoreKind.DURATION, 3, "1:60", r".+"),
        (ScoreKind.DURATION, 3, "1:60:00", r".+"),
        (ScoreKind.DURATION, 3, "1:2:3:4", r".+"),
        (ScoreKind.DURATION, 3, "1:5", r".+"),
        (ScoreKind.DURATION, 3, "1:-5", r".+"),
        (ScoreKind.DURATION, 3, "5 d", r".+"),
        (ScoreKind.DURATION, 3, "ms", r".+"),
        (ScoreKind.TIMESTAMP, 3, "2026-11-30T12:00:00", r"offset|RFC 3339"),
        (ScoreKind.TIMESTAMP, 3, "2026-13-30T12:00:00Z", r".+"),
        (ScoreKind.TIMESTAMP, 3, "2026-02-29T12:00:00Z", r".+"),
        (ScoreKind.TIMESTAMP, 3, "2026-11-30", r".+"),
        (ScoreKind.TIMESTAMP, 3, "20261130T120000Z", r".+"),
        (ScoreKind.TIMESTAMP, 3, "2026-W49-1T12:00:00Z", r".+"),
        (ScoreKind.TIMESTAMP, 3, "2026-11-30T24:00:00Z", r".+"),
        (ScoreKind.TIMESTAMP, 3, "2026-11-30T12:00:00+24:00", r".+"),
        (ScoreKind.TIMESTAMP, 3, "0001-01-01T00:00:00+01:00", r".+"),  # the year before the first
        (ScoreKind.TIMESTAMP, 3, "9999-12-31T23:59:59-01:00", r".+"),  # the year after the last
        (ScoreKind.TIMESTAMP, 3, "1764504000", r".+"),
        (ScoreKind.TIMESTAMP, 3, "2026-11-30T12:00:00.1234Z", "at most 3 decimal"),
    ],
)
def test_a_refusal_names_the_rule(kind: ScoreKind, decimals: int, text: str, rule: str) -> None:
    with pytest.raises(InvalidScore) as refused:
        parse(component(kind, decimals), text)
    assert "points" in str(refused.value)
    assert re.search(rule, str(refused.value).replace("points", ""))


@given(st.integers(-100, 100), st.integers(0, 100), st.integers(-400, 400))
def test_bounds_are_inclusive(low: int, width: int, value: int) -> None:
    bounded = component(low=low, high=low + width)
    if low <= value <= low + width:
        assert parse(bounded, str(value)) == value
    else:
        with pytest.raises(InvalidScore, match="points"):
            parse(bounded, str(value))


@pytest.mark.parametrize("value", [LOWEST - 1, HIGHEST + 1, 10**30, -(10**30)])
def test_beyond_64_bits_is_refused(value: int) -> None:
    with pytest.raises(InvalidScore, match="points"):
        parse(component(), str(value))
    with pytest.raises(InvalidScore, match="points"):
        parse(component(ScoreKind.DECIMAL, 2), written(ScoreKind.DECIMAL, value, 2))


@pytest.mark.parametrize("values", [[], ["1"], ["1", "2", "3"]])
def test_the_wrong_number_of_components_is_refused(values: list[str]) -> None:
    components = [component(name="wins"), component(name="losses")]
    with pytest.raises(InvalidScore, match="2"):
        parse_score(components, values)


def test_a_composite_is_refused_with_the_invalid_component() -> None:
    components = [component(name="wins"), component(name="losses")]
    with pytest.raises(InvalidScore, match="losses") as refused:
        parse_score(components, ["1", "abc"])
    assert "wins" not in str(refused.value)


@given(st.text(max_size=40), st.sampled_from(KINDS))
def test_any_text_is_a_score_or_refused(text: str, kind: Component) -> None:
    try:
        scaled = parse(kind, text)
    except InvalidScore:
        return
    assert LOWEST <= scaled <= HIGHEST
    assert parse(kind, format_value(kind, scaled)) == scaled


@given(st.text("0123456789+-.:hms eEtTzZ", max_size=30), st.sampled_from(KINDS))
def test_text_that_looks_like_a_score_is_one_or_refused(text: str, kind: Component) -> None:
    try:
        scaled = parse(kind, text)
    except InvalidScore:
        return
    assert parse(kind, format_value(kind, scaled)) == scaled


# In storage


@pytest.mark.parametrize("policy", ScorePolicy)
def test_a_refused_submission_stores_nothing(db: Database, boards: Boards, policy: ScorePolicy) -> None:
    parts = [ComponentInput("wins", max="10"), ComponentInput("points", ScoreKind.DECIMAL, decimals=1)]
    twin = Twin.make(db, boards, policy=policy, components=parts)
    twin.submit("standing", 5, 5)
    refused = [
        *(["1", text] for text in NOT_NUMBERS),
        ["1", "1.25"],
        ["11", "1"],
        ["1"],
        [],
        ["1", "1", "1"],
        ["1", str(10**40)],
    ]
    for participant in ("standing", "newcomer"):
        for score in refused:
            with pytest.raises(InvalidScore):
                submit_score(db, twin.board, Submission(participant, score), now=NOW)
    with metered() as meter, pytest.raises(InvalidScore):
        submit_score(db, twin.board, Submission("newcomer", ["x", "y"]), now=NOW)
    assert meter.requests == 0
    assert [one.participant_id for one in entries(db, twin.board, ALL_TIME, 10).items] == ["standing"]
    assert entry(db, twin.board, ALL_TIME, "newcomer") is None
    assert twin.check_own("standing")


def test_a_sum_that_leaves_its_bounds_is_refused_and_the_entry_stays(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards, policy=ScorePolicy.SUM)
    twin.submit("p", HIGHEST)
    with pytest.raises(InvalidScore, match="score"):
        submit_score(db, twin.board, Submission("p", ["1"]), now=NOW)
    assert twin.check_own("p")
    twin.submit("p", -1)
    twin.submit("p", LOWEST)
    assert twin.oracle.entries["p"].score == (-2,)
    assert twin.check_own("p")


def test_a_tenth_and_two_tenths_add_up_on_a_board(db: Database, boards: Boards) -> None:
    parts = [ComponentInput("points", ScoreKind.DECIMAL, decimals=1)]
    twin = Twin.make(db, boards, policy=ScorePolicy.SUM, components=parts)
    for text in ("0.1", "0.2"):
        result = submit_score(db, twin.board, Submission("p", [text]), now=NOW)
    assert format_value(twin.board.components[0], result.entries[0].score[0]) == "0.3"


@pytest.mark.parametrize("policy", ScorePolicy)
@pytest.mark.parametrize(
    "achieved_at",
    [
        datetime(2026, 11, 30, 12),  # no offset
        datetime(2126, 11, 30, 12, tzinfo=UTC),
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))),  # before the first instant there is
        datetime(9999, 12, 31, 23, tzinfo=timezone(-timedelta(hours=2))),
    ],
    ids=["no offset", "future", "underflow", "overflow"],
)
def test_an_invalid_time_is_refused(
    db: Database, boards: Boards, policy: ScorePolicy, achieved_at: datetime
) -> None:
    twin = Twin.make(db, boards, policy=policy)
    with pytest.raises(InvalidInput, match="achievedAt"):
        submit_score(db, twin.board, Submission("p", ["1"], achieved_at=achieved_at), now=NOW)
    assert entry(db, twin.board, ALL_TIME, "p") is None


@pytest.mark.parametrize("tie_break", TieBreak)
def test_a_time_is_kept_to_the_microsecond(db: Database, boards: Boards, tie_break: TieBreak) -> None:
    twin = Twin.make(db, boards, tie_break=tie_break)
    for achieved_at in (
        datetime(1, 1, 1, tzinfo=UTC),
        datetime(1969, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
        NOW,
    ):
        participant = achieved_at.isoformat()
        submit_score(db, twin.board, Submission(participant, ["1"], achieved_at=achieved_at), now=NOW)
        found = entry(db, twin.board, ALL_TIME, participant)
        assert found
        assert found.achieved_at == achieved_at
