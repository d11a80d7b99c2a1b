"""Pages: every size, ties at their edges, while scores change, and tokens of other lists."""

import base64
import random
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from core.boards import Boards
from core.domain.entry_item import entry_key
from core.domain.errors import InvalidInput, InvalidScore
from core.domain.limits import MAX_BOARDS_PAGE, MAX_ENTRIES_OF, MAX_PAGE, MAX_TOP
from core.domain.model import Entry, Page, RankStrategy, ScorePolicy, TieBreak
from core.ranking.pages import entries
from core.ranking.queries import entries_of, participant_entries, top
from core.ranking.ranks import rank_entries
from core.storage.database import Database
from tests.support.twin import ALL_TIME, NOW, Twin, submit_to, walk

Drain = Callable[[], int]


@pytest.fixture
def twin(db: Database, boards: Boards) -> Twin:
    """25 entries on 7 scores, on several shards of the index."""
    twin = Twin.make(db, boards)
    for number in range(25):
        twin.submit(f"p{number:02}", number * 5 % 7, at=number % 3)
    return twin


@pytest.fixture
def token(twin: Twin) -> str:
    token = entries(twin.db, twin.board, ALL_TIME, 3).next_token
    assert token is not None
    return token


def pages_of(twin: Twin, limit: int) -> list[list[str]]:
    pages = walk(partial(entries, twin.db, twin.board, ALL_TIME, limit))
    return [[one.participant_id for one in page] for page in pages]


# Sizes


@pytest.mark.parametrize("limit", [1, 2, 5, 7, 24, 25, 26, 100, MAX_PAGE])
def test_pages_of_every_size_make_up_the_standings(twin: Twin, limit: int) -> None:
    expected = [[one.participant for one in page] for page in twin.oracle.pages(limit)]
    assert pages_of(twin, limit) == expected


def test_a_thousand_and_more_entries_on_one_score(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards, tie_break=TieBreak.PARTICIPANT)
    participants = [f"p{number:04}" for number in range(1005)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda one: submit_to(db, twin.board, one, (0,), NOW), participants))
    assert pages_of(twin, MAX_PAGE) == [participants[:MAX_PAGE], participants[MAX_PAGE:]]
    assert [one for page in pages_of(twin, 333) for one in page] == participants


def test_an_empty_board_is_one_empty_page(db: Database, boards: Boards, drain: Drain) -> None:
    twin = Twin.make(db, boards)
    twin.check(page_sizes=[1, MAX_PAGE])
    twin.submit("a", 1)
    drain()
    twin.remove("a")
    drain()
    twin.check(page_sizes=[1, MAX_PAGE])


