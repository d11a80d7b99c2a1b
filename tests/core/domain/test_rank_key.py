"""The rank key: its bytes sort as entries compare."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.domain import rank_key
from core.domain.board import ComponentInput, define_board
from core.domain.errors import InvalidInput
from core.domain.limits import MAX_ID_BYTES, MAX_RANK_KEY_BYTES
from core.domain.model import Board, ScoreKind, SortOrder, TieBreak
from core.domain.scores import parse_score
from tests.support.oracle import Oracle, Standing

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
LOWEST, HIGHEST = -(2**63), 2**63 - 1


def board_of(components: Sequence[ComponentInput], tie_break: TieBreak = TieBreak.EARLIEST) -> Board:
    return define_board(id="board", components=list(components), tie_break=tie_break, now=NOW)


@st.composite
def bounds(draw: st.DrawFn) -> tuple[int | None, int | None]:
    """Draw a component's bounds: narrow or wide, one-sided or none, of either sign."""
    low = draw(st.none() | st.integers(-300, 300) | st.integers(LOWEST, HIGHEST))
    if low is None:
        return None, draw(st.none() | st.integers(-300, 300) | st.integers(LOWEST, HIGHEST))
    return low, draw(st.none() | st.integers(low, min(HIGHEST, low + 300)) | st.integers(low, HIGHEST))


def values(low: int | None, high: int | None) -> st.SearchStrategy[int]:
    """Draw values within bounds, often at their ends and around zero, so that there are many ties."""
    low, high = LOWEST if low is None else low, HIGHEST if high is None else high
    edges = [low, high, *(value for value in (-256, -1, 0, 1, 255, 256) if low <= value <= high)]
    return st.sampled_from(edges) | st.integers(low, high)


ids = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=12)
moments = st.builds(
    lambda microseconds: NOW + timedelta(microseconds=microseconds), st.integers(-2, 2)
) | st.datetimes(min_value=datetime(1, 1, 1), max_value=datetime(9999, 12, 31), timezones=st.just(UTC))


@st.composite
def boards_and_standings(draw: st.DrawFn) -> tuple[Board, list[Standing]]:
    count = draw(st.integers(1, 4) | st.sampled_from([8, 32]))
    limits = [draw(bounds()) for _ in range(count)]
    board = board_of(
        [
            ComponentInput(
                name=f"c{index}",
                order=draw(st.sampled_from(SortOrder)),
                min=None if low is None else str(low),
                max=None if high is None else str(high),
            )
            for index, (low, high) in enumerate(limits)
        ],
        draw(st.sampled_from(TieBreak)),
    )
    # A few scores for several participants: random scores would make no ties of whole scores.
    scores = draw(st.lists(st.tuples(*(values(low, high) for low, high in limits)), min_size=1, max_size=4))
    standings = [
        Standing(participant, draw(st.sampled_from(scores)), draw(moments))
        for participant in draw(st.lists(ids, min_size=2, max_size=8, unique=True))
    ]
    return board, standings


def key_of(board: Board, standing: Standing) -> bytes:
    return rank_key.encode(board, standing.score, standing.achieved_at, standing.participant)


def oracle_of(board: Board) -> Oracle:
    return Oracle([component.order.value for component in board.components], tie_break=board.tie_break.value)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(boards_and_standings())
def test_keys_sort_as_entries_compare(drawn: tuple[Board, list[Standing]]) -> None:
    board, standings = drawn
    oracle = oracle_of(board)
    oracle.entries = {standing.participant: standing for standing in standings}
    assert sorted(standings, key=lambda standing: key_of(board, standing)) == oracle.ranked()


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(boards_and_standings())
def test_equal_scores_share_a_prefix_and_others_do_not(drawn: tuple[Board, list[Standing]]) -> None:
    board, standings = drawn
    length = rank_key.score_bytes(board)
    for a, b in pairwise(standings):
        assert (key_of(board, a)[:length] == key_of(board, b)[:length]) == (a.score == b.score)
        assert key_of(board, a)[:length] == rank_key.encode_score(board, a.score)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(boards_and_standings())
