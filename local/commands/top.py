"""`leaderboard top`: print the best entries of a board."""

import argparse
from datetime import UTC, datetime

from core.domain.periods import ALL_TIME, resolve_period
from core.domain.scores import display
from core.ranking import queries, ranks
from local.console import add_json, print_table
from local.stack.target import add_target, opened

_COLUMNS = {
    "rank": "rank",
    "participant": "participant",
    "displayName": "name",
    "score": "score",
    "bucket": "rank bucket",
    "achievedAt": "achieved",
}


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `top` command."""
    parser = subparsers.add_parser(
        "top", help="print the best entries of a board", description="Prints the best entries of a board."
    )
    parser.add_argument("board", metavar="BOARD", help="the board's id")
    parser.add_argument(
        "--period",
        default=ALL_TIME,
        metavar="KEY",
        help="such as daily, or weekly-2026-W49; default: all-time",
    )
    parser.add_argument("--limit", type=int, default=10, metavar="N", help="up to 100 entries; default: 10")
    add_json(parser)
    add_target(parser)
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    with opened(args) as stack:
        stack.drain()
        board = stack.boards.get(args.board)
        period = resolve_period(board, args.period, datetime.now(UTC))
        entries = queries.top(stack.db, board, period, args.limit)
        ranked = ranks.rank_entries(stack.db, board, period, entries)
    rows = [
        (
            rank.rank,
            entry.participant_id,
            entry.display_name,
            display(board.components, entry.score),
            rank.bucket.name,
            entry.achieved_at.isoformat(),
        )
        for entry, rank in zip(entries, ranked, strict=True)
        if rank is not None
    ]
    print_table(args, _COLUMNS, rows)
    return 0
