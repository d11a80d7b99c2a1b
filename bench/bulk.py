"""Time the import, archive, export, backup, restore and deletion of a whole board, and compare its ranks.

python -m bench.bulk --entries 100000
"""

import argparse
import csv
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.markdown import replace_section, table
from core.archives.read import archive_entries
from core.archives.write import begin_archive, write_archive
from core.domain.page_tokens import every_item
from core.domain.periods import ALL_TIME
from core.ranking.pages import entries
from core.storage.database import metered
from local.cli import main as leaderboard
from local.stack.target import Stack, opened

_FILE = Path("docs/capacity.md")
_BOARD = "bulk"
_PAGE = 1000


@dataclass
class Figures:
    """The seconds that each step took."""

    entries: int
    rows: list[tuple[str, float]] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Time a step."""
        began = time.perf_counter()
        yield
        self.rows.append((name, time.perf_counter() - began))

    def lines(self) -> Sequence[tuple[str, str, str]]:
        """Return the rows of a table: step, seconds, entries a second."""
        return [(name, f"{seconds:.1f}", f"{self.entries / seconds:,.0f}") for name, seconds in self.rows]


def main(argv: Sequence[str] | None = None) -> int:
    """Measure; return 0 if the restored board and the archive are equal to the originals, else 1."""
    parser = argparse.ArgumentParser(prog="python -m bench.bulk", description=__doc__)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--output", type=Path, help=f"replace the section `bulk` of a file such as {_FILE}")
    args = parser.parse_args(argv)
    figures = Figures(args.entries)
    with tempfile.TemporaryDirectory() as folder:
        equal = _measure(Path(folder), figures)
    shown = Table("step", "seconds", "entries a second", title=f"{args.entries:,} entries")
    for line in figures.lines():
        shown.add_row(*line)
    Console().print(shown)
    if args.output:
        heading = ["what", "seconds", "entries a second"]
        replace_section(args.output, "bulk", table(heading, figures.lines()))
    Console().print("everything is as it was" if equal else "[red]something differs")
    return 0 if equal else 1


def _measure(folder: Path, figures: Figures) -> bool:
    original, restored = folder / "original", folder / "restored"
    scores, exported = folder / "scores.csv", folder / "export.jsonl"
    _write_scores(scores, figures.entries)
    with figures.step("import"):
        _run("import", scores, "--board", _BOARD, "--create", "--data", original)
    with figures.step("archive"), _stack(original) as stack:
        archive = _archive(stack)
        frozen = _ranks_of_archive(stack, archive)
    with figures.step("export"):
        _run("export", _BOARD, "-o", exported, "--data", original)
    with figures.step("backup"):
        _run("backup", folder / "backup", "--data", original)
    with figures.step("restore, counted"):
        _run("restore", folder / "backup", "--data", restored)
    with _stack(original) as stack:
        before = _standings(stack)
    with _stack(restored) as stack:
        after = _standings(stack)
        archived = _ranks_of_archive(stack, archive)
    checked = _run("check", _BOARD, "--data", restored)
    with figures.step("delete"):
        _run("delete", _BOARD, "--yes", "--data", original)
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
    code = leaderboard([str(argument) for argument in arguments])
    if code:
        sys.stderr.write(f"leaderboard {arguments[0]} ended with exit code {code}\n")
    return code


@contextmanager
def _stack(folder: Path) -> Iterator[Stack]:
    with opened(argparse.Namespace(stack=None, region=None, data=folder)) as stack:
        yield stack


def _archive(stack: Stack) -> str:
    board = stack.boards.get(_BOARD)
    with metered() as meter:
        name = begin_archive(stack.db, board, ALL_TIME, datetime.now(UTC))
        write_archive(stack.db, name, 1e9)
    Console().print(
        f"archive: {meter.write_units:,.0f} write units, {meter.read_units:,.0f} read units", highlight=False
    )
    return name


def _standings(stack: Stack) -> list[tuple[str, bytes, int]]:
    board = stack.boards.get(_BOARD)
    return [
        (entry.participant_id, entry.rank_key, entry.submissions)
        for entry in every_item(lambda token: entries(stack.db, board, ALL_TIME, _PAGE, token))
    ]


def _ranks_of_archive(stack: Stack, name: str) -> list[tuple[str, int, int | None]]:
    return [
        (entry.participant_id, rank.rank, rank.position)
        for entry, rank in every_item(lambda token: archive_entries(stack.db, name, _PAGE, token))
    ]


if __name__ == "__main__":
    sys.exit(main())
