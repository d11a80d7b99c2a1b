"""An entry's attributes: declared once, and kept by every copy of an entry."""

import ast
import io
import json
import re
import shutil
import subprocess
import sys
import tokenize
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from core.archives.rows import entry_of, erased, pack, row_of, unpack
from core.domain import rank_key
from core.domain.board import define_board
from core.domain.entry_item import (
    ATTRIBUTES,
    IN_ARCHIVE,
    IN_TOP_CHANGE,
    NUMBERS,
    PROJECTED,
    TEXTS,
    Attribute,
    check_texts,
    entry_from_item,
    entry_from_plain,
    entry_key,
    plain_values,
    sanitize_item,
)
from core.domain.errors import InvalidInput
from core.domain.keys import rank_shard
from core.domain.limits import MAX_METADATA_BYTES
from core.domain.model import Entry
from core.domain.text import check_json
from core.notifications.top_change import top_digest
from core.ranking.top import Top
from resolvers import appsync_source
from resolvers.types.entry import Entry as EntryType

ROOT = Path(__file__).parents[3]
NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
BOARD = define_board(id="b", now=NOW)
STANDINGS = "b#all-time#1"


def item_of(**changes: Any) -> dict[str, Any]:
    """Return an entry's item with a value in every attribute."""
    texts = {one.name: {"S": '"text"' if one.check is check_json else "text"} for one in TEXTS}
    numbers = {one.name: {"N": str(at + 7)} for at, one in enumerate(NUMBERS)}
    key = entry_key(BOARD, "all-time", "p")
    rank = rank_key.encode(BOARD, (9,), rank_key.instant(7), "p")
    shard = rank_shard(STANDINGS, 0)
    return {**key, "rank_key": {"B": rank}, "rank_shard": {"S": shard}, **numbers, **texts, **changes}


def entry(**changes: Any) -> Entry:
    return entry_from_item(BOARD, "all-time", item_of(**changes))


def test_every_attribute_is_read_from_an_item() -> None:
    found = entry()
    assert plain_values(found, NUMBERS) == [at + 7 for at in range(len(NUMBERS))]
    assert None not in plain_values(found, TEXTS)
    assert (found.score, found.hidden, found.achieved_at) == ((9,), False, rank_key.instant(7))
    bare = {name: value for name, value in item_of().items() if name not in {one.name for one in TEXTS}}
    assert set(plain_values(entry_from_item(BOARD, "all-time", bare), TEXTS)) == {None}


def test_plain_values_make_the_entry_again() -> None:
    found = entry()
    plain = json.loads(json.dumps(plain_values(found, ATTRIBUTES)))
    again = entry_from_plain(BOARD, "all-time", "p", found.rank_key, dict(zip(PROJECTED, plain, strict=True)))
    assert again == found


def test_the_index_holds_every_attribute_of_an_entry_and_not_when_it_was_written() -> None:
    """So touching an entry is one write."""
    item = item_of()
    keys = {"participant", "standings", "rank_shard", "rank_key"}
    indexed = {name: value for name, value in item.items() if name in keys | set(PROJECTED)}
    assert entry_from_item(BOARD, "all-time", indexed) == entry()
    assert "written_at" not in PROJECTED


def test_an_archive_keeps_what_is_declared_and_forgets_what_is_personal() -> None:
    found = entry()
    (row,) = unpack(pack([row_of(found)]))
    kept = {one.name: getattr(found, one.name) for one in IN_ARCHIVE}
    assert entry_of(BOARD, "all-time", row) == replace(found, version=0)
    nobody = entry_of(BOARD, "all-time", erased(row))
    assert nobody.participant_id == ""
    for one in IN_ARCHIVE:
        assert getattr(nobody, one.name) == (None if one.personal else kept[one.name])
    assert {one.name for one in TEXTS} <= {one.name for one in ATTRIBUTES if one.personal}


@pytest.mark.parametrize("attribute", ATTRIBUTES, ids=lambda one: one.name)
def test_the_top_is_announced_for_changes_of_some_attributes(attribute: Attribute) -> None:
    changed = item_of(**{attribute.name: {"S" if attribute in TEXTS else "N": "8"}})
    same = top_digest(Top([item_of()], whole=True)) == top_digest(Top([changed], whole=True))
    assert same is not attribute.in_top_change
    assert (attribute.name in IN_TOP_CHANGE) is attribute.in_top_change


