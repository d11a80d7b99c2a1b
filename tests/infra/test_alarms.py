"""Alarms and graphs are on what the functions really send."""

import io
import json
import logging
import re
from pathlib import Path

import pytest

from resolvers.observability import NAMESPACE, configure_logging

ROOT = Path(__file__).parents[2]


def sent() -> set[str]:
    """Return the metrics that the functions emit."""
    return {
        name
        for handler in (ROOT / "resolvers").glob("*.py")
        for name in re.findall(
            r'"(\w+)": \((?:[^()\n]|\([^()\n]*\))*, "(?:Count|Seconds|None)"\)', handler.read_text()
        )
    }


def test_every_metric_is_shown_or_watched_and_none_is_made_up() -> None:
    alarms = re.findall(rf'"{NAMESPACE}", metric = "(\w+)"', (ROOT / "infra/alarms.tf").read_text())
    graphs = re.findall(rf'\["{NAMESPACE}", "(\w+)"', (ROOT / "infra/dashboard.tf").read_text())
    assert set(alarms) | set(graphs) == sent()


def test_the_operator_reads_of_every_metric() -> None:
    text = (ROOT / "docs/operations.md").read_text()
    assert [name for name in sorted(sent()) if f"`{name}`" not in text] == []
    assert f"metrics of our own, {len(sent())}, and" in text


@pytest.mark.parametrize(
    ("level", "counted"), [("INFO", False), ("WARNING", False), ("ERROR", True), ("CRITICAL", True)]
)
def test_the_log_filter_finds_errors(
    level: str, counted: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The pattern compares a field of the JSON that a handler writes for a record."""
    found = re.search(r'pattern += "\{ (.*) \}"', (ROOT / "infra/alarms.tf").read_text())
    assert found
    conditions = re.findall(r'\$\.(\w+) = \\"(\w+)\\"', found[1])
    root = logging.getLogger()
    handlers, before = root.handlers[:], root.level
    out = io.StringIO()
    monkeypatch.setattr("sys.stdout", out)
    try:
        configure_logging()
        logging.getLogger("core").log(logging.getLevelNamesMapping()[level], "failed", exc_info=ValueError())
    finally:
        root.handlers[:], root.level = handlers, before
    (line,) = map(json.loads, out.getvalue().splitlines())
    assert any(line[field] == value for field, value in conditions) is counted