def test_the_score_is_read_back_and_the_key_is_as_long_as_computed(
    drawn: tuple[Board, list[Standing]],
) -> None:
    board, standings = drawn
    for standing in standings:
        key = key_of(board, standing)
        assert rank_key.decode_score(board, key) == standing.score
        assert len(key) == rank_key.longest(board, len(standing.participant.encode()))
        assert len(key) <= MAX_RANK_KEY_BYTES


@pytest.mark.parametrize("order", SortOrder)
def test_every_edge_of_64_bits_keeps_its_order(order: SortOrder) -> None:
    board = board_of([ComponentInput(order=order)])
    edges = [LOWEST, LOWEST + 1, -(2**32), -257, -256, -1, 0, 1, 255, 256, 2**32, HIGHEST - 1, HIGHEST]
    keys = [rank_key.encode(board, (value,), NOW, "p") for value in edges]
    assert keys == sorted(keys, reverse=order is SortOrder.DESCENDING)
    assert [rank_key.decode_score(board, key) for key in keys] == [(value,) for value in edges]


@pytest.mark.parametrize("order", SortOrder)
@pytest.mark.parametrize("kind", [ScoreKind.DECIMAL, ScoreKind.DURATION, ScoreKind.TIMESTAMP])
def test_every_kind_keeps_its_order(kind: ScoreKind, order: SortOrder) -> None:
    low = "-60" if kind is ScoreKind.DURATION else None  # a duration is negative only where its min says so
    board = board_of([ComponentInput(kind=kind, order=order, decimals=3, min=low)])
    rising = {
        ScoreKind.DECIMAL: ["-12.5", "-12.499", "-0.001", "0", "0.001", "0.3", "7", "10"],
        ScoreKind.DURATION: ["-1", "0", "999 ms", "1", "59.999", "1:00", "1:27.452", "1:27.453", "1 h"],
        ScoreKind.TIMESTAMP: [
            "0001-01-01T00:00:00Z",
            "1969-12-31T23:59:59.999Z",
            "1970-01-01T00:00:00Z",
            "2026-11-30T13:00:00+02:00",
            "2026-11-30T12:00:00Z",
            "9999-12-31T23:59:59.999Z",
        ],
    }[kind]
    keys = [rank_key.encode(board, parse_score(board.components, [text]), NOW, "p") for text in rising]
    assert keys == sorted(keys, reverse=order is SortOrder.DESCENDING)
    assert len(set(keys)) == len(keys)


def test_a_narrow_component_takes_few_bytes() -> None:
    wins = [ComponentInput(name=f"place{place}", min="0", max="255") for place in range(32)]
    assert rank_key.score_bytes(board_of(wins)) == 32
    assert rank_key.score_bytes(board_of([ComponentInput(min="0", max="256")])) == 2
    assert rank_key.score_bytes(board_of([ComponentInput(min="-1", max="-1")])) <= 1


WIDEST: list[dict[str, Any]] = [
    {"kind": ScoreKind.INTEGER},
    {"kind": ScoreKind.DECIMAL, "decimals": 18},
    {"kind": ScoreKind.DURATION, "decimals": 9, "min": "-1000000000"},
    {"kind": ScoreKind.TIMESTAMP, "decimals": 18},
]


@pytest.mark.parametrize("tie_break", TieBreak)
@pytest.mark.parametrize("widest", WIDEST, ids=lambda widest: widest["kind"].name)
def test_the_longest_key_of_the_widest_board_fits(widest: dict[str, Any], tie_break: TieBreak) -> None:
    board = board_of([ComponentInput(name=f"c{index}", **widest) for index in range(32)], tie_break)
    for score in ([one.low for one in board.components], [one.high for one in board.components]):
        key = rank_key.encode(board, score, NOW, "x" * MAX_ID_BYTES)
        assert len(key) <= MAX_RANK_KEY_BYTES
        assert rank_key.decode_score(board, key) == tuple(score)


