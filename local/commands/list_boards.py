"""`leaderboard list`: print the boards and their sizes."""

import argparse
from datetime import UTC, datetime
from functools import partial

from core.domain.periods import period_key
from core.ranking.queries import size
from core.storage.parallel import batched, run_all
from local.console import add_json, print_table
from local.stack.target import add_target, opened

_COLUMNS = {
    "id": "board",
    "title": "title",
    "size": "entries",
    "policy": "policy",
    "periods": "periods",
    "closed": "closed",
}
_SIZES_AT_ONCE = 100


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `list` command."""
    parser = subparsers.add_parser(
        "list",
        help="print the boards and their sizes",
        description="Prints every board with the number of its ranked entries, of all time or, if it keeps "
        "no such standings, of its first current period. Costs half a read unit a board and each 4 KB.",
    )
    add_json(parser)
    add_target(parser)
    parser.set_defaults(func=_run)


def _run(args: argparse.Namespace) -> int:
    now = datetime.now(UTC)
    rows: list[tuple[str | int | bool | None, ...]] = []
    with opened(args) as stack:
        stack.drain()
        for boards in batched(stack.boards.every(), _SIZES_AT_ONCE):
            sizes = run_all(
                partial(size, stack.db, board, period_key(board, board.periods[0], now)) for board in boards
            )
            for board, entries in zip(boards, sizes, strict=True):
                periods = ", ".join(kind.value for kind in board.periods)
                rows.append((board.id, board.title, entries, board.policy.value, periods, board.closed))
    print_table(args, _COLUMNS, rows)
    return 0
