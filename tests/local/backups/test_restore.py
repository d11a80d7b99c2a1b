"""A restored stack is as the one backed up, also if the restore was killed on the way."""

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from core.archives.read import archive_entries, archives_page
from core.archives.write import begin_archive
from core.domain.errors import EntryRemoved
from core.domain.model import Board, PeriodKind
from core.maintenance import Maintenance
from core.moderation.forget import forget_participant
from core.moderation.moderate import hide_entry, restore_entry
from core.ranking.queries import size
from core.records.audit import AuditContext, all_records
from core.storage.database import Database, batch_write
from core.upkeep.period_ends import call_period_end_hooks
from local.backups import restore as restoring
from local.backups import retries
from local.backups.restore import restore
from local.backups.state import Part
from local.backups.write import back_up
from local.errors import StackError
from local.stack.target import Stack
from tests.core.upkeep.test_deletion import scan
from tests.support.dying import Killed, MortalClient
from tests.support.stacks import BY_OPS, entry_lines, fill_boards, fill_streamed_board
from tests.support.twin import ALL_TIME, NOW, Twin, submit_to


def check_restored(stack: Stack, other: Stack, boards: list[Board]) -> None:
    for board in boards:
        assert other.boards.get(board.id) == board
        for period in [ALL_TIME, *(["daily-2026-11-30"] if board.id == "sums" else [])]:
            assert entry_lines(other.db, board, period) == entry_lines(stack.db, board, period)
            assert size(other.db, board, period) == size(stack.db, board, period)
        assert list(all_records(other.db, board.id)) == list(all_records(stack.db, board.id))
    sums = boards[0]
    [archive] = archives_page(other.db, sums, 10).items
    assert archive_entries(other.db, archive.id, 100) == archive_entries(stack.db, archive.id, 100)
    with pytest.raises(EntryRemoved):
        submit_to(other.db, sums, "p4", (1,), NOW)
    while_hidden = entry_lines(stack.db, sums)
    for each in (stack, other):
        restore_entry(each.db, sums, "p3", BY_OPS)
        each.drain()
    assert entry_lines(stack.db, sums) == entry_lines(other.db, sums) != while_hidden


def stored(db: Database) -> list[str]:
    """Return all items that are not derived, without times of writing and the restore's own records."""
    return sorted(
        repr(sorted((name, value) for name, value in item.items() if name != "written_at"))
        for table in (db.tables.scores, db.tables.boards, db.tables.records)
        for item in scan(db, table)
        if not str(item.get("record_set", "")).startswith("{'S': '~restore")
    )


