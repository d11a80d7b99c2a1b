"""Markdown tables, and files whose sections are replaced one by one."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.limits import Verdict


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table; all columns but the first are right-aligned."""
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def verdicts(found: Iterable[Verdict]) -> str:
    """Return verdicts as a code block."""
    return "```text\n" + "\n".join(map(str, found)) + "\n```"


def replace_section(file: Path, name: str, text: str) -> None:
    """Replace a section of a file, or append it."""
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->\n"
    section = f"{begin}\n{text.strip()}\n\n{end}"
    old = file.read_text() if file.exists() else ""
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if pattern.search(old):
        new = pattern.sub(lambda _: section, old)
    else:
        new = f"{old.rstrip()}\n\n{section}" if old else section
    file.write_text(new)
