"""What moving a whole board takes: import, archive, export, backup, restore, delete, with the ranks compared.

python -m bench.bulk --entries 100000
"""

import argparse
import csv
import random
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.markdown import renew_section, table
from core.archives.read import archive_entries
from core.ranking.queries import entries
from core.storage.database import metered
from local.cli import main as leaderboard
from local.stack.target import Stack, opened

_FILE = Path("docs/capacity.md")
_BOARD = "bulk"
_PAGE = 1000


@dataclass
class Figures:
    """What each step took: seconds, and what it says of itself."""

    entries: int
    rows: list[tuple[str, float]] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step."""
        began = time.perf_counter()
        yield
        self.rows.append((name, time.perf_counter() - began))

    def lines(self) -> Sequence[tuple[str, str, str]]:
        """Give the steps as a table's lines."""
        return [(name, f"{seconds:.1f}", f"{self.entries / seconds:,.0f}") for name, seconds in self.rows]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure, and give 0 if all came back as it was, 1 if not."""
    parser = argparse.ArgumentParser(prog="python -m bench.bulk", description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--output", type=Path, help=f"renew the section `bulk` of a file such as {_FILE}")
    args = parser.parse_args(argv)
    figures = Figures(args.entries)
    with tempfile.TemporaryDirectory() as folder:
        agree = _measure(Path(folder), figures)
    shown = Table("step", "seconds", "entries a second", title=f"{args.entries:,} entries")
    for line in figures.lines():
        shown.add_row(*line)
    Console().print(shown)
    if args.output:
        heading = ["what", "seconds", "entries a second"]
        renew_section(args.output, "bulk", table(heading, figures.lines()))
    Console().print("all came back as it was" if agree else "[red]something differs")
    return 0 if agree else 1


def _measure(folder: Path, figures: Figures) -> bool:
    here, there = folder / "here", folder / "there"
    scores, exported = folder / "scores.csv", folder / "export.jsonl"
    _write_scores(scores, figures.entries)
    with figures.step("import"):
        _run("import", scores, "--board", _BOARD, "--create", "--data", here)
    with figures.step("archive"), _stack(here) as stack:
        archive = _archive(stack)
        frozen = _ranks_of_archive(stack, archive)
    with figures.step("export"):
        _run("export", _BOARD, "-o", exported, "--data", here)
    with figures.step("backup"):
        _run("backup", folder / "backup", "--data", here)
    with figures.step("restore, counted"):
        _run("restore", folder / "backup", "--data", there)
    with _stack(here) as stack:
        before = _order(stack)
    with _stack(there) as stack:
        after = _order(stack)
        archived = _ranks_of_archive(stack, archive)
    checked = _run("check", _BOARD, "--data", there)
    with figures.step("delete"):
        _run("delete", _BOARD, "--yes", "--data", here)
    lines = sum(1 for _ in exported.open(encoding="utf-8"))
    return before == after and frozen == archived and checked == 0 and lines == figures.entries


def _write_scores(path: Path, count: int) -> None:
    chance = random.Random(1)
    with path.open("w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["participantId", "score", "displayName"])
        for number in range(count):
            rows.writerow([f"p{number:07}", chance.randrange(count), f"Player {number}"])


def _run(*arguments: object) -> int:
    code = leaderboard([str(one) for one in arguments])
    if code:
        sys.stderr.write(f"leaderboard {arguments[0]} gave {code}\n")
    return code


@contextmanager
def _stack(folder: Path) -> Iterator[Stack]:
    with opened(argparse.Namespace(stack=None, region=None, data=folder)) as stack:
        yield stack


def _archive(stack: Stack) -> str:
    from core.archives.write import begin_archive, write_archive  # noqa: PLC0415

    board = stack.boards.get(_BOARD)
    with metered() as meter:
        name = begin_archive(stack.db, board, "all-time", datetime.now(UTC))
        write_archive(stack.db, name, 1e9)
    Console().print(
        f"archive: {meter.write_units:,.0f} write units, {meter.read_units:,.0f} read units", highlight=False
    )
    return name


def _order(stack: Stack) -> list[tuple[str, bytes, int]]:
    board = stack.boards.get(_BOARD)
    return [
        (one.participant_id, one.rank_key, one.submissions)
        for one in _walk(lambda token: entries(stack.db, board, "all-time", _PAGE, token))
    ]


def _ranks_of_archive(stack: Stack, name: str) -> list[tuple[str, int, int | None]]:
    return [
        (entry.participant_id, rank.rank, rank.position)
        for entry, rank in _walk(lambda token: archive_entries(stack.db, name, _PAGE, token))
    ]


def _walk(read: Callable[[str | None], object]) -> Iterator:  # type: ignore[type-arg]
    token = None
    while True:
        page = read(token)
        yield from page.items  # type: ignore[attr-defined]
        token = page.next_token  # type: ignore[attr-defined]
        if token is None:
            return


if __name__ == "__main__":
    sys.exit(main())
