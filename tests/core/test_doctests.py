"""The examples in the docstrings of the pure rooms are true."""

import doctest
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts)
    for room in ("core/domain", "core/tree")
    for path in (ROOT / room).glob("*.py")
    if ">>> " in path.read_text()
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_are_true(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    result = doctest.testmod(import_module(name))
    assert result.attempted
    assert not result.failed, capsys.readouterr().out


def test_there_are_examples() -> None:
    assert {"core.domain.scores", "core.domain.rank_key", "core.tree.node"} <= set(MODULES)
