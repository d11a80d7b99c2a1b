"""`leaderboard explain`, `check` and `rebuild`: show, verify and rebuild a board's counters."""

import argparse
from collections.abc import Callable
from dataclasses import asdict
from datetime import UTC, datetime

from rich.progress import Progress
from rich.table import Table

from core.counters.root import read_size
from core.domain.keys import standings_key
from core.domain.model import Board
from core.domain.periods import ALL_TIME, resolve_period
from core.upkeep import checks, rebuilds
from core.upkeep.explain import explain
from local.console import add_json, plain_console, print_json, print_pairs
from local.stack.target import Stack, add_target, following, opened

_EXPLAIN = """
Shows a board's index shards, its counter tree as it is now, and the capacity units of reading a rank and of
writing a score.
"""
_CHECK = """
Recounts the entries on the rank index and compares every count of the tree, and the top. Exit code 1 if a
count has drifted; `leaderboard rebuild` repairs it.
"""
_REBUILD = """
Counts every entry into a new counter tree while submissions go on, then switches to it. Costs a write unit an
entry. If it is interrupted, run it again: it resumes.
"""
_DRIFTS_SHOWN = 20


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the three commands."""
    _add(subparsers, _explain, "explain", "show how a board's ranks are counted and what they cost", _EXPLAIN)
    _add(subparsers, _check, "check", "recount a board's entries and compare every counter", _CHECK)
    _add(subparsers, _rebuild, "rebuild", "rebuild a board's counters from its entries", _REBUILD)


def _add(
    subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]",
    func: Callable[[argparse.Namespace], int],
    name: str,
    summary: str,
    description: str,
) -> None:
    parser = subparsers.add_parser(name, help=summary, description=description)
    parser.add_argument("board", metavar="BOARD", help="the board's id")
    parser.add_argument("--period", default=ALL_TIME, metavar="KEY", help="default: all-time")
    add_json(parser)
    add_target(parser)
    parser.set_defaults(func=func, when_interrupted="to resume" if func is _rebuild else None)


def _explain(args: argparse.Namespace) -> int:
    with opened(args) as stack:
        board, standings = _standings(stack, args)
        pairs = explain(stack.db, board, standings)
    print_pairs(args, pairs, board.id)
    return 0


def _check(args: argparse.Namespace) -> int:
    with opened(args) as stack:
        board, standings = _standings(stack, args)
        stack.drain()
        return _report(args, checks.check(stack.db, board, standings))


def _rebuild(args: argparse.Namespace) -> int:
    with opened(args) as stack, Progress(transient=True) as progress, following(stack):
        board, standings = _standings(stack, args)
        task = progress.add_task("entries", total=read_size(stack.db, board, standings) or None)
        report = rebuilds.rebuild(
            stack.db, board, standings, lambda done: progress.update(task, completed=done)
        )
    return _report(args, report)


def _standings(stack: Stack, args: argparse.Namespace) -> tuple[Board, str]:
    board = stack.boards.get(args.board)
    period = resolve_period(board, args.period, datetime.now(UTC))
    return board, standings_key(board.id, period, board.generation)


def _report(args: argparse.Namespace, report: checks.CheckReport) -> int:
    if args.json:
        print_json(asdict(report))
        return 1 if report.drifts else 0
    console = plain_console()
    console.print(f"{report.entries:,} entries, {report.counts:,} counts compared", end="")
    if not report.drifts:
        console.print(
            ": no drift" + (f", {report.behind:,} entries not counted yet" if report.behind else "")
        )
        return 0
    console.print(f": {len(report.drifts):,} drifted")
    table = Table("where", "counted", "entries")
    for drift in report.drifts[:_DRIFTS_SHOWN]:
        table.add_row(drift.where, str(drift.counted), str(drift.entries))
    console.print(table)
    console.print("To repair: leaderboard rebuild BOARD")
    return 1
