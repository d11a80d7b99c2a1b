"""Problems that users of other leaderboards report: each a test of the right behaviour, under its number."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial

from core.boards import Boards
from core.domain.board import ComponentInput
from core.domain.model import ScoreKind, SortOrder
from core.entries.texts import update_entry
from core.ranking.pages import entries
from core.ranking.queries import around, entries_of, entry
from core.ranking.ranks import rank_entries
from core.records.audit import AuditContext
from core.storage.database import Database
from tests.support.twin import ALL_TIME, NOW, Twin, walk

Drain = Callable[[], int]


def test_reports_4_each_component_has_its_own_direction_and_a_score_is_kept_whole(
    db: Database, boards: Boards, drain: Drain
) -> None:
    """Most kills, then least time; the best run is kept, never the best components of two."""
    parts = [ComponentInput("kills"), ComponentInput("time", ScoreKind.INTEGER, SortOrder.ASCENDING)]
    twin = Twin.make(db, boards, components=parts)
    twin.submit("a", 100, 50)
    twin.submit("a", 90, 5)  # a faster run with fewer kills
    twin.submit("b", 100, 40)
    twin.submit("c", 100, 60)
    drain()
    twin.check()
    assert [(standing.participant, standing.score) for standing in twin.oracle.top(3)] == [
        ("b", (100, 40)),
        ("a", (100, 50)),
        ("c", (100, 60)),
    ]


def test_reports_11_the_window_around_a_participant_is_full_and_without_gaps(
    db: Database, boards: Boards, drain: Drain
) -> None:
    twin = Twin.make(db, boards)
    for number in range(9):
        twin.submit(f"p{number}", number)
    drain()
    for number in range(9):
        window = around(db, twin.board, ALL_TIME, f"p{number}", 2)
        assert window is not None
        ranks = [rank.rank for rank in rank_entries(db, twin.board, ALL_TIME, window) if rank]
        first = min(max(9 - number - 2, 1), 5)
        assert ranks == list(range(first, first + 5))
        assert f"p{number}" in [found.participant_id for found in window]


def test_reports_12_pages_neither_skip_nor_repeat_unchanged_entries_and_a_tie_has_one_rank(
    db: Database, boards: Boards, drain: Drain
) -> None:
    """While other entries are added, removed and changed between one page and the next."""
    twin = Twin.make(db, boards)
    for number in range(12):
        twin.submit(f"still{number:02}", 5, at=number)
        twin.submit(f"moves{number:02}", number)
    seen: list[str] = []
    moves = iter(range(12))

    def read(token: str | None) -> object:
        page = entries(db, twin.board, ALL_TIME, 3, token)
        number = next(moves)
        twin.submit(f"moves{number:02}", 20 - number, at=99)
        twin.remove(f"moves{(number + 6) % 12:02}")
        return page

    for page in walk(read):  # type: ignore[arg-type]
        seen += [found.participant_id for found in page if found.participant_id.startswith("still")]
    assert seen == [f"still{number:02}" for number in range(12)]
    drain()
    pages = list(walk(partial(entries, db, twin.board, ALL_TIME, 5)))
    tied = {
        rank.rank
        for page in pages
        for found, rank in zip(page, rank_entries(db, twin.board, ALL_TIME, page), strict=True)
        if found.score == (5,) and rank
    }
    assert len(tied) == 1


def test_reports_13_and_14_friends_have_their_rank_on_the_whole_board_and_ties_a_position_each(
    db: Database, boards: Boards, drain: Drain
) -> None:
    twin = Twin.make(db, boards)
    for number, score in enumerate([9, 7, 7, 7, 3]):
        twin.submit(f"p{number}", score, at=number)
    drain()
    friends = entries_of(db, twin.board, ALL_TIME, ["p4", "p2", "p3"])
    ranks = [rank for rank in rank_entries(db, twin.board, ALL_TIME, friends) if rank]
    assert [(rank.rank, rank.position) for rank in ranks] == [(2, 3), (2, 4), (5, 5)]


def test_reports_22_metadata_is_edited_without_a_score_and_a_tournament_ends_now(
    db: Database, boards: Boards, drain: Drain
) -> None:
    twin = Twin.make(db, boards)
    twin.submit("p", 1)
    before = entry(db, twin.board, ALL_TIME, "p")
    update_entry(db, twin.board, "p", now=NOW, metadata='{"team":"red"}')
    after = entry(db, twin.board, ALL_TIME, "p")
    assert before
    assert after
    assert after.metadata == '{"team":"red"}'
    assert (after.score, after.achieved_at, after.rank_key) == (
        before.score,
        before.achieved_at,
        before.rank_key,
    )
    boards.update(twin.board.id, 1, title="edited meanwhile")
    closed = boards.close(twin.board.id, AuditContext("referee", NOW + timedelta(minutes=1), "rain"))
    assert closed.closed
    assert closed.title == "edited meanwhile"
    drain()
    twin.check()
