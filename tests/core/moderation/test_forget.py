"""Forget a participant: nothing names them any more, and nobody else's rank has moved."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from core.archives.items import read_archive
from core.archives.read import archive_entries
from core.archives.rows import unpack
from core.archives.write import begin_archive, write_archive
from core.boards import Boards
from core.domain.errors import EntryRemoved, InvalidInput
from core.domain.model import PeriodKind
from core.maintenance import Maintenance
from core.moderation import forget
from core.moderation.forget import erase_from_archives, forget_participant
from core.moderation.moderate import hide_entry
from core.records.audit import AuditContext, all_records, participant_hash
from core.records.jobs import Job, pending_jobs
from core.storage.database import Database
from core.submissions.submit import Submission, submit_score
from tests.core.upkeep.test_deletion import scan
from tests.support.dying import dying_at_each_request, fresh_boards
from tests.support.graphql_api import Api
from tests.support.twin import ALL_TIME, NOW, Twin, submit_to

Drain = Callable[[], int]
WHO = "Zoë of the hill"
AUDIT = AuditContext("ops", NOW + timedelta(hours=1), "asked by letter")


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.archives.read.INDEX_LAG", timedelta(0))
    monkeypatch.setattr("core.moderation.forget.INDEX_LAG", timedelta(0))


def mentions(db: Database, text: str) -> list[dict[str, Any]]:
    """Every item of any table that holds a text, in a key, a value, or a chunk of an archive."""
    found = []
    for table in (db.tables.scores, db.tables.counters, db.tables.records, db.tables.receipts):
        for item in scan(db, table):
            shown = repr(item).encode() + (
                repr(unpack(bytes(item["rows"]["B"]))).encode() if "rows" in item else b""
            )
            if text.encode() in shown or repr(text.encode())[2:-1].encode() in shown:
                found.append(item)
    return found


def finish(db: Database, boards: Boards) -> None:
    for _ in range(20):
        for _, name, item in pending_jobs(db, Job.FORGET):
            erase_from_archives(db, boards, name, item, 1e9)
        if not pending_jobs(db, Job.FORGET):
            return
    raise AssertionError("the job does not end")


def begin(db: Database, boards: Boards) -> tuple[Twin, str]:
    twin = Twin.make(db, boards, peak_writes_per_second=1)
    for number, name in enumerate(["a", WHO, "b", "c"]):
        twin.submit(name, number // 2, at=number)
    named = Submission(WHO, ["9"], NOW + timedelta(seconds=9), display_name="Zoë", metadata='{"mail":"z@x"}')
    submit_score(db, twin.board, named, now=NOW + timedelta(minutes=1))
    twin.oracle.submit(WHO, (9,), NOW + timedelta(seconds=9))
    name = begin_archive(db, twin.board, ALL_TIME, NOW)
    write_archive(db, name, 1e9)
    hide_entry(db, twin.board, WHO, AuditContext("ops", NOW, "Zoë cheats"))
    twin.oracle.hidden.add(WHO)
    return twin, name


def test_background_work_finishes_what_was_interrupted(
    db: Database, boards: Boards, drain: Drain, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin(db, boards)
    other = Twin.make(db, boards, id="other", peak_writes_per_second=1)
    other.submit(WHO, 5)
    gone = Twin.make(db, boards, id="gone", peak_writes_per_second=1)
    gone.submit(WHO, 5)
    boards.delete("gone", AUDIT)
    erase = forget._erase_entry
    left = [1]

    def die_at_the_second(*of: Any) -> bool:
        if not left:
            raise ConnectionError
        left.pop()
        return erase(*of)

    monkeypatch.setattr(forget, "_erase_entry", die_at_the_second)
    asked = AuditContext("ops", datetime.now(UTC), "asked by letter")
    with pytest.raises(ConnectionError):
        forget_participant(db, boards, WHO, asked)
    monkeypatch.undo()
    later = asked.at + timedelta(seconds=1)
    time.sleep(0.005)  # written after that: a new entry of the same participant
    third = Twin.make(db, boards, id="third", peak_writes_per_second=1)
    submit_score(db, third.board, Submission(WHO, ["5"], later, display_name="Zoë again"), now=later)
    assert mentions(db, "z@x")
    while Maintenance(db, fresh_boards(db)).run(5.0)[1]:
        drain()
    assert not mentions(db, "z@x")
    assert [item["standings"]["S"] for item in mentions(db, "Zoë") if "rank_key" in item] == [third.standings]
    assert not pending_jobs(db)


def check_forgotten(db: Database, twin: Twin, archive: str) -> None:
    twin.oracle.hidden.discard(WHO)
    was = twin.oracle.ranked()
    found = archive_entries(db, archive, 100).items
    shown = [("" if one.participant == WHO else one.participant, one.score, one.achieved_at) for one in was]
    assert [(one.participant_id, one.score, one.achieved_at) for one, _ in found] == shown
    assert [rank.rank for _, rank in found] == [
        place.rank for one in was if (place := twin.oracle.place(one.participant))
    ]
    twin.oracle.remove(WHO)


def test_reports_18_erasure_covers_boards_periods_archives_and_records(
    db: Database, boards: Boards, drain: Drain
) -> None:
    twin, archive = begin(db, boards)
    timed = Twin.make(db, boards, periods=list(PeriodKind))
    submit_to(db, timed.board, WHO, (1,), NOW)
    drain()
    assert mentions(db, "Zoë")
    assert forget_participant(db, boards, WHO, AUDIT) == 5
    drain()
    # Readers leave the name out even before the archives are rewritten.
    assert WHO not in [one.participant_id for one, _ in archive_entries(db, archive, 10).items]
    finish(db, boards)
    check_forgotten(db, twin, archive)
    twin.check()
    # The id alone stays, to refuse late retries, until TTL deletes it; and in movers, until the next pass.
    left_over = [
        item for item in mentions(db, "Zoë") if not item.get("node", {"S": ""})["S"].startswith("movers:")
    ]
    assert all("expires_at" in item for item in left_over)
    allowed = {
        "participant",
        "standings",
        "version",
        "removed_at",
        "write_id",
        "expires_at",
        "record_set",
        "record_id",
        "is_hidden",
    }
    assert set().union(*left_over) <= allowed
    assert mentions(db, "z@x") == []
    with pytest.raises(EntryRemoved):
        submit_to(db, twin.board, WHO, (99,), NOW + timedelta(minutes=5))


def test_the_record_survives_without_the_name(db: Database, boards: Boards) -> None:
    twin, _ = begin(db, boards)
    forget_participant(db, boards, WHO, AUDIT)
    [record] = all_records(db, twin.board.id)
    assert (record.action.value, record.actor, record.at) == ("HIDE", "ops", NOW)
    assert (record.participant_id, record.reason) == (None, None)
    [forgotten] = all_records(db, None)
    assert (forgotten.action.value, forgotten.actor, forgotten.at) == ("FORGET", "ops", AUDIT.at)
    # An operator who is given the id again can find out when it was forgotten.
    assert forgotten.participant_hash == record.participant_hash == participant_hash(db, WHO)


@pytest.mark.parametrize("step", [8, pytest.param(1, marks=pytest.mark.thorough)])
def test_forgetting_again_completes_what_died_at_any_request(db: Database, boards: Boards, step: int) -> None:
    def do(subject: tuple[Twin, str], dying: Database) -> None:
        forget_participant(dying, fresh_boards(dying), WHO, AUDIT)
        finish(dying, fresh_boards(dying))

    def compare(subject: tuple[Twin, str]) -> None:
        twin, archive = subject
        check_forgotten(db, twin, archive)
        twin.check_pages(10)
        assert [one.participant_id for one in all_records(db, twin.board.id)] == [None]
        assert pending_jobs(db) == []
        db.client.delete_item(TableName=db.tables.boards, Key={"board": {"S": twin.board.id}})

    assert dying_at_each_request(db, lambda: begin(db, boards), do, compare, step) > 3


def test_an_archive_being_written_is_erased_from_once_it_is_complete(db: Database, boards: Boards) -> None:
    twin, _ = begin(db, boards)
    twin.restore(WHO)
    late = begin_archive(db, twin.board, ALL_TIME, NOW + timedelta(minutes=30))
    write_archive(db, late, 0)
    assert read_archive(db, late)
    forget_participant(db, boards, WHO, AUDIT)
    [(_, name, item)] = pending_jobs(db, Job.FORGET)
    assert not erase_from_archives(db, boards, name, item, 1e9)
    maintenance = Maintenance(db, fresh_boards(db))
    for _ in range(5):
        maintenance.run(1e9)
    assert pending_jobs(db) == []
    assert WHO not in [one.participant_id for one, _ in archive_entries(db, late, 10).items]


def test_an_archive_completed_behind_the_round_over_the_boards_is_not_missed(
    db: Database, boards: Boards
) -> None:
    twin, _ = begin(db, boards)
    twin.restore(WHO)
    others = [Twin.make(db, boards) for _ in range(3)]
    late = begin_archive(db, twin.board, ALL_TIME, NOW + timedelta(minutes=30))
    write_archive(db, late, 0)
    forget_participant(db, boards, WHO, AUDIT)

    def go_on() -> None:
        [(_, name, item)] = pending_jobs(db, Job.FORGET)
        erase_from_archives(db, boards, name, item, -1)  # one board

    while twin.board.id > max(
        item.get("after", {"S": ""})["S"] for _, _, item in pending_jobs(db, Job.FORGET)
    ):
        go_on()
    write_archive(db, late, 1e9)
    assert len(others) == 3
    for _ in range(20):
        if pending_jobs(db, Job.FORGET):
            go_on()
    assert pending_jobs(db) == []
    assert WHO not in [one.participant_id for one, _ in archive_entries(db, late, 10).items]


def test_a_participant_on_no_board_can_be_forgotten(db: Database, boards: Boards) -> None:
    assert forget_participant(db, boards, "nobody", AUDIT) == 0
    assert forget_participant(db, boards, "nobody", AUDIT) == 0
    with pytest.raises(InvalidInput):
        forget_participant(db, boards, "", AUDIT)


def test_over_graphql(db: Database, boards: Boards) -> None:
    api = Api(db, boards)
    api.board()
    api.submit("ann", "5")
    api.submit("bob", "4")
    api.data('mutation { archiveLeaderboard(leaderboardId: "board") { id } }')
    assert api.data('mutation { forgetParticipant(id: "ann") { id entriesRemoved } }') == {
        "id": "ann",
        "entriesRemoved": 1,
    }
    found = api.data(
        '{ leaderboard(id: "board") { entry(participantId: "ann") { hidden }'
        " archives { items { size entries { items { participant { id displayName } rank { rank } } } } } } }"
    )
    assert found["entry"] is None
    [archive] = found["archives"]["items"]
    assert [(one["participant"]["id"], one["rank"]["rank"]) for one in archive["entries"]["items"]] == [
        ("", 1),
        ("bob", 2),
    ]


def test_a_participant_who_comes_back_is_in_later_archives(db: Database, boards: Boards) -> None:
    twin, early = begin(db, boards)
    forget_participant(db, boards, WHO, AUDIT)
    submit_to(db, twin.board, WHO, (3,), AUDIT.at + timedelta(hours=1))
    late = begin_archive(db, twin.board, ALL_TIME, AUDIT.at + timedelta(hours=2))
    write_archive(db, late, 1e9)

    def shown(name: str) -> bool:
        return WHO in [one.participant_id for one, _ in archive_entries(db, name, 10).items]

    assert (shown(early), shown(late)) == (False, True)
    finish(db, boards)
    assert (shown(early), shown(late)) == (False, True)
