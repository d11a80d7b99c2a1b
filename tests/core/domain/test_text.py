"""Ids and other free text: refused with the field's name, or kept exactly."""

import re
import unicodedata
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.boards import Boards
from core.domain.board import define_board
from core.domain.errors import InvalidInput, LeaderboardExists, LeaderboardNotFound
from core.domain.limits import MAX_DISPLAY_NAME_BYTES, MAX_ID_BYTES, MAX_METADATA_BYTES
from core.domain.model import UNSET
from core.domain.text import check_id, is_invisible
from core.entries.texts import update_entry
from core.moderation.moderate import remove_entry
from core.ranking.pages import entries
from core.ranking.queries import around, entries_of, entry, participant_entries, size, top
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from tests.support.twin import ALL_TIME, LONG_AGO, NOW, Twin

Drain = Callable[[], int]

KEPT = [
    "a",
    "a b",
    "#",
    "##",
    "a#b",
    "#a",
    "a#",
    "a#all-time",
    "a#all-time#0",
    "~consumer",
    "size",
    "top",
    "boards",
    "all-time",
    "null",
    "None",
    "0",
    "-1",
    "../..",
    "a/b",
    "a\\b",
    "a|b",
    "a:b",
    "a,b",
    "a'b\"c",
    "$ref",
    "{}",
    "%00",
    "é",
    "\u00c5",
    "ß",
    "SS",
    "\u0131",  # a dotless i
    "🏁",
    "🇮🇹",
    "שלום",
    "مرحبا",
    "漢字",
    "한글",
    "\U0010ffff",
    "\ue000",
    "x" * MAX_ID_BYTES,
    "🏁" * (MAX_ID_BYTES // 4),
    "A",
]
# In names these are kept; as ids they would be taken for other ones.
ONLY_NAMES = [
    " a ",
    "\u3000a",
    "a\u2028",
    "e\u0301",  # looks like é, in two code points
    "\u212b",  # the Ångström sign, which NFC makes a letter
    "👩\u200d🚀",
    "a\u200b",  # no width
    "\ufeffa",
    "\u202eabc",  # right to left by force
    "a\u2066b\u2069",
    "❤\ufe0f",
    "soft\u00adhyphen",
]
# Nothing of these can be seen.
UNSEEN = [
    " ",
    "\u00a0\u3000",
    "\u200b",
    "\u2028",
    "\ufeff",
    "\u202e\u202c",
    "\u2800",
    "\u3164",
    "\ufe0f",
    " \u200d ",
]
REFUSED = [
    "",
    "\x00",
    "a\x00b",
    "a\nb",
    "\t",
    "a\x1f",
    "\x7f",
    "\x80",
    "\x9f",
    "\ud800",
    "a\udfffb",
    "\ud83c\udfc1",  # a surrogate pair, not joined
    "x" * (MAX_ID_BYTES + 1),
    "é" * (MAX_ID_BYTES // 2) + "x",
    "x" * 1_000_000,
]


def short(text: str) -> str:
    return ascii(text)[:24]


# Participants


def test_every_participant_id_is_kept_exactly(db: Database, boards: Boards, drain: Drain) -> None:
    twin = Twin.make(db, boards)
    for number, participant in enumerate(KEPT):
        twin.submit(participant, number % 3)
    drain()
    twin.check(page_sizes=[7], participants=KEPT[::5])
    for participant in KEPT:
        found = entry(db, twin.board, ALL_TIME, participant)
        assert found
        assert found.participant_id == participant
    seen = [one.participant_id for one in entries(db, twin.board, ALL_TIME, 1000).items]
    assert sorted(seen) == sorted(KEPT)
    for participant in KEPT:
        twin.remove(participant)
    drain()
    assert size(db, twin.board, ALL_TIME) == 0


@pytest.mark.parametrize("participant", [*REFUSED, *ONLY_NAMES, *UNSEEN], ids=short)
def test_an_invalid_participant_id_is_refused_everywhere(
    db: Database, boards: Boards, participant: str
) -> None:
    twin = Twin.make(db, boards)
    uses: list[Callable[[], object]] = [
        lambda: submit_score(db, twin.board, Submission(participant, ["1"]), now=NOW),
        lambda: update_entry(db, twin.board, participant, now=NOW, display_name="x"),
        lambda: remove_entry(db, twin.board, participant, LONG_AGO),
        lambda: entry(db, twin.board, ALL_TIME, participant),
        lambda: around(db, twin.board, ALL_TIME, participant, 1),
        lambda: entries_of(db, twin.board, ALL_TIME, ["a", participant]),
        lambda: participant_entries(db, boards, participant, 10),
    ]
    for use in uses:
        with pytest.raises(InvalidInput, match="participantId"):
            use()
    assert entries(db, twin.board, ALL_TIME, 10).items == []


# Boards


def test_every_board_id_is_kept_exactly_and_no_two_boards_mix(
    db: Database, boards: Boards, drain: Drain
) -> None:
    """Each board has one participant of all boards, with another score, and one of its own."""
    twins = {board_id: Twin.make(db, boards, id=board_id) for board_id in KEPT}
    for number, twin in enumerate(twins.values()):
        twin.submit("p", number)
        twin.submit(f"only {number}", -number)
    drain()
    for board_id, twin in twins.items():
        assert boards.get(board_id).id == board_id
        assert size(db, twin.board, ALL_TIME) == 2
        assert [one.participant_id for one in top(db, twin.board, ALL_TIME, 10)] == [
            one.participant for one in twin.oracle.ranked()
        ]
        assert entry(db, twin.board, ALL_TIME, "p")
    own = participant_entries(db, boards, "p", 1000).items
    assert {one.board.id: one.score for one in own} == {
        board_id: twin.oracle.entries["p"].score for board_id, twin in twins.items()
    }
    assert len(own) == len(KEPT)


@pytest.mark.parametrize("board_id", [*REFUSED, *ONLY_NAMES, *UNSEEN], ids=short)
def test_an_invalid_board_id_is_refused(boards: Boards, board_id: str) -> None:
    with pytest.raises(InvalidInput, match="id"):
        define_board(id=board_id, now=NOW)
    with pytest.raises(InvalidInput, match="id"):
        boards.get(board_id)


def test_boards_whose_ids_nest_with_the_separator_never_mix(
    db: Database, boards: Boards, drain: Drain
) -> None:
    """Even if an id looks like another board's keys."""
    inner = Twin.make(db, boards, id="a")
    inside = [
        "a#b",
        "a#all-time",
        f"a#all-time#{inner.board.generation}",
        f"a#all-time#{inner.board.generation}#0",
        f"a#all-time#{inner.board.generation}#all-time",
    ]
    twins = [inner, *(Twin.make(db, boards, id=board_id) for board_id in inside)]
    for number, twin in enumerate(twins):
        for participant in ("p", "q", f"own{number}"):
            twin.submit(participant, number, at=number)
    drain()
    inner.remove("q")
    drain()
    for twin in twins:
        twin.check(page_sizes=[1, 2], radii=[1])


def test_ids_that_differ_are_different_boards_however_alike(boards: Boards, db: Database) -> None:
    for a, b in pairwise(["é", "\u0435", "e", "\u00c5", "A", "a"]):  # the second is Cyrillic
        if a == "é":
            Twin.make(db, boards, id=a)
        with pytest.raises(LeaderboardNotFound):
            boards.get(b)
        Twin.make(db, boards, id=b)
        with pytest.raises(LeaderboardExists):
            Twin.make(db, boards, id=b)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("ann ", "must not begin or end with a blank"),
        ("\u00a0ann", "must not begin or end with a blank"),
        ("an\u200bn", "must not hold invisible characters, such as U+200B"),
        ("ann\u202c", "must not hold invisible characters, such as U+202C"),
        ("zoe\u0308", "must be in Unicode's normal form NFC"),
    ],
)
def test_the_rule_that_an_id_breaks_is_named(text: str, rule: str) -> None:
    with pytest.raises(InvalidInput, match=f"^field: {re.escape(rule)}$"):
        check_id("field", text)


