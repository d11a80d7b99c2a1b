"""Archives: frozen, exact, of any size, and written once whoever dies and however often it is tried."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from core.archives import read, write
from core.archives.read import archive_entries, archives_page
from core.archives.write import begin_archive, write_archive
from core.boards import Boards
from core.domain.errors import ArchiveNotFound, InvalidInput
from core.domain.model import Archive, Page, RankBucket, ScorePolicy
from core.domain.page_tokens import every_item
from core.records.jobs import pending_jobs
from core.records.table import query_records
from core.storage.database import Database, metered
from core.storage.rank_index import read_run
from tests.support.dying import dying_at_each_request
from tests.support.graphql_api import Api
from tests.support.oracle import Oracle
from tests.support.twin import ALL_TIME, NOW, Twin, place_of, standing_of

Drain = Callable[[], int]
FOR_EVER = 1e9
BUCKETS = [RankBucket("first", to=1), RankBucket("half", top_percent=50), RankBucket("rest")]


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (write, read):
        monkeypatch.setattr(module, "CHUNK_ROWS", 4)


def archived(twin: Twin, limit: int | None = None, db: Database | None = None) -> str:
    db = db or twin.db
    name = begin_archive(db, twin.board, ALL_TIME, NOW, limit=limit)
    archive = write_archive(db, name, FOR_EVER)
    assert archive
    assert archive.complete
    return name


def listed(twin: Twin) -> list[Archive]:
    return list(every_item(partial(archives_page, twin.db, twin.board, 2)))


def check_archive(db: Database, name: str, then: Oracle, *, limit: int | None = None, page: int = 3) -> None:
    """Compare every page of an archive with the standings when it was written."""
    found = list(every_item(partial(archive_entries, db, name, page)))
    assert [standing_of(entry) for entry, _ in found] == then.ranked()[:limit]
    assert [place_of(rank) for _, rank in found] == [then.place(entry.participant_id) for entry, _ in found]


def frozen(twin: Twin) -> Oracle:
    copy = Oracle(
        **{name: getattr(twin.oracle, name) for name in ("orders", "bounds", "policy", "tie_break")}
    )
    copy.buckets = twin.oracle.buckets
    copy.entries, copy.hidden = dict(twin.oracle.entries), set(twin.oracle.hidden)
    return copy


@pytest.mark.parametrize("scores", ["ties", "all equal", "distinct", "nobody", "a chunk's worth"])
def test_an_archive_has_the_ranks_of_its_time_on_every_page(
    db: Database, boards: Boards, drain: Drain, scores: str
) -> None:
    twin = Twin.make(db, boards, rank_buckets=BUCKETS, peak_writes_per_second=700)
    of = {
        "ties": [3, 3, 3, 2, 2, 2, 2, 2, 2, 2, 1, 0, 0, 0, 0, 0, -1],
        "all equal": [7] * 17,
        "distinct": list(range(17)),
        "nobody": [],
        "a chunk's worth": [2, 2, 1, 1],
    }
    for number, score in enumerate(of[scores]):
        twin.submit(f"p{number:02}", score, at=number)
    if scores == "ties":
        twin.hide("p03")
    drain()
    name, then = archived(twin), frozen(twin)
    for number in range(0, len(of[scores]), 3):
        twin.submit(f"p{number:02}", 50, at=99)  # what comes later changes nothing
    twin.submit("new", 60)
    for page in (1, 3, 4, 5, 1000):
        check_archive(db, name, then, page=page)
    assert [(one.id, one.size, one.complete) for one in listed(twin)] == [(name, then.size(), True)]


@pytest.mark.parametrize("limit", [1, 3, 4, 7, 8, 11, 100])
def test_a_limited_archive_has_the_ranks_of_the_whole_board(
    db: Database, boards: Boards, drain: Drain, limit: int
) -> None:
    twin = Twin.make(db, boards, rank_buckets=BUCKETS)
    for number, score in enumerate([9, 8, 8, 8, 8, 8, 8, 7, 1, 1, 0]):
        twin.submit(f"p{number:02}", score)
    drain()
    check_archive(db, archived(twin, limit), frozen(twin), limit=limit)


def test_scores_of_any_kind_and_texts_of_any_size_come_back(db: Database, boards: Boards) -> None:
    from core.domain.board import ComponentInput
    from core.domain.model import ScoreKind, SortOrder
    from core.submissions.submit import Submission, submit_score

    twin = Twin.make(
        db,
        boards,
        components=[
            ComponentInput("a"),
            ComponentInput("b", ScoreKind.DECIMAL, SortOrder.ASCENDING, decimals=18),
        ],
    )
    long = '"' + "é" * 511 + '"'
    attempts = [
        Submission(
            f"\U0001f3c1{at}", [f"{-(2**63) + at}", "-0.000000000000000001"], NOW, "\u0639" * 128, long
        )
        for at in range(9)
    ]
    for attempt in attempts:
        submit_score(db, twin.board, attempt, now=NOW)
    name = archived(twin)
    found = [entry for entry, _ in archive_entries(db, name, 100).items]
    assert [one.score for one in found] == [(-(2**63) + at, -1) for at in range(8, -1, -1)]
    assert {(one.display_name, one.metadata, one.achieved_at) for one in found} == {
        ("\u0639" * 128, long, NOW)
    }


def test_large_texts_make_chunks_shorter(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write, "CHUNK_BYTES", 450)
    twin = Twin.make(db, boards)
    for number in range(9):
        twin.submit(f"p{number}", 5)
    name = archived(twin)
    check_archive(db, name, frozen(twin))
    assert len(list(query_records(db, name, prefix="rows "))) == 3


@pytest.mark.parametrize("step", [3, pytest.param(1, marks=pytest.mark.thorough)])
def test_writing_again_after_dying_at_any_request_leaves_one_complete_archive(
    db: Database, boards: Boards, step: int
) -> None:
    def begin() -> Twin:
        twin = Twin.make(db, boards, peak_writes_per_second=1)
        for number, score in enumerate([5, 5, 4, 4, 4, 4, 4, 4, 4, 1, 0]):
            twin.submit(f"p{number:02}", score)
        return twin

    def do(twin: Twin, dying: Database) -> None:
        archived(twin, db=dying)

    def compare(twin: Twin) -> None:
        [archive] = listed(twin)
        check_archive(db, archive.id, twin.oracle)
        assert len(list(query_records(db, archive.id, prefix="rows "))) == 3
        assert not pending_jobs(db)

    assert dying_at_each_request(db, begin, do, compare, step) > 5


def test_an_archive_is_not_readable_before_it_is_complete(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards)
    for number in range(9):
        twin.submit(f"p{number}", number)
    name = begin_archive(db, twin.board, ALL_TIME, NOW)
    part = write_archive(db, name, 0)
    assert part
    assert (part.complete, part.size) == (False, 4)
    assert listed(twin) == []
    with pytest.raises(ArchiveNotFound):
        archive_entries(db, name, 10)
    assert begin_archive(db, twin.board, ALL_TIME, NOW + timedelta(seconds=20)) == name
    assert write_archive(db, name, FOR_EVER) == write_archive(db, name, FOR_EVER) == listed(twin)[0]
    check_archive(db, name, twin.oracle)


def interrupt_reads(monkeypatch: pytest.MonkeyPatch, others: list[Callable[[], object]]) -> None:
    """Make one of these calls, the last one first, between each read of the index and what is made of it."""

    def read_while_others_work(*arguments: Any, **named: Any) -> Any:
        found = read_run(*arguments, **named)
        if others:
            others.pop()()
        return found

    monkeypatch.setattr(write, "read_run", read_while_others_work)


def test_two_processes_may_write_one_archive(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a scheduled run has not ended when the next one starts, while scores move."""
    twin = Twin.make(db, boards, peak_writes_per_second=1)
    for number in range(14):
        twin.submit(f"p{number:02}", number)
    name = begin_archive(db, twin.board, ALL_TIME, NOW)
    interrupt_reads(
        monkeypatch, [lambda: write_archive(db, name, 0), lambda: twin.submit("p13", 40, at=1)] * 2
    )
    write_archive(db, name, FOR_EVER)
    found = archive_entries(db, name, 100)
    assert [entry.participant_id for entry, _ in found.items] == [
        f"p{number:02}" for number in range(13, -1, -1)
    ]
    assert [rank.rank for _, rank in found.items] == list(range(1, 15))


