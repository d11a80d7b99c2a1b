"""What reads and writes cost in capacity units, printed and kept as Markdown.

python -m bench.capacity            everything, up to a million entries: an hour or so
python -m bench.capacity --quick    a little of everything, in a minute
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.markdown import Markdown
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from bench import read_report, reads
from bench.distributions import DISTRIBUTIONS
from bench.limits import Verdict, judge_reads
from bench.markdown import renew_section
from local.errors import StackError

DEFAULT_FILE = Path("docs/capacity.md")
_SIZES = (1_000, 100_000, 1_000_000)
_QUICK_SIZES = (1_000, 5_000)
_QUICK_DISTRIBUTIONS = ("undeclared", "all equal")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and give 0 if all is within its limits, 1 if not, 2 if it could not run."""
    args = _parser().parse_args(argv)
    console = Console()
    try:
        found = _read(args, console)
    except StackError as error:
        console.print(f"{error}", style="red")
        return 2
    for verdict in found:
        console.print(str(verdict), style="" if verdict.holds else "red", highlight=False)
    return 0 if all(verdict.holds for verdict in found) else 1


def _read(args: argparse.Namespace, console: Console) -> list[Verdict]:
    chosen = [one for one in DISTRIBUTIONS if one.name in args.distributions]
    costs: list[reads.BoardCosts] = []
    with _progress(console) as progress:
        task = progress.add_task("reads", total=len(args.sizes) * len(chosen))
        for size in args.sizes:
            for distribution in chosen:

                def step(text: str, name: str = f"{distribution.name} of {size:,}") -> None:
                    progress.update(task, description=f"{name}: {text}")

                costs.append(reads.measure(distribution, size, step))
                progress.advance(task)
                _keep(args, "reads", read_report.report(costs))
    console.print(Markdown(read_report.report(costs)))
    return judge_reads(costs)


def _keep(args: argparse.Namespace, section: str, text: str) -> None:
    if args.output:
        renew_section(args.output, section, text)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.capacity", description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=_numbers, default=_SIZES, help="entries a board: 1000,100000,1000000")
    parser.add_argument(
        "--distributions", type=lambda t: t.split(","), default=[one.name for one in DISTRIBUTIONS]
    )
    parser.add_argument("--output", type=Path)
    return parser


def _numbers(text: str) -> list[int]:
    return [int(number.replace("_", "")) for number in text.split(",")]


if __name__ == "__main__":
    sys.exit(main())
