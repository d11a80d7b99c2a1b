"""`leaderboard find`: say who is at a position, what rank a score would take, what to reach for a share."""

import argparse
import sys
from datetime import UTC, datetime

from core.domain.model import Board, Entry, Rank
from core.domain.periods import ALL_TIME, resolve_period
from core.domain.scores import display
from core.ranking import ranks, seek
from core.storage.database import Database
from local.console import add_json, print_table
from local.stack.target import add_target, opened

_COLUMNS = {
    "rank": "rank",
    "of": "of",
    "score": "score",
    "participant": "participant",
    "displayName": "name",
    "bucket": "rank bucket",
}


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `find` command."""
    parser = subparsers.add_parser(
        "find",
        help="say who is at a position, what a score would be worth, what to reach",
        description="Prints who is at a position, or whose score one has to reach to be among the best so "
        "many per cent, or the rank that a score would take; exact, as of the counters.",
    )
    parser.add_argument("board", metavar="BOARD", help="the board's id")
    place = parser.add_mutually_exclusive_group(required=True)
    place.add_argument("--position", type=int, metavar="N", help="1 for the best")
    place.add_argument("--top-percent", type=float, metavar="P", help="such as 10 for the best tenth")
    place.add_argument("--score", nargs="+", metavar="SCORE", help="one for each component")
    parser.add_argument(
        "--period",
        default=ALL_TIME,
        metavar="KEY",
        help="such as daily, or weekly-2026-W49; default: all-time",
    )
    add_json(parser)
    add_target(parser)
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    with opened(args) as stack:
        stack.drain()
        board = stack.boards.get(args.board)
        period = resolve_period(board, args.period, datetime.now(UTC))
        if args.score is not None:
            rank = ranks.rank_of(stack.db, board, period, args.score)
            rows = [_row(rank, " ".join(args.score), None)]
        else:
            rows = _at_place(stack.db, board, period, args.position, args.top_percent)
    print_table(args, _COLUMNS, rows)
    if not rows:
        sys.stderr.write("leaderboard: the board has fewer entries\n")
    return 0 if rows else 1


def _at_place(
    db: Database, board: Board, period: str, position: int | None, top_percent: float | None
) -> list[tuple[str | int | None, ...]]:
    found = (
        seek.entry_to_reach(db, board, period, top_percent=top_percent)
        if position is None
        else seek.entry_at(db, board, period, position)
    )
    if found is None:
        return []
    (rank,) = ranks.rank_entries(db, board, period, [found])
    return [] if rank is None else [_row(rank, display(board.components, found.score), found)]


def _row(rank: Rank, score: str, entry: Entry | None) -> tuple[str | int | None, ...]:
    who = (None, None) if entry is None else (entry.participant_id, entry.display_name)
    return (rank.rank, rank.total, score, *who, rank.bucket.name)
