"""The window around a participant: full at both ends, on small boards, and with ties at its edges."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from core.boards import Boards
from core.domain.errors import InvalidInput
from core.domain.limits import MAX_RADIUS
from core.domain.model import TieBreak
from core.ranking.queries import around
from core.storage import parallel
from core.storage.database import Database
from tests.support.twin import ALL_TIME, Twin

Drain = Callable[[], int]
# One shard of the index, and several.
shards = pytest.mark.parametrize("peak", [1, 1000, 5000], ids=["1 shard", "4 shards", "16 shards"])


def window(twin: Twin, participant: str, radius: int) -> str | None:
    found = around(twin.db, twin.board, ALL_TIME, participant, radius)
    return None if found is None else " ".join(one.participant_id for one in found)


@shards
def test_the_window_slides_at_both_ends(db: Database, boards: Boards, peak: int) -> None:
    twin = Twin.make(db, boards, peak_writes_per_second=peak)
    for place, participant in enumerate("abcdefg"):
        twin.submit(participant, 100 - place)
    assert {participant: window(twin, participant, 2) for participant in "abcdefg"} == {
        "a": "a b c d e",
        "b": "a b c d e",
        "c": "a b c d e",
        "d": "b c d e f",
        "e": "c d e f g",
        "f": "c d e f g",
        "g": "c d e f g",
    }
    assert window(twin, "d", 0) == "d"
    assert window(twin, "d", 3) == "a b c d e f g"
    assert window(twin, "d", MAX_RADIUS) == "a b c d e f g"


@shards
def test_a_board_smaller_than_the_window_is_returned_whole(db: Database, boards: Boards, peak: int) -> None:
    twin = Twin.make(db, boards, peak_writes_per_second=peak)
    for count, participant in enumerate("abcd", start=1):
        twin.submit(participant, -count)
        whole = " ".join("abcd"[:count])
        assert [window(twin, one, 2) for one in "abcd"[:count]] == [whole] * count


def test_a_participant_without_an_entry_has_no_window(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards)
    assert window(twin, "a", 5) is None
    twin.submit("a", 1)
    assert window(twin, "b", 5) is None
    twin.remove("a")
    assert window(twin, "a", 5) is None


@pytest.mark.parametrize("peak", [1, 1000], ids=["1 shard", "4 shards"])
@pytest.mark.parametrize(
    "tie_break",
    [
        TieBreak.LATEST,
        *(pytest.param(one, marks=pytest.mark.thorough) for one in TieBreak if one is not TieBreak.LATEST),
    ],
)
def test_every_window_with_ties_at_its_edges(
    db: Database, boards: Boards, drain: Drain, peak: int, tie_break: TieBreak
) -> None:
    """Runs of 1 to 5 equal scores, so that windows start and end before, in and behind a tie."""
    twin = Twin.make(db, boards, peak_writes_per_second=peak, tie_break=tie_break)
    scores = [9, 8, 8, 7, 7, 7, 6, 5, 5, 5, 5, 4, 3, 3, 3, 3, 3]
    for number, score in enumerate(scores):
        twin.submit(f"p{number * 7 % len(scores):02}", score, at=number % 3)
    drain()
    twin.check(page_sizes=[4], radii=[0, 1, 3, 8])


@pytest.mark.parametrize(
    "score", [-(2**63), *(pytest.param(one, marks=pytest.mark.thorough) for one in (-1, 0, 2**63 - 1))]
)
def test_everyone_on_one_score(db: Database, boards: Boards, drain: Drain, score: int) -> None:
    twin = Twin.make(db, boards)
    for number in range(9):
        twin.submit(f"p{number}", score, at=number % 2)
    drain()
    twin.check(radii=[0, 1, 3, 5])


@pytest.mark.parametrize("radius", [-1, -(2**31), MAX_RADIUS + 1, 2**31])
def test_a_radius_out_of_bounds_is_refused(db: Database, boards: Boards, radius: int) -> None:
    twin = Twin.make(db, boards)
    twin.submit("a", 1)
    with pytest.raises(InvalidInput, match="radius"):
        around(db, twin.board, ALL_TIME, "a", radius)


def test_a_window_needs_no_more_threads_than_there_are(db: Database, boards: Boards) -> None:
    """A pool deadlocks if all of its threads wait for calls that are queued in it."""
    twin = Twin.make(db, boards)
    for number in range(9):
        twin.submit(f"p{number}", number)
    small = tuple(ThreadPoolExecutor(max_workers=1) for _ in parallel.new_pools("any"))
    caller = ThreadPoolExecutor(max_workers=4)
    ask = partial(parallel.run_in, small, partial(window, twin, "p4", 1))
    answers = [caller.submit(ask) for _ in range(8)]
    try:
        assert [answer.result(timeout=10) for answer in answers] == ["p5 p4 p3"] * 8
    finally:
        for pool in small:
            pool.shutdown(wait=False, cancel_futures=True)  # frees threads that wait for one another
        caller.shutdown()