def test_a_board_whose_keys_would_not_fit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With ids of the permitted length no board reaches DynamoDB's limit: here it is lower."""
    wide = [ComponentInput(name=f"c{index}", kind=ScoreKind.DECIMAL) for index in range(32)]
    longest = rank_key.longest(board_of(wide), MAX_ID_BYTES)
    monkeypatch.setattr("core.domain.board.MAX_RANK_KEY_BYTES", longest - 1)
    with pytest.raises(InvalidInput, match="components"):
        board_of(wide)
    board_of([ComponentInput(one.name, one.kind, min="0", max="1") for one in wide])


@pytest.mark.parametrize("count", [0, 33, 100])
def test_a_board_has_1_to_32_components(count: int) -> None:
    with pytest.raises(InvalidInput, match="component"):
        board_of([ComponentInput(name=f"c{index}") for index in range(count)])


@pytest.mark.parametrize(
    "wrong",
    [
        {"min": "10", "max": "9"},
        {"min": "abc"},
        {"max": "NaN"},
        {"min": "0.5"},
        {"min": "-" + "9" * 38, "max": "9" * 38},
        {"max": "9" * 5000},
        {"decimals": -1, "kind": ScoreKind.DECIMAL},
        {"decimals": 1000, "kind": ScoreKind.DECIMAL},
        {"decimals": 2, "kind": ScoreKind.INTEGER},
        {"name": ""},
        {"name": "a\x00b"},
        {"name": "\ud800"},
        {"name": "x" * 10_000},
    ],
    ids=str,
)
def test_an_invalid_component_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        board_of([ComponentInput(**wrong)])


def test_two_components_of_one_name_are_refused() -> None:
    with pytest.raises(InvalidInput, match="names"):
        board_of([ComponentInput(name="points"), ComponentInput(name="points")])


@given(ids, ids)
def test_ids_are_compared_by_their_bytes(a: str, b: str) -> None:
    board = board_of([ComponentInput()], TieBreak.PARTICIPANT)
    key_a, key_b = (rank_key.encode(board, (7,), NOW, participant) for participant in (a, b))
    assert (key_a < key_b) == (a.encode() < b.encode())
    assert (key_a == key_b) == (a == b)


def test_the_tie_break_is_exact_to_a_microsecond() -> None:
    later = NOW + timedelta(microseconds=1)
    for tie_break, first in [(TieBreak.EARLIEST, NOW), (TieBreak.LATEST, later)]:
        board = board_of([ComponentInput()], tie_break)
        keys = {moment: rank_key.encode(board, (7,), moment, "p") for moment in (NOW, later)}
        assert min(keys, key=lambda moment: keys[moment]) == first


# Bounds of ranges of keys


keys = st.builds(
    lambda head, name: (head + name.encode())[-MAX_RANK_KEY_BYTES:],
    st.binary(max_size=40)
    | st.text("\x00\x01\xfe\xff", max_size=12).map(lambda text: text.encode("latin-1")),
    st.text(min_size=1, max_size=8),
)
cuts = keys | st.binary(min_size=1, max_size=12) | st.lists(st.sampled_from([0, 1, 254, 255])).map(bytes)


@given(keys, cuts)
def test_just_below_a_cut_is_every_key_below_it(key: bytes, cut: bytes) -> None:
    bound = rank_key.just_below(cut)
    assert (key < cut) == (bound is not None and key <= bound)
    assert bound is None or len(bound) <= MAX_RANK_KEY_BYTES


@given(keys, st.integers(0, 20))
def test_just_below_holds_for_a_prefix_of_the_key(key: bytes, length: int) -> None:
    """Cuts are often prefixes of keys."""
    cut = key[:length]
    bound = rank_key.just_below(cut)
    assert bound is None or bound < cut or not cut
    assert bound is None or key > bound or key < cut


@given(st.binary(min_size=1, max_size=17), st.text(min_size=1, max_size=8), keys)
def test_just_above_a_score_is_above_its_tie_and_no_other(score: bytes, name: str, other: bytes) -> None:
    cut = rank_key.just_above(score)
    assert score + name.encode() < cut
    if not other.startswith(score):
        assert (other < cut) == (other < score)
