"""What commands print: tables with text as it is, and progress."""

import contextlib
import time
from collections.abc import Callable, Iterator

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

_SECONDS_BETWEEN_LINES = 5.0


def plain_console() -> Console:
    """Return a console that prints brackets and colons as they are: ids and names are the users' own."""
    return Console(markup=False, emoji=False, highlight=False)


@contextlib.contextmanager
def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
    """Show on stderr how much of `total` is done: a bar on a terminal, else a line every five seconds.

    Yields the function to call with how much is done.
    """
    console = Console(stderr=True)
    if console.is_terminal:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.percentage:>3.0f}%"),
        )
        with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
            task = bar.add_task(label, total=total)
            yield lambda done: bar.update(task, completed=done)
        return
    next_line = time.monotonic() + _SECONDS_BETWEEN_LINES

    def print_now_and_then(done: int) -> None:
        nonlocal next_line
        if time.monotonic() >= next_line:
            next_line = time.monotonic() + _SECONDS_BETWEEN_LINES
            console.print(f"{label}: {done / max(total, 1):.0%}", markup=False, highlight=False)

    yield print_now_and_then