@pytest.mark.thorough  # the rebuild of a TRANSACTIONAL board takes half a minute
def test_a_restored_stack_has_the_same_ranks(stack: Stack, other: Stack, tmp_path: Path) -> None:
    boards = fill_boards(stack.db, stack.boards)
    stack.drain()
    parts = back_up(stack.db, tmp_path)
    assert all(part.complete for part in parts)
    assert restore(other, tmp_path)[0] == 3
    assert stored(other.db) == stored(stack.db)
    check_restored(stack, other, boards)


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_restore_killed_at_any_request_resumes_and_is_exact(
    stack: Stack, other: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    boards = fill_streamed_board(stack.db, stack.boards)
    stack.drain()
    back_up(stack.db, tmp_path)
    monkeypatch.setattr(restoring, "_ITEMS_BETWEEN_SAVES", 5)
    expected = stored(stack.db)
    for dies_at in range(1, 60, step):
        for table in ("scores", "counters", "boards", "records"):
            for item in scan(other.db, getattr(other.db.tables, table)):
                keys = {"scores": ("participant", "standings"), "counters": ("standings", "node")}
                names = keys.get(table, ("board",) if table == "boards" else ("record_set", "record_id"))
                other.db.client.delete_item(
                    TableName=getattr(other.db.tables, table), Key={name: item[name] for name in names}
                )
        other.drain()
        mortal = MortalClient(other.db.client, dies_at, after=bool(dies_at % 2))
        db = Database(mortal, other.db.tables)  # type: ignore[arg-type]
        with suppress(Killed):
            restore(replace_db(other, db), tmp_path)
        board_items = scan(other.db, other.db.tables.boards)
        if mortal.requests >= dies_at:
            assert all('"closed":true' in item["definition"]["S"] for item in board_items) or dies_at > 20
        with suppress(StackError):  # the last request may have been the one it was killed at
            restore(other, tmp_path)
        assert stored(other.db) == expected
    check_restored(stack, other, boards)


def replace_db(stack: Stack, db: Database) -> Stack:
    return stack._replace(db=db, drain=lambda: None)


def test_a_damaged_backup_is_not_restored(stack: Stack, other: Stack, tmp_path: Path) -> None:
    fill_streamed_board(stack.db, stack.boards)
    with pytest.raises(StackError, match="no readable backup"):
        restore(other, tmp_path)
    back_up(stack.db, tmp_path)
    state = json.loads((tmp_path / "backup.json").read_text())
    unfinished = replace(Part(**state["parts"][-1]), complete=False)
    (tmp_path / "backup.json").write_text(
        json.dumps(state | {"parts": [*state["parts"][:-1], vars(unfinished)]})
    )
    with pytest.raises(StackError, match="not complete"):
        restore(other, tmp_path)
    (tmp_path / "backup.json").write_text(json.dumps(state))
    damaged = tmp_path / "scores-0.jsonl.gz"
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    with pytest.raises(StackError, match="not as it was written"):
        restore(other, tmp_path)
    assert scan(other.db, other.db.tables.boards) == []


def test_a_restore_replaces_no_board(stack: Stack, other: Stack, tmp_path: Path) -> None:
    fill_streamed_board(stack.db, stack.boards)
    back_up(stack.db, tmp_path)
    Twin.make(other.db, other.boards, id="sums")
    with pytest.raises(StackError, match="has a board 'sums' already"):
        restore(other, tmp_path)
    with pytest.raises(StackError, match="already"):
        restore(stack, tmp_path)
    assert scan(other.db, other.db.tables.scores) == []


def test_forget_finds_records_of_both_stacks_after_a_restore(
    stack: Stack, other: Stack, tmp_path: Path
) -> None:
    fill_streamed_board(stack.db, stack.boards)
    back_up(stack.db, tmp_path)
    existing = Twin.make(other.db, other.boards, id="existing").board
    submit_to(other.db, existing, "p4", (1,), NOW)
    hide_entry(other.db, existing, "p4", AuditContext("ops", NOW, "p4 cheats"))
    restore(other, tmp_path)
    assert [record.participant_id for record in all_records(other.db, "existing")] == ["p4"]
    assert "p4" in [record.participant_id for record in all_records(other.db, "sums")]
    fresh = Database(other.db.client, other.db.tables)
    forget_participant(fresh, other.boards, "p4", BY_OPS)
    for board_id in ("existing", "sums"):
        records = list(all_records(other.db, board_id))
        assert "p4" not in repr(records)
        assert any(record.participant_id is None and record.participant_hash for record in records)


def test_no_archive_is_made_of_incomplete_standings(
    stack: Stack, other: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by a job of the backup nor because a period ended during the restore."""
    daily = Twin.make(stack.db, stack.boards, id="daily", periods=[PeriodKind.ALL_TIME, PeriodKind.DAILY])
    for number in range(20):
        submit_to(stack.db, daily.board, f"p{number}", (number,), NOW)
    stack.drain()
    requested = begin_archive(stack.db, daily.board, ALL_TIME, NOW)
    back_up(stack.db, tmp_path)

    def maintain() -> None:
        Maintenance(other.db, other.boards).run(1e9)
        call_period_end_hooks(other.db, NOW + timedelta(days=3), 60)

    write_part = restoring._write_part

    def interrupted(*args: Any) -> None:
        write_part(*args)
        maintain()

    monkeypatch.setattr(restoring, "_write_part", interrupted)
    restore(other, tmp_path)
    for _ in range(2):
        maintain()
    archives = archives_page(other.db, daily.board, 10).items
    assert {archive.period: archive.size for archive in archives} == {ALL_TIME: 20, "daily-2026-11-30": 20}
    assert requested in [archive.id for archive in archives]
    assert [board.id for board in other.boards.page(10).items] == ["daily"]


@pytest.mark.parametrize(
    "fault",
    [
        ReadTimeoutError(endpoint_url="http://localhost"),
        ClientError({"Error": {}, "ResponseMetadata": {"HTTPStatusCode": 503}}, "Scan"),  # type: ignore[typeddict-item]
    ],
)
def test_outages_are_retried(
    stack: Stack, other: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    (board,) = fill_streamed_board(stack.db, stack.boards)
    stack.drain()
    time_outs = iter(range(3))

    def may_time_out(step: Callable[..., Any]) -> Callable[..., Any]:
        def attempt(*args: Any, **kwargs: Any) -> Any:
            if next(time_outs, None) is not None:
                raise fault
            return step(*args, **kwargs)

        return attempt

    monkeypatch.setattr(retries, "back_off", lambda *_, **__: None)
    monkeypatch.setattr(stack.db.client, "scan", may_time_out(stack.db.client.scan))
    back_up(stack.db, tmp_path)
    time_outs = iter(range(3))
    monkeypatch.setattr(restoring, "batch_write", may_time_out(batch_write))
    restore(other, tmp_path)
    assert next(time_outs, None) is None
    check_restored(stack, other, [board])