@pytest.mark.parametrize("limit", [0, -1, -(2**31), MAX_PAGE + 1, 2**31])
def test_a_page_size_out_of_bounds_is_refused(twin: Twin, boards: Boards, limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        entries(twin.db, twin.board, ALL_TIME, limit)
    with pytest.raises(InvalidInput, match="limit"):
        participant_entries(twin.db, boards, "p00", limit)
    with pytest.raises(InvalidInput, match="limit"):
        top(twin.db, twin.board, ALL_TIME, limit)
    with pytest.raises(InvalidInput, match="limit"):
        boards.page(limit, None)


def test_each_maximum_is_the_stated_one(twin: Twin, boards: Boards) -> None:
    many = [f"p{number:02}" for number in range(MAX_ENTRIES_OF)]
    assert len(entries_of(twin.db, twin.board, ALL_TIME, many)) == 25
    assert len(top(twin.db, twin.board, ALL_TIME, MAX_TOP)) == 25
    assert len(boards.page(MAX_BOARDS_PAGE, None).items) == 1
    for refused in (
        lambda: entries_of(twin.db, twin.board, ALL_TIME, [*many, "one more"]),
        lambda: top(twin.db, twin.board, ALL_TIME, MAX_TOP + 1),
        lambda: boards.page(MAX_BOARDS_PAGE + 1, None),
    ):
        with pytest.raises(InvalidInput):
            refused()


def test_a_participant_asked_for_twice_is_returned_once(twin: Twin) -> None:
    found = entries_of(twin.db, twin.board, ALL_TIME, ["p01", "p00", "p01", "nobody"])
    assert sorted(one.participant_id for one in found) == ["p00", "p01"]
    assert entries_of(twin.db, twin.board, ALL_TIME, []) == []


# While scores change


@pytest.mark.parametrize("limit", [1, 2, 7])
def test_an_unchanged_entry_is_on_one_page_however_others_move(twin: Twin, limit: int) -> None:
    """Between two pages an entry climbs over the reader's place, one is removed, and one is added."""
    movers = [f"p{number:02}" for number in range(0, 25, 2)]
    stayers = set(twin.oracle.entries) - set(movers)
    seen: Counter[str] = Counter()
    for step, page in enumerate(walk(partial(entries, twin.db, twin.board, ALL_TIME, limit))):
        seen.update(one.participant_id for one in page)
        twin.submit(movers[step % len(movers)], 100 + step)
        twin.remove(movers[(step * 3 + 1) % len(movers)])
        twin.submit(f"new{step}", step % 9 - 1)
    assert {one: seen[one] for one in stayers} == dict.fromkeys(stayers, 1)


def test_the_entry_that_a_token_names_may_leave(twin: Twin) -> None:
    first = entries(twin.db, twin.board, ALL_TIME, 5)
    order = [one.participant for one in twin.oracle.ranked()]
    twin.remove(first.items[-1].participant_id)
    second = entries(twin.db, twin.board, ALL_TIME, MAX_PAGE, first.next_token)
    assert [one.participant_id for one in second.items] == order[5:]


def test_an_unchanged_entry_is_on_one_page_while_threads_write(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards, policy=ScorePolicy.LATEST)
    stayers = [f"stays{number:02}" for number in range(40)]
    for number, participant in enumerate(stayers):
        twin.submit(participant, number % 5)
    done = threading.Event()
    written = threading.Barrier(5)

    def move(writer: int) -> int:
        written.wait()
        moved = 0
        while not done.is_set() or moved == 0:
            score = (random.randint(-1, 6),)
            submit_to(db, twin.board, f"moves{writer}", score, NOW + timedelta(seconds=moved))
            moved += 1
        return moved

    def read(limit: int) -> Sequence[str]:
        return [one for page in pages_of(twin, limit) for one in page if one.startswith("stays")]

    with ThreadPoolExecutor(4) as threads:
        moves = [threads.submit(move, writer) for writer in range(4)]
        written.wait()
        try:
            for limit in (1, 3, 10, 100) * 2:
                assert Counter(read(limit)) == Counter(stayers)
        finally:
            done.set()
    assert all(one.result() > 0 for one in moves)


# Tokens


def refuse(twin: Twin, token: str) -> None:
    with pytest.raises(InvalidInput, match="nextToken"):
        entries(twin.db, twin.board, ALL_TIME, 3, token)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_a_mangled_token_is_refused(db: Database, boards: Boards, length: int) -> None:
    """Each character in turn becomes its neighbour in the alphabet, even where it holds only spare bits."""
    twin = Twin.make(db, boards)
    twin.submit("p" * length, 2)
    twin.submit("q", 1)
    token = entries(db, twin.board, ALL_TIME, 1).next_token or ""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    for at, character in enumerate(token):
        neighbour = alphabet[alphabet.index(character) ^ 1]
        refuse(twin, token[:at] + neighbour + token[at + 1 :])


def test_a_truncated_or_longer_token_is_refused(twin: Twin, token: str) -> None:
    for length in range(len(token)):
        refuse(twin, token[:length])
    for longer in (token + "A", token + "AAAA", token * 2, "A" + token, token + "A" * 100_000):
        refuse(twin, longer)


@pytest.mark.parametrize(
    "text",
    ["", " ", "null", "0", "é", "\ud800", "🏁", "a" * 7, "=", "====", "\x00", "[]", "../../etc/passwd"],
)
def test_text_that_is_no_token_is_refused(twin: Twin, text: str) -> None:
    refuse(twin, text)


def test_a_decorated_token_is_refused(twin: Twin, token: str) -> None:
    for decorated in (f" {token}", f"{token}\n", f"{token}=", f"{token}====", f"{token}%3D"):
        refuse(twin, decorated)


def test_a_token_of_another_board_is_refused(twin: Twin, db: Database, boards: Boards, token: str) -> None:
    other = Twin.make(db, boards)
    other.submit("p00", 1)
    refuse(other, token)


def test_a_token_of_another_period_is_refused(twin: Twin, token: str) -> None:
    with pytest.raises(InvalidInput, match="nextToken"):
        entries(twin.db, twin.board, "daily-2026-11-30", 3, token)


def test_a_token_of_an_earlier_board_of_the_same_id_is_refused(
    db: Database, boards: Boards, token: str
) -> None:
    (old,) = boards.page(10, None).items
    db.client.delete_item(TableName=db.tables.boards, Key={"board": {"S": old.id}})
    again = Twin.make(db, boards, id=old.id)
    assert again.board.generation != old.generation
    again.submit("p00", 1)
    refuse(again, token)


def test_a_token_of_another_kind_of_list_is_refused(twin: Twin, boards: Boards, token: str) -> None:
    Twin.make(twin.db, boards).submit("p00", 1)
    of_participant = participant_entries(twin.db, boards, "p00", 1).next_token
    of_boards = boards.page(1, None).next_token
    assert of_participant
    assert of_boards
    refuse(twin, of_participant)
    refuse(twin, of_boards)
    for wrong in (token, of_boards):
        with pytest.raises(InvalidInput, match="nextToken"):
            participant_entries(twin.db, boards, "p00", 1, wrong)
    with pytest.raises(InvalidInput, match="nextToken"):
        participant_entries(twin.db, boards, "p01", 1, of_participant)
    for wrong in (token, of_participant):
        with pytest.raises(InvalidInput, match="nextToken"):
            boards.page(1, wrong)


def test_a_token_holds_no_rank_and_may_be_used_again(twin: Twin, token: str) -> None:
    first = entries(twin.db, twin.board, ALL_TIME, 3, token)
    assert keys(entries(twin.db, twin.board, ALL_TIME, 3, token).items) == keys(first.items)
    assert keys(entries(twin.db, twin.board, ALL_TIME, 7, token).items)[:3] == keys(first.items)
    assert set(token) <= set(base64.urlsafe_b64encode(bytes(range(256))).decode())


def keys(found: Sequence[Entry]) -> list[bytes]:
    return [one.rank_key for one in found]


# The other lists


def test_a_participants_entries_in_pages(db: Database, boards: Boards) -> None:
    twins = [Twin.make(db, boards, id=f"board-{number}") for number in range(7)]
    for number, twin in enumerate(twins):
        twin.submit("p", number)
        twin.submit("q", 100)
    for limit in (1, 2, 3, 7, 100):
        pages = list(walk(partial(participant_entries, db, boards, "p", limit)))
        assert all(len(page) <= limit for page in pages)
        found = [(one.board.id, one.score) for page in pages for one in page]
        assert found == [(twin.board.id, (number,)) for number, twin in enumerate(twins)]
    assert participant_entries(db, boards, "nobody", 10).items == []


def test_a_deleted_board_leaves_no_gap_in_a_participants_pages(db: Database, boards: Boards) -> None:
    twins = [Twin.make(db, boards, id=f"board-{number}") for number in range(6)]
    for twin in twins:
        twin.submit("p", 1)
    for twin in twins[1:4]:
        db.client.delete_item(TableName=db.tables.boards, Key={"board": {"S": twin.board.id}})
    Twin.make(db, boards, id="board-2")  # made anew: the old entry is not one of its own
    for limit in (1, 2, 3, 6):
        pages = list(walk(partial(participant_entries, db, boards, "p", limit)))
        assert [one.board.id for page in pages for one in page] == ["board-0", "board-4", "board-5"]
        assert all(len(page) == limit for page in pages[:-2])


def test_the_boards_in_pages(db: Database, boards: Boards) -> None:
    ids = ["é", "B", "a", "a#b", "🏁", "b"]
    for board_id in ids:
        Twin.make(db, boards, id=board_id)
    for limit in (1, 2, 4, 100):
        found: list[str] = []
        token = None
        while True:
            page = boards.page(limit, token)
            assert len(page.items) <= limit
            found += [board.id for board in page.items]
            token = page.next_token
            if token is None:
                break
        assert found == sorted(ids, key=str.encode)


# From any place, both ways


def ids(page: Page[Entry]) -> list[str]:
    return [one.participant_id for one in page.items]


@pytest.mark.parametrize("limit", [1, 3, 7, 24, 25, 100])
def test_a_page_begins_at_any_position_and_goes_both_ways(twin: Twin, drain: Drain, limit: int) -> None:
    drain()
    order = [one.participant for one in twin.oracle.ranked()]
    read = partial(entries, twin.db, twin.board, ALL_TIME, limit)
    for position in range(1, 26):
        page = read(position=position)
        assert ids(page) == order[position - 1 : position - 1 + limit]
        check_ranks(twin, page)
        assert (page.previous_token is None) == (position == 1)
        back, token = position - 1, page.previous_token
        while token is not None:
            before = read(token)
            start = max(0, back - limit)
            assert ids(before) == order[start:back]
            check_ranks(twin, before)
            again = read(before.next_token)
            assert ids(again) == order[back : back + limit]
            back, token = start, before.previous_token
        assert back == 0
        forth = [one for following in walk(partial(read)) for one in following]
        assert [one.participant_id for one in forth] == order


def check_ranks(twin: Twin, page: Page[Entry]) -> None:
    """Check the ranks of a page's entries, which are counted from its first one."""
    for strategy in (RankStrategy.INDEX, RankStrategy.TREE, RankStrategy.LADDER):
        for shown, rank in zip(
            page.items, rank_entries(twin.db, twin.board, ALL_TIME, page.items, strategy), strict=True
        ):
            assert rank is not None
            place = twin.oracle.place(shown.participant_id)
            assert place is not None
            assert (rank.rank, rank.position) == (place.rank, place.position)


def test_a_page_begins_at_a_score(twin: Twin, drain: Drain) -> None:
    drain()
    standings = twin.oracle.ranked()
    order = [one.participant for one in standings]
    for score in range(-1, 9):
        worse = [at for at, one in enumerate(standings) if one.score[0] <= score]
        start = worse[0] if worse else len(order)
        page = entries(twin.db, twin.board, ALL_TIME, 4, score=[str(score)])
        assert ids(page) == order[start : start + 4]
        check_ranks(twin, page)
        assert (page.previous_token is None) == (start == 0)
        if page.previous_token:
            before = entries(twin.db, twin.board, ALL_TIME, 4, page.previous_token)
            assert ids(before) == order[max(0, start - 4) : start]
            check_ranks(twin, before)


def test_past_the_end_is_an_empty_page_that_leads_back(twin: Twin, drain: Drain) -> None:
    drain()
    order = [one.participant for one in twin.oracle.ranked()]
    page = entries(twin.db, twin.board, ALL_TIME, 10, position=26)
    assert (ids(page), page.next_token) == ([], None)
    last = entries(twin.db, twin.board, ALL_TIME, 10, page.previous_token)
    assert (ids(last), last.next_token) == (order[15:], None)
    check_ranks(twin, last)
    twice = entries(twin.db, twin.board, ALL_TIME, 10, last.previous_token)
    assert ids(twice) == order[5:15]


def test_a_page_whose_entries_have_left_still_leads_both_ways(twin: Twin, drain: Drain) -> None:
    drain()
    order = [one.participant for one in twin.oracle.ranked()]
    page = entries(twin.db, twin.board, ALL_TIME, 5, position=6)
    for participant in order[:5]:
        twin.remove(participant)
    before = entries(twin.db, twin.board, ALL_TIME, 5, page.previous_token)
    assert (ids(before), before.previous_token) == ([], None)
    assert ids(entries(twin.db, twin.board, ALL_TIME, 5, before.next_token)) == order[5:10]
    for participant in order[15:]:
        twin.remove(participant)
    nothing = entries(twin.db, twin.board, ALL_TIME, 5, score=["0"])
    assert ids(nothing) == []
    assert ids(entries(twin.db, twin.board, ALL_TIME, 5, nothing.previous_token)) == order[10:15]


def test_foreign_items_end_no_page(twin: Twin) -> None:
    """They are left out; the page is as full as without them, and the rest of the board follows."""
    order = [one.participant for one in twin.oracle.ranked()]
    board = twin.board
    for number, participant in enumerate(order[:12]):
        key = twin.db.client.get_item(
            TableName=twin.db.tables.scores, Key=entry_key(board, ALL_TIME, participant)
        )["Item"]
        foreign = {**key, "participant": {"S": f"foreign{number}"}, "version": {"S": "one"}}
        twin.db.client.put_item(TableName=twin.db.tables.scores, Item=foreign)
    assert [one for page in pages_of(twin, 5) for one in page] == order
    assert [len(page) for page in pages_of(twin, 5)] == [5] * 5


@pytest.mark.parametrize(
    ("places", "message"),
    [
        ({"position": 1, "score": ["1"]}, "a page begins at one of a token, a position and a score"),
        ({"position": 0}, "position: must be at least 1, not 0"),
        ({"score": ["x"]}, "score"),
        ({"score": []}, "score"),
    ],
)
def test_a_wrong_place_is_refused(twin: Twin, token: str, places: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInput, InvalidScore), match=message):
        entries(twin.db, twin.board, ALL_TIME, 5, **places)
    with pytest.raises(InvalidInput, match="a page begins at one of"):
        entries(twin.db, twin.board, ALL_TIME, 5, token, position=1)
