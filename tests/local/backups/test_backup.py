"""Export, import, backup, restore: what comes back is what went out, also where a run died on its way."""

import gzip
import json
import uuid
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from core.archives.read import archive_entries, archives_page
from core.archives.write import begin_archive, write_archive
from core.boards import Boards
from core.counters.cache import CounterCache
from core.domain.board import ComponentInput
from core.domain.errors import EntryRemoved
from core.domain.model import Board, CounterMode, Entry, PeriodKind, ScoreKind, ScorePolicy, SortOrder
from core.maintenance import PERIOD_END_HOOKS, Maintenance
from core.moderation.forget import forget_participant
from core.moderation.moderate import hide_entry, remove_entry, restore_entry
from core.ranking.queries import entries, size
from core.ranking.ranks import rank_entries
from core.records.audit import AuditContext, all_records
from core.storage.database import Database, Tables, connect
from core.storage.tables import create_tables
from core.submissions.submit import Submission, submit_score
from core.upkeep.period_ends import call_period_end_hooks
from local.backups import backup
from local.backups.backup import back_up, restore
from local.commands import export
from local.commands import import_file as import_file_command
from local.errors import StackError
from local.stack.engine import Engine
from local.stack.stream_reader import StreamReader, connect_streams
from local.stack.target import Stack
from tests.core.upkeep.test_deletion import scan
from tests.support.dying import Killed, MortalClient
from tests.support.twin import ALL_TIME, NOW, Twin, submit_to

DEED = AuditContext("ops", NOW, "why")


@pytest.fixture
def stack(db: Database, boards: Boards) -> Stack:
    return stack_of(db, boards)


@pytest.fixture
def other(engine: Engine) -> Iterator[Stack]:
    """A second, empty stack."""
    tables = Tables.with_prefix(f"other-{uuid.uuid4().hex[:12]}")
    db = connect(
        tables, region="us-east-1", endpoint_url=engine.endpoint, access_key="local", secret_key="local"
    )
    create_tables(db)
    yield stack_of(db, Boards(db, cache_seconds=0))
    for name in (tables.scores, tables.counters, tables.boards, tables.records, tables.receipts):
        db.client.delete_table(TableName=name)


def stack_of(db: Database, boards: Boards) -> Stack:
    reader = StreamReader(db, boards, connect_streams(db))
    return Stack(db, boards, reader.drain, reader.run)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Runs a command's function on a stack."""

    def run(func: Callable[[Namespace], int], stack: Stack, /, **arguments: Any) -> int:
        @contextmanager
        def opened(*_: object, **__: object) -> Iterator[Stack]:
            yield stack

        for module in (export, import_file_command, backup):
            monkeypatch.setattr(module, "opened", opened)
        return func(Namespace(**arguments))

    return run


def import_file(run: Callable[..., int], stack: Stack, file: Path, board: Board, **options: Any) -> int:
    from local.cli import _parser

    args = _parser().parse_args(["import", str(file), "--board", board.id])
    return run(import_file_command.run, stack, **{**vars(args), **options})


def lines(db: Database, board: Board, period: str = ALL_TIME) -> list[tuple[Any, ...]]:
    found: list[Entry] = list(entries(db, board, period, 1000).items)
    without_foreign_shard = rank_entries(db, board, period, found)
    return [
        (one.participant_id, one.score, one.achieved_at, one.display_name, one.metadata, rank and rank.rank)
        for one, rank in zip(found, without_foreign_shard, strict=True)
    ]


ODD = ["a,b", 'q"q', " padded ", "\u202eleft", "\U0001f3c1", "=1+1", "null", "é"]


@pytest.mark.parametrize("file_format", ["csv", "jsonl"])
@pytest.mark.parametrize("composite", [False, True])
def test_what_is_exported_and_imported_is_the_same_to_the_last_digit(
    stack: Stack, run: Callable[..., int], tmp_path: Path, file_format: str, composite: bool
) -> None:
    db, boards, drain, _ = stack
    kinds = [ScoreKind.DECIMAL, ScoreKind.DURATION, ScoreKind.TIMESTAMP] if composite else [ScoreKind.INTEGER]
    components = [
        ComponentInput(f"c, {at}", kind, SortOrder.ASCENDING if at else SortOrder.DESCENDING)
        for at, kind in enumerate(kinds)
    ]
    source, copy = (Twin.make(db, boards, components=components).board for _ in range(2))
    for at, name in enumerate(ODD):
        score = [str(2**62 + at)]
        if composite:
            score = [f"-{at}.25", f"{at}:00:01.001", f"2026-11-30T12:00:0{at}.123Z"]
        metadata = [None, '{"a":1}', "[1]", '"text"', "3.10", '{"b":"ü"}', "true", '{"c":"a,b"}'][at]
        submit_score(
            db,
            source,
            Submission(name, score, NOW.replace(microsecond=at), name, metadata),
            now=NOW.replace(hour=23),
        )
    drain()
    file = tmp_path / f"board.{file_format}"
    assert (
        run(export.run, stack, board=source.id, archive=None, period="all-time", format=None, output=file)
        == 0
    )
    options = {"score": ["score1", "score2", "score3"]} if composite and file_format == "csv" else {}
    assert import_file(run, stack, file, copy, **options) == 0
    drain()
    assert lines(db, copy) == lines(db, source)
    assert not list(tmp_path.glob("*.part"))