# Any text


@given(st.text(st.characters(), max_size=300))
def test_an_id_is_refused_if_and_only_if_it_breaks_a_rule(text: str) -> None:
    categories = {unicodedata.category(character) for character in text}
    right = text and not categories & {"Cc", "Cs"} and len(text.encode(errors="replace")) <= MAX_ID_BYTES
    right = right and not any(map(is_invisible, text)) and text == text.strip()
    right = right and text == unicodedata.normalize("NFC", text)
    if right:
        check_id("field", text)
    else:
        with pytest.raises(InvalidInput, match="field"):
            check_id("field", text)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(), min_size=1, max_size=60))
def test_any_participant_id_is_refused_or_kept_exactly(db: Database, boards: Boards, text: str) -> None:
    twin = Twin.make(db, boards)
    try:
        result = submit_score(db, twin.board, Submission(text, ["1"]), now=NOW)
    except InvalidInput:
        assert entries(db, twin.board, ALL_TIME, 10).items == []
        return
    assert result.entries[0].participant_id == text
    assert [one.participant_id for one in entries(db, twin.board, ALL_TIME, 10).items] == [text]
    assert [one.participant_id for one in around(db, twin.board, ALL_TIME, text, 1) or []] == [text]


# Display names and metadata


@pytest.mark.parametrize(
    "name", [one for one in [*KEPT, *ONLY_NAMES] if len(one.encode()) <= MAX_DISPLAY_NAME_BYTES], ids=short
)
def test_a_display_name_is_kept_exactly(db: Database, boards: Boards, name: str) -> None:
    twin = Twin.make(db, boards)
    submit_score(db, twin.board, Submission("p", ["1"], display_name=name), now=NOW)
    found = entry(db, twin.board, ALL_TIME, "p")
    assert found
    assert found.display_name == name


