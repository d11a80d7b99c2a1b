"""The documents name files and links that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")])
_PATH = re.compile(r"`((?:core|resolvers|local|infra|tests|docs|bench|scripts|requirements)/[\w./-]*)`")
_LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_file_that_a_document_names_exists(document: Path) -> None:
    text = document.read_text()
    missing = [path for path in _PATH.findall(text) if not (ROOT / path).exists()]
    missing += [link for link in _LINK.findall(text) if not (document.parent / link).exists()]
    assert not missing


def test_every_room_of_core_is_in_the_architecture() -> None:
    text = (ROOT / "docs/architecture.md").read_text()
    rooms = [path.name for path in (ROOT / "core").iterdir() if (path / "__init__.py").exists()]
    assert not [room for room in rooms if f"`{room}/`" not in text]


def test_every_function_in_the_architecture_is_in_its_file() -> None:
    rows = [line for line in (ROOT / "docs/architecture.md").read_text().splitlines() if ".py`" in line]
    named = 0
    for row in (row for row in rows if row.startswith("|")):
        sources = "".join((ROOT / path).read_text() for path in _PATH.findall(row))
        for name in re.findall(r"`(?:\w+\.)?([a-z_]+)`", row) if sources else ():
            assert re.search(rf"def {name}\b", sources), row
            named += 1
    assert named > 30