def test_an_archive_is_exported_as_it_was(stack: Stack, run: Callable[..., int], tmp_path: Path) -> None:
    db, boards, *_ = stack
    twin, copy = Twin.make(db, boards), Twin.make(db, boards)
    for number in range(5):
        twin.submit(f"p{number}", number)
    name = begin_archive(db, twin.board, ALL_TIME, NOW)
    write_archive(db, name, 1e9)
    then = lines(db, twin.board)
    twin.submit("p0", 9, at=1)
    file = tmp_path / "archive.jsonl"
    run(export.run, stack, board=None, archive=name, period="all-time", format=None, output=file)
    import_file(run, stack, file, copy.board)
    assert lines(db, copy.board) == then


def fill(db: Database, boards: Boards) -> list[Board]:
    made = [
        Twin.make(
            db, boards, id="sums", policy=ScorePolicy.SUM, periods=[PeriodKind.ALL_TIME, PeriodKind.DAILY]
        ),
        Twin.make(db, boards, id="best", counter_mode=CounterMode.TRANSACTIONAL, peak_writes_per_second=1),
        Twin.make(db, boards, id="empty"),
    ]
    for number in range(8):
        for at in range(2):
            submit_to(db, made[0].board, f"p{number}", (number + at,), NOW)
        submit_to(db, made[1].board, f"p{number}", (number // 2,), NOW)
    hide_entry(db, made[0].board, "p3", DEED)
    remove_entry(db, made[0].board, "p4", DEED)
    write_archive(db, begin_archive(db, made[0].board, ALL_TIME, NOW), 1e9)
    boards.close("best", DEED)
    return [boards.get(twin.board.id) for twin in made]


def check_restored(stack: Stack, other: Stack, made: list[Board]) -> None:
    for board in made:
        assert other.boards.get(board.id) == board
        for period in [ALL_TIME, *(["daily-2026-11-30"] if board.id == "sums" else [])]:
            assert lines(other.db, board, period) == lines(stack.db, board, period)
            assert size(other.db, board, period) == size(stack.db, board, period)
        assert list(all_records(other.db, board.id)) == list(all_records(stack.db, board.id))
    sums = made[0]
    [archive] = archives_page(other.db, sums, 10).items
    assert archive_entries(other.db, archive.id, 100) == archive_entries(stack.db, archive.id, 100)
    with pytest.raises(EntryRemoved):
        submit_to(other.db, sums, "p4", (1,), NOW)
    where = lines(stack.db, sums), lines(other.db, sums)
    for one in (stack, other):
        restore_entry(one.db, sums, "p3", DEED)
        one.drain()
    assert lines(stack.db, sums) == lines(other.db, sums) != where[0]


def written(db: Database) -> list[str]:
    """All that is truth, however it came there: without the times of writing and what a restore notes."""
    return sorted(
        repr(sorted((name, value) for name, value in item.items() if name != "written_at"))
        for table in (db.tables.scores, db.tables.boards, db.tables.records)
        for item in scan(db, table)
        if not str(item.get("record_set", "")).startswith("{'S': '~restore")
    )


@pytest.mark.thorough  # making counters anew for writers that count for themselves takes half a minute
def test_a_restored_stack_has_the_same_ranks(stack: Stack, other: Stack, tmp_path: Path) -> None:
    made = fill(stack.db, stack.boards)
    stack.drain()
    parts = back_up(stack.db, tmp_path)
    assert all(part.complete for part in parts)
    assert restore(other, tmp_path)[0] == 3
    assert written(other.db) == written(stack.db)
    check_restored(stack, other, made)


def streamed(db: Database, boards: Boards) -> list[Board]:
    """As `fill`, but for what has to be counted anew."""
    made = fill(db, boards)
    boards.delete("best", DEED)
    return made[:1]


def complete(folder: Path) -> set[str]:
    state = folder / "backup.json"
    parts = json.loads(state.read_text())["parts"] if state.exists() else []
    return {backup.Part(**part).file for part in parts if part["complete"]}


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_backup_that_dies_anywhere_goes_on_and_is_whole(
    stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    streamed(stack.db, stack.boards)
    whole = None
    for dies_at in range(1, 20, step):
        for after in (False, True):
            folder = tmp_path / f"{dies_at}-{after}"
            mortal = Database(
                MortalClient(stack.db.client, dies_at, after=after), stack.db.tables, CounterCache()
            )  # type: ignore[arg-type]
            with suppress(Killed):
                back_up(mortal, folder)
            for path in folder.glob("*.gz"):  # as a killed write leaves it
                if path.name not in complete(folder):
                    path.write_bytes(path.read_bytes() + b"torn")
            back_up(stack.db, folder)
            items = {
                path.name: gzip.decompress(path.read_bytes()) for path in sorted(folder.glob("*.jsonl.gz"))
            }
            whole = whole or items
            assert items == whole


@pytest.mark.parametrize("step", [41, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_restore_that_dies_anywhere_goes_on_and_ends_exact(
    stack: Stack, other: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    made = streamed(stack.db, stack.boards)
    stack.drain()
    back_up(stack.db, tmp_path)
    monkeypatch.setattr(backup, "_NOTE_EVERY", 5)
    expected = written(stack.db)
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
        boards_there = scan(other.db, other.db.tables.boards)
        if mortal.requests >= dies_at:
            assert all('"closed":true' in item["definition"]["S"] for item in boards_there) or dies_at > 20
        with suppress(StackError):  # it may have died with the last request
            restore(other, tmp_path)
        assert written(other.db) == expected
    check_restored(stack, other, made)


def replace_db(stack: Stack, db: Database) -> Stack:
    return stack._replace(db=db, drain=lambda: None)


def test_a_spoilt_backup_is_not_restored(stack: Stack, other: Stack, tmp_path: Path) -> None:
    streamed(stack.db, stack.boards)
    with pytest.raises(StackError, match="no backup"):
        restore(other, tmp_path)
    back_up(stack.db, tmp_path)
    state = json.loads((tmp_path / "backup.json").read_text())
    unfinished = replace(backup.Part(**state["parts"][-1]), complete=False)
    (tmp_path / "backup.json").write_text(
        json.dumps(state | {"parts": [*state["parts"][:-1], vars(unfinished)]})
    )
    with pytest.raises(StackError, match="not complete"):
        restore(other, tmp_path)
    (tmp_path / "backup.json").write_text(json.dumps(state))
    spoilt = tmp_path / "scores-0.jsonl.gz"
    spoilt.write_bytes(spoilt.read_bytes()[:-1] + b"x")
    with pytest.raises(StackError, match="not as it was written"):
        restore(other, tmp_path)
    assert scan(other.db, other.db.tables.boards) == []


def test_nothing_is_restored_over_a_board_that_is_there(stack: Stack, other: Stack, tmp_path: Path) -> None:
    streamed(stack.db, stack.boards)
    back_up(stack.db, tmp_path)
    Twin.make(other.db, other.boards, id="sums")
    with pytest.raises(StackError, match="has a board 'sums' already"):
        restore(other, tmp_path)
    with pytest.raises(StackError, match="already"):
        restore(stack, tmp_path)
    assert scan(other.db, other.db.tables.scores) == []


def test_after_a_restore_records_of_before_and_of_the_backup_can_be_forgotten(
    stack: Stack, other: Stack, tmp_path: Path
) -> None:
    streamed(stack.db, stack.boards)
    back_up(stack.db, tmp_path)
    there = Twin.make(other.db, other.boards, id="there").board
    submit_to(other.db, there, "p4", (1,), NOW)
    hide_entry(other.db, there, "p4", AuditContext("ops", NOW, "p4 cheats"))
    restore(other, tmp_path)
    assert [one.participant_id for one in all_records(other.db, "there")] == ["p4"]
    assert "p4" in [one.participant_id for one in all_records(other.db, "sums")]
    fresh = Database(other.db.client, other.db.tables)
    forget_participant(fresh, other.boards, "p4", DEED)
    for board_id in ("there", "sums"):
        records = list(all_records(other.db, board_id))
        assert "p4" not in repr(records)
        assert any(one.participant_id is None and one.participant_hash for one in records)


def test_what_is_not_whole_yet_is_not_archived_while_it_is_restored(
    stack: Stack, other: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by a job that came with the backup, nor because a period has ended meanwhile."""
    daily = Twin.make(stack.db, stack.boards, id="daily", periods=[PeriodKind.ALL_TIME, PeriodKind.DAILY])
    for number in range(20):
        submit_to(stack.db, daily.board, f"p{number}", (number,), NOW)
    stack.drain()
    asked = begin_archive(stack.db, daily.board, ALL_TIME, NOW)
    back_up(stack.db, tmp_path)

    def maintain() -> None:
        Maintenance(other.db, other.boards).run(1e9)
        call_period_end_hooks(other.db, other.boards, NOW + timedelta(days=3), PERIOD_END_HOOKS)

    write_part = backup._write_part

    def interrupted(*args: Any) -> None:
        write_part(*args)
        maintain()

    monkeypatch.setattr(backup, "_write_part", interrupted)
    restore(other, tmp_path)
    for _ in range(2):
        maintain()
    archives = archives_page(other.db, daily.board, 10).items
    assert {one.period: one.size for one in archives} == {ALL_TIME: 20, "daily-2026-11-30": 20}
    assert asked in [one.id for one in archives]
    assert [board.id for board in other.boards.page(10).items] == ["daily"]
