"""Tables in Markdown, and a file of sections of which each run renews its own."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.limits import Verdict


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table; columns but the first are aligned to the right."""
    lines = [header, ["---", *("---:" for _ in header[1:])], *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def verdicts(found: Iterable[Verdict]) -> str:
    """Write verdicts as a block of lines."""
    return "```text\n" + "\n".join(map(str, found)) + "\n```"


def renew_section(file: Path, name: str, text: str) -> None:
    """Put a section in its place in a file, or at its end if it is new there."""
    begin, end = f"<!-- begin {name} -->\n", f"<!-- end {name} -->\n"
    section = f"{begin}\n{text.strip()}\n\n{end}"
    old = file.read_text() if file.exists() else ""
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if pattern.search(old):
        new = pattern.sub(lambda _: section, old)
    else:
        new = f"{old.rstrip()}\n\n{section}" if old else section
    file.write_text(new)
