"""`leaderboard demo`: import Formula 1 results since 1950 and show a board."""

import argparse
from collections.abc import Sequence
from datetime import UTC, datetime

from rich.console import Console
from rich.table import Table

from core.domain.model import Board
from core.domain.periods import ALL_TIME
from core.domain.scores import display
from core.ranking import queries, ranks
from core.storage.database import Meter, metered
from local.console import progress
from local.errors import StackError
from local.importing import f1
from local.importing.demo import SHOWN_YEAR, import_replay, replays
from local.importing.report import Report
from local.importing.rows import Row
from local.stack.target import Stack, add_target, opened

_SHOWN_ENTRIES = 12
_NEXT = """
Try next:
  leaderboard run          and paste into GraphiQL, at the address it prints:
    {{ leaderboard(id: "{board}") {{ size top(limit: 3) {{ participant {{ displayName }} }} }} }}
    {{ participant(id: "hamilton") {{ entries {{ items {{ leaderboardId rank {{ rank total }} }} }} }} }}
  leaderboard import FILE  to import your own scores; see leaderboard import --help"""


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Add the `demo` command."""
    parser = subparsers.add_parser(
        "demo",
        help="import Formula 1 since 1950 and show a board",
        description="Imports a board for each Formula 1 season, ranked by points and countback, a board of "
        "fastest laps and a board of pit stops. Running it again changes nothing.",
    )
    parser.add_argument(
        "--seasons", default="all", metavar="all|YEAR[,YEAR...]", help="seasons to import; default: all"
    )
    add_target(parser)
    parser.set_defaults(func=run, when_interrupted="to resume")


def run(args: argparse.Namespace) -> int:
    """Import the demo's boards and print one of them; return the exit code.

    Raises:
        StackError: there is no such season, or the import stopped.
    """
    archive = f1.load()
    years = _years(args.seasons, archive.seasons())
    boards = replays(archive, years, datetime.now(UTC))
    console = Console()
    with opened(args, creates=True) as stack:
        report = Report()
        with metered() as meter:
            _import(stack, boards, report)
        console.print(f"{len(boards)} boards: {'; '.join(report.lines())}", highlight=False, soft_wrap=True)
        console.print(_consumed(meter), style="dim", highlight=False)
        stack.drain()
        shown = f"season-{SHOWN_YEAR if SHOWN_YEAR in years else years[-1]}"
        with metered() as meter:
            table = _table(stack, stack.boards.get(shown))
        console.print(table)
        console.print(_consumed(meter), style="dim", highlight=False)
    console.print(_NEXT.format(board=shown), markup=False, highlight=False, soft_wrap=True)
    return 0


def _import(stack: Stack, boards: Sequence[f1.Replay], report: Report) -> None:
    done = 0
    with progress("importing Formula 1", sum(len(replay.rows) for replay in boards)) as show:

        def count(_: Row) -> None:
            nonlocal done
            show(done)
            done += 1

        for replay in boards:
            import_replay(stack.db, stack.boards, replay, report, count)


def _table(stack: Stack, board: Board) -> Table:
    """Return the table of a season's best drivers."""
    entries = queries.top(stack.db, board, ALL_TIME, _SHOWN_ENTRIES)
    ranked = ranks.rank_entries(stack.db, board, ALL_TIME, entries)
    total = ranked[0].total if ranked and ranked[0] else 0
    table = Table(title=f"{board.title}: {len(entries)} of {total} drivers")
    for heading in ("Position", "Driver", "Points", "Wins", "Rank bucket"):
        table.add_column(heading, justify="left" if heading in ("Driver", "Rank bucket") else "right")
    for entry, rank in zip(entries, ranked, strict=True):
        if rank is None:
            continue
        table.add_row(
            str(rank.position),
            entry.display_name,
            display(board.components[:1], entry.score[:1]),
            display(board.components[1:2], entry.score[1:2]),
            rank.bucket.name,
        )
    return table


def _consumed(meter: Meter) -> str:
    return (
        f"consumed {meter.read_units:,.1f} read units and {meter.write_units:,.1f} write units "
        f"in {meter.requests:,} requests"
    )


def _years(text: str, available: Sequence[int]) -> Sequence[int]:
    if text == "all":
        return available
    years = text.split(",")
    for year in years:
        if year not in map(str, available):
            raise StackError(
                f"--seasons: there is no season {year!r}; there are {available[0]} to {available[-1]}"
            )
    return [int(year) for year in years]
