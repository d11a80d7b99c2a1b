"""Stacks, and boards to back up, restore, export and import."""

from typing import Any

from core.archives.write import begin_archive, write_archive
from core.boards import Boards
from core.domain.model import Board, CounterMode, Entry, PeriodKind, ScorePolicy
from core.moderation.moderate import hide_entry, remove_entry
from core.ranking.pages import entries
from core.ranking.ranks import rank_entries
from core.records.audit import AuditContext
from core.storage.database import Database
from local.stack.stream_reader import StreamReader, connect_streams
from local.stack.target import Stack
from tests.support.twin import ALL_TIME, NOW, Twin, submit_to

BY_OPS = AuditContext("ops", NOW, "why")


def stack_of(db: Database, boards: Boards) -> Stack:
    reader = StreamReader(db, boards, connect_streams(db))
    return Stack(db, boards, reader.drain, reader.run)


def entry_lines(db: Database, board: Board, period: str = ALL_TIME) -> list[tuple[Any, ...]]:
    """Return what participants see of the entries, with their ranks, best first."""
    found: list[Entry] = list(entries(db, board, period, 1000).items)
    return [
        (
            entry.participant_id,
            entry.score,
            entry.achieved_at,
            entry.display_name,
            entry.metadata,
            rank and rank.rank,
        )
        for entry, rank in zip(found, rank_entries(db, board, period, found), strict=True)
    ]


def fill_boards(db: Database, boards: Boards) -> list[Board]:
    """Make boards of different kinds with moderated entries, an archive and audit records."""
    twins = [
        Twin.make(
            db, boards, id="sums", policy=ScorePolicy.SUM, periods=[PeriodKind.ALL_TIME, PeriodKind.DAILY]
        ),
        Twin.make(db, boards, id="best", counter_mode=CounterMode.TRANSACTIONAL, peak_writes_per_second=1),
        Twin.make(db, boards, id="empty"),
    ]
    for number in range(8):
        for at in range(2):
            submit_to(db, twins[0].board, f"p{number}", (number + at,), NOW)
        submit_to(db, twins[1].board, f"p{number}", (number // 2,), NOW)
    hide_entry(db, twins[0].board, "p3", BY_OPS)
    remove_entry(db, twins[0].board, "p4", BY_OPS)
    write_archive(db, begin_archive(db, twins[0].board, ALL_TIME, NOW), 1e9)
    boards.close("best", BY_OPS)
    return [boards.get(twin.board.id) for twin in twins]


def fill_streamed_board(db: Database, boards: Boards) -> list[Board]:
    """Like `fill_boards`, without the board whose restore takes a rebuild."""
    filled = fill_boards(db, boards)
    boards.delete("best", BY_OPS)
    return filled[:1]