@pytest.mark.parametrize("name", [*REFUSED, *UNSEEN], ids=short)
def test_an_invalid_display_name_is_refused(db: Database, boards: Boards, name: str) -> None:
    twin = Twin.make(db, boards)
    with pytest.raises(InvalidInput, match="displayName"):
        submit_score(db, twin.board, Submission("p", ["1"], display_name=name), now=NOW)
    assert entry(db, twin.board, ALL_TIME, "p") is None


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "null",
        "0",
        '"é\\u00e9🏁"',
        '{"a": [1.0, 1e2, {"b": null}]}',
        ' { "spaces" : 1 } ',
        '{"a": 1, "a": 2}',
        '"\\ud800"',
        '"' + "x" * (MAX_METADATA_BYTES - 2) + '"',
    ],
    ids=short,
)
def test_metadata_is_kept_exactly(db: Database, boards: Boards, text: str) -> None:
    twin = Twin.make(db, boards)
    submit_score(db, twin.board, Submission("p", ["1"], metadata=text), now=NOW)
    found = entry(db, twin.board, ALL_TIME, "p")
    assert found
    assert found.metadata == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{'a': 1}",
        "NaN",
        '{"a": Infinity}',
        "[-Infinity]",
        '"a\nb"',
        '"\ud800"',
        "[" * 1000,
        "[" * 100_000,
        '"' + "x" * MAX_METADATA_BYTES + '"',
    ],
    ids=short,
)
def test_invalid_metadata_is_refused(db: Database, boards: Boards, text: str) -> None:
    twin = Twin.make(db, boards)
    with pytest.raises(InvalidInput, match="metadata"):
        submit_score(db, twin.board, Submission("p", ["1"], metadata=text), now=NOW)
    assert entry(db, twin.board, ALL_TIME, "p") is None


def test_a_refused_score_brings_its_name_and_not_its_metadata(
    db: Database, boards: Boards, drain: Drain
) -> None:
    twin = Twin.make(db, boards)

    def submit(score: str, name: str | None, metadata: str | None) -> tuple[str | None, str | None]:
        submit_score(db, twin.board, Submission("p", [score], display_name=name, metadata=metadata), now=NOW)
        return stored()

    def stored() -> tuple[str | None, str | None]:
        drain()
        found = entry(db, twin.board, ALL_TIME, "p")
        assert found
        ((first,), (page,)) = top(db, twin.board, ALL_TIME, 1), entries(db, twin.board, ALL_TIME, 1).items
        assert (found.display_name, found.metadata) == (first.display_name, first.metadata)
        assert (found.display_name, found.metadata) == (page.display_name, page.metadata)
        return found.display_name, found.metadata

    assert submit("5", "five", '"5"') == ("five", '"5"')
    assert submit("4", "four", '"4"') == ("four", '"5"')
    assert submit("6", None, None) == ("four", '"5"')  # left out: as it was
    assert submit("7", "seven", None) == ("seven", '"5"')
    update_entry(db, twin.board, "p", now=NOW, display_name=None, metadata=UNSET)
    assert stored() == (None, '"5"')
    update_entry(db, twin.board, "p", now=NOW, metadata='"new"')
    assert stored() == (None, '"new"')