def test_appsyncs_source_makes_the_whole_entry_again() -> None:
    found = entry()
    fields = {
        one.public_name: json.loads(getattr(found, one.name))
        if one.check is check_json
        else getattr(found, one.name)
        for one in TEXTS
    }
    source = {
        appsync_source.SOURCE_FIELD: appsync_source.pack_entry(EntryType.of(found)),
        "leaderboardId": "b",
        "period": "all-time",
        "hidden": False,
        "participant": {"id": "p", "displayName": fields.pop("displayName")},
        **fields,
    }
    packed = source[appsync_source.SOURCE_FIELD]
    sources = appsync_source.Sources({}, {("b", BOARD.generation): BOARD}, {packed: json.loads(packed)})
    again = sources.parent("Entry", {"source": json.loads(json.dumps(source))})
    assert isinstance(again, EntryType)
    assert again.source == found


def test_a_text_is_refused_by_its_public_name() -> None:
    for one in TEXTS:
        with pytest.raises(InvalidInput, match=f"{one.public_name}: must be at most {one.max_bytes} bytes"):
            check_texts({one.name: json.dumps("x" * one.max_bytes)})
    check_texts({one.name: None for one in TEXTS})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rank_shard", {"S": "other#all-time#1#0"}),
        ("rank_shard", {"S": f"{STANDINGS}#x"}),
        ("rank_shard", {"S": STANDINGS}),
        ("rank_shard", {"N": "1"}),
        ("written_at", {"S": "1"}),
        ("written_at", {"N": "-1"}),
        ("display_name", {"L": []}),
        ("metadata", {"S": "x" * (MAX_METADATA_BYTES + 1)}),
    ],
)
def test_values_that_only_foreign_items_have_are_left_out(name: str, value: Any) -> None:
    found = sanitize_item(STANDINGS, item_of(**{name: value}))
    assert found is not None
    assert name not in found
    assert set(item_of()) - set(found) <= {name}


# What a new text takes


def documented_files() -> list[Path]:
    return [ROOT / name for name in re.findall(r"[\w/]+\.py", Attribute.__doc__ or "")]


def words_of(path: Path) -> set[str]:
    """Return the identifiers and the strings of a module."""
    tokens = tokenize.generate_tokens(io.StringIO(path.read_text()).readline)
    return {token.string.strip("\"'") for token in tokens if token.type in {tokenize.NAME, tokenize.STRING}}


def test_a_text_is_named_in_five_files() -> None:
    folders = (ROOT / "core", ROOT / "resolvers")
    naming = {path for folder in folders for path in folder.rglob("*.py") if "metadata" in words_of(path)}
    assert naming == set(documented_files())
    assert len(naming) == 5


def add_note(source: str) -> str:
    """Return a module with a field, argument and declaration of `note` after each one of `metadata`."""
    lines = source.splitlines(keepends=True)
    places = set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case (
                ast.AnnAssign(target=ast.Name(id="metadata"))
                | ast.keyword(arg="metadata")
                | ast.Call(args=[ast.Constant(value="metadata"), *_])
            ):
                places.add((node.lineno - 1, node.end_lineno))
    for start, end in sorted(places, reverse=True):
        lines[end:end] = [re.sub(r"\bmetadata\b", "note", line) for line in lines[start:end]]
    return "".join(lines)


def test_a_text_added_to_those_files_is_everywhere(tmp_path: Path) -> None:
    """In a copy of the code the tests above hold for it too, and the GraphQL schema has it."""
    for folder in ("core", "resolvers"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    for path in documented_files():
        copy = tmp_path / path.relative_to(ROOT)
        copy.write_text(add_note(copy.read_text()))
    (tmp_path / "test_copy.py").write_text(Path(__file__).read_text())
    (tmp_path / "test_note.py").write_text(OF_A_NOTE)
    (tmp_path / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not files"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout


OF_A_NOTE = """
from core.domain.entry_item import PROJECTED
from resolvers.inputs import SubmitScoreInput
from resolvers.schema import sdl
from test_copy import entry


def test_a_note() -> None:
    assert "note" in PROJECTED
    assert entry().note == '"text"'
    submitted = SubmitScoreInput(leaderboard_id="b", participant_id="p", score=["1"], note="{}")
    assert submitted.submission().texts == {"note": "{}"}
    assert sdl().count(" note: AWSJSON") == 3  # of Entry and of both inputs
"""
