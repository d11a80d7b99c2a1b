"""The glossary's retired words are in no identifier."""

import io
import re
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("core", "resolvers", "local", "bench", "scripts", "tests")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


def retired_words() -> frozenset[str]:
    table = (ROOT / "docs/glossary.md").read_text().split("## Retired")[1]
    rows = re.findall(r"^\| ([a-z, ]+) \|", table, re.MULTILINE)
    return frozenset(word for row in rows if row != "retired" for word in row.split(", "))


def words_of(source: str) -> dict[str, int]:
    """Each word of each identifier, with the first line that has it."""
    found: dict[str, int] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            for word in _WORD.findall(token.string):
                found.setdefault(word.lower(), token.start[0])
    return found


def test_there_are_retired_words() -> None:
    assert {"tell", "tick", "chore", "twigs"} <= retired_words()
    assert words_of("class TickLoop: retold = untold_x") == dict.fromkeys(
        ["class", "tick", "loop", "retold", "untold", "x"], 1
    )


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_identifier_has_a_retired_word(folder: str) -> None:
    retired = retired_words()
    found = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        if "node_modules" not in path.parts:
            words = words_of(path.read_text())
            found += [f"{path.relative_to(ROOT)}:{words[word]}: {word}" for word in retired & words.keys()]
    assert not found, "\n".join(found)