def test_a_process_that_falls_behind_does_not_undo_what_others_wrote(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin = Twin.make(db, boards)
    for number in range(14):
        twin.submit(f"p{number:02}", number)
    name = begin_archive(db, twin.board, ALL_TIME, NOW)
    interrupt_reads(monkeypatch, [lambda: write_archive(db, name, FOR_EVER)])
    archive = write_archive(db, name, 0)
    assert listed(twin) == [archive]
    check_archive(db, name, twin.oracle)


def test_an_entry_that_moves_down_before_another_process_writes_is_archived(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slower process has read it at its earlier place, the faster one writes the chunk without it."""
    twin = Twin.make(db, boards, policy=ScorePolicy.LATEST)
    for number in range(14):
        twin.submit(f"p{number:02}", number)
    name = begin_archive(db, twin.board, ALL_TIME, NOW)

    def move_down_and_write() -> None:
        twin.submit("p11", -1, at=1)
        write_archive(db, name, 0)

    interrupt_reads(monkeypatch, [move_down_and_write])
    write_archive(db, name, FOR_EVER)
    check_archive(db, name, twin.oracle)


def test_an_entry_that_moves_down_meanwhile_is_archived_once(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards, policy=ScorePolicy.LATEST, peak_writes_per_second=1)
    for number in range(9):
        twin.submit(f"p{number}", number)
    name = begin_archive(db, twin.board, ALL_TIME, NOW)
    write_archive(db, name, 0)
    twin.submit("p8", 0, at=1)
    archive = write_archive(db, name, FOR_EVER)
    found = archive_entries(db, name, 100).items
    assert [entry.participant_id for entry, _ in found] == [f"p{number}" for number in range(8, -1, -1)]
    assert archive
    assert archive.size == 9
    assert all(a.score >= b.score for (a, _), (b, _) in pairwise(found))


def test_a_page_is_one_or_two_chunk_reads(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (write, read):
        monkeypatch.setattr(module, "CHUNK_ROWS", 100)
    twin = Twin.make(db, boards, peak_writes_per_second=1)
    for number in range(250):
        twin.submit(f"p{number:03}", number)
    name = archived(twin)
    token = archive_entries(db, name, 90).next_token
    with metered() as meter:
        page = archive_entries(db, name, 50, token)
    assert [entry.participant_id for entry, _ in page.items] == [f"p{249 - at:03}" for at in range(90, 140)]
    assert meter.requests <= 5  # header and progress, the chunks, pending jobs, and the last tie
    assert meter.read_units <= 8


def test_bad_input_is_refused(db: Database, boards: Boards) -> None:
    twin = Twin.make(db, boards)
    for limit in (0, -1, 10**9):
        with pytest.raises(InvalidInput, match="limit"):
            begin_archive(db, twin.board, ALL_TIME, NOW, limit=limit)
    assert not pending_jobs(db)
    for name in ("", "x", "a#b", f"{twin.standings}#end"):
        with pytest.raises(ArchiveNotFound):
            archive_entries(db, name, 10)
    twin.submit("p", 1)
    twin.submit("q", 1)
    name = archived(twin)
    with pytest.raises(InvalidInput, match="limit"):
        archive_entries(db, name, 0)
    page: Page[Any] = archive_entries(db, name, 1)
    with pytest.raises(InvalidInput, match="nextToken"):
        archive_entries(db, archived(twin, limit=1), 1, page.next_token)
    with pytest.raises(InvalidInput, match="limit"):
        archives_page(db, twin.board, 101)


def test_over_graphql(db: Database, boards: Boards) -> None:
    api = Api(db, boards)
    api.board()
    for number in range(6):
        api.submit(f"p{number}", f"{number // 2}")
    lines = "items { participant { id } score { value } rank { rank position total asOf bucket { name } } }"
    written = api.data(
        f'mutation {{ archiveLeaderboard(leaderboardId: "board") {{ id period size complete takenAt'
        f" entries(limit: 4) {{ nextToken {lines} }} }} }}"
    )
    assert (written["period"], written["size"], written["complete"]) == ("all-time", 6, True)
    assert [one["rank"]["rank"] for one in written["entries"]["items"]] == [1, 1, 3, 3]
    assert {one["rank"]["asOf"] for one in written["entries"]["items"]} == {written["takenAt"]}
    api.submit("p0", "9")
    found = api.data(
        f'query ($after: String) {{ leaderboard(id: "board") {{ archives {{ nextToken items {{ id size'
        f" entries(limit: 4, nextToken: $after) {{ nextToken {lines} }} }} }} }} }}",
        after=written["entries"]["nextToken"],
    )
    [archive] = found["archives"]["items"]
    assert archive["id"] == written["id"]
    assert [one["participant"]["id"] for one in archive["entries"]["items"]] == ["p0", "p1"]
    assert [one["rank"]["rank"] for one in archive["entries"]["items"]] == [5, 5]
