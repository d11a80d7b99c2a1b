"""Measure what reads and counter writes cost in capacity units; print and store it as Markdown."""

import argparse
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench import read_report, reads, write_report, writes
from bench.distributions import BY_NAME
from bench.limits import Verdict, judge_reads
from bench.markdown import replace_section
from bench.resuming import forget, once
from bench.trace import CLIMB, REDRAW, SCENARIOS, Scenario
from local.errors import StackError

_FILE = Path("docs/capacity.md")
_SIZES = [1_000, 100_000, 1_000_000]
_SECONDS = 10  # length of the trace at each pace
_SUBMISSIONS = 1_000  # in each mode that counts in the submission

# For --quick: everything within a minute.
_QUICK_SIZES = [2_000]
_QUICK_DISTRIBUTIONS = ["undeclared", "all equal"]
_QUICK_SCENARIOS = [
    Scenario("One dense board of 10,000", BY_NAME["dense"], 1, 10_000),
    Scenario("20 boards of 500", BY_NAME["uniform"], 20, 500),
]
_QUICK_SECONDS = 1
_QUICK_SUBMISSIONS = 50


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; return 0 if everything is within its limits, 1 if not, 2 if it could not run."""
    args = _arguments(argv)
    console = Console()
    verdicts: list[Verdict] = []
    if args.again:
        forget()
    try:
        if args.what in {"reads", "all"}:
            verdicts += _reads(args, console)
        if args.what in {"writes", "all"}:
            verdicts += _writes(args, console)
    except StackError as error:
        console.print(str(error), style="red")
        return 2
    for verdict in verdicts:
        console.print(str(verdict), style="" if verdict.holds else "red", highlight=False, soft_wrap=True)
    return 0 if all(verdict.holds for verdict in verdicts) else 1


def _reads(args: argparse.Namespace, console: Console) -> list[Verdict]:
    costs: list[reads.BoardCosts] = []
    boards = [(size, BY_NAME[name]) for size in args.sizes for name in args.distributions]
    with _progress(console) as progress:
        task = progress.add_task("reads", total=len(boards))
        for size, distribution in boards:
            name = f"{distribution.name} of {size}"
            measure = partial(reads.measure, distribution, size, _show_step(progress, name))
            costs.append(measure() if args.quick else once(f"reads {name}", measure))
            progress.advance(task)
            _store(args, "reads", read_report.report(costs))
    console.print(Markdown(read_report.report(costs)))
    return judge_reads(costs)


def _writes(args: argparse.Namespace, console: Console) -> list[Verdict]:
    costs: list[writes.TraceCosts] = []
    with _progress(console) as progress:
        task = progress.add_task("writes", total=len(args.scenarios))
        for scenario in args.scenarios:
            show = _show_step(progress, scenario.name)
            movements = (REDRAW, CLIMB)
            measure = partial(writes.measure, scenario, movements, args.seconds, args.submissions, show)
            costs += measure() if args.quick else once(f"writes {scenario.name}", measure)
            progress.advance(task)
            _store(args, "writes", write_report.report(costs))
    console.print(Markdown(write_report.report(costs)))
    return write_report.judge_writes(costs)


def _store(args: argparse.Namespace, section: str, text: str) -> None:
    if args.output:
        replace_section(args.output, section, text)


def _show_step(progress: Progress, name: str) -> Callable[[str], None]:
    """Return a function that shows the current step of the newest task."""
    task = progress.task_ids[-1]
    return lambda step: progress.update(task, description=f"{name}: {step}")


def _progress(console: Console) -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console)


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.capacity",
        description=__doc__,
        epilog="Exit codes: 0 everything is within its limits; 1 something is not; 2 it could not run. "
        "A full run, at a million entries, takes hours and some 3 GB of memory.",
    )
    parser.add_argument("what", nargs="?", choices=("all", "reads", "writes"), default="all")
    parser.add_argument("--quick", action="store_true", help="small boards, within a minute; stores nothing")
    parser.add_argument(
        "--sizes", type=_numbers, help=f"entries of a board; default: {','.join(map(str, _SIZES))}"
    )
    parser.add_argument(
        "--distributions", type=_names, metavar="NAME,...", help=f"of {', '.join(BY_NAME)}; default: all"
    )
    parser.add_argument("--output", type=Path, help=f"file to update; default: {_FILE}")
    parser.add_argument(
        "--again", action="store_true", help="measure everything again instead of resuming an interrupted run"
    )
    args = parser.parse_args(argv)
    args.sizes = args.sizes or (_QUICK_SIZES if args.quick else _SIZES)
    args.distributions = args.distributions or (_QUICK_DISTRIBUTIONS if args.quick else list(BY_NAME))
    args.output = args.output or (None if args.quick else _FILE)
    args.scenarios = _QUICK_SCENARIOS if args.quick else SCENARIOS
    args.seconds = _QUICK_SECONDS if args.quick else _SECONDS
    args.submissions = _QUICK_SUBMISSIONS if args.quick else _SUBMISSIONS
    return args


def _numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")]


def _names(text: str) -> list[str]:
    names = text.split(",")
    unknown = [name for name in names if name not in BY_NAME]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(unknown)}")
    return names


if __name__ == "__main__":
    sys.exit(main())
