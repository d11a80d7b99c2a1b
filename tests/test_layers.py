"""The import contracts in pyproject.toml fail when they are broken, seen in a copy of the tree."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("core", "resolvers", "local")
LINT_IMPORTS = Path(sys.executable).with_name("lint-imports")


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the packages' Python files and of the contracts."""
    tree = tmp_path_factory.mktemp("tree")
    for package in PACKAGES:
        for source in (ROOT / package).rglob("*.py"):
            target = tree / source.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    shutil.copyfile(ROOT / "pyproject.toml", tree / "pyproject.toml")
    return tree


def lint_imports(tree: Path) -> tuple[int, list[str]]:
    """Return the exit code, and the names of the broken contracts."""
    done = subprocess.run(
        [LINT_IMPORTS],
        cwd=tree,
        env=os.environ | {"NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = done.stdout.splitlines()
    return done.returncode, [line.removesuffix(" BROKEN") for line in lines if line.endswith(" BROKEN")]


def test_the_tree_keeps_the_contracts(copied: Path) -> None:
    assert lint_imports(copied) == (0, [])


@pytest.mark.parametrize(
    ("lower", "upper", "contract"),
    [
        ("core/domain/scores.py", "core.storage.database", "each room of core"),
        ("core/tree/node.py", "core.ranking.ranks", "each room of core"),
        ("resolvers/request/auth.py", "resolvers.queries", "each floor of resolvers"),
        ("local/stack/engine.py", "local.server.main", "each room of local"),
        ("core/boards.py", "resolvers.schema", "local above resolvers above core"),
        ("core/domain/scores.py", "boto3", "the domain and the tree's arithmetic do no I/O"),
    ],
)
def test_an_upward_import_breaks_its_contract(copied: Path, lower: str, upper: str, contract: str) -> None:
    module = copied / lower
    source = module.read_text()
    try:
        module.write_text(f"{source}\nimport {upper}\n")
        code, broken = lint_imports(copied)
    finally:
        module.write_text(source)
    assert code == 1
    assert any(name.startswith(contract) for name in broken)


@pytest.mark.parametrize("package", PACKAGES)
def test_a_room_that_no_layer_names_breaks_its_contract(copied: Path, package: str) -> None:
    room = copied / package / "unnamed.py"
    try:
        room.write_text("")
        code, broken = lint_imports(copied)
    finally:
        room.unlink()
    assert code == 1
    assert any(f" of {package} " in name for name in broken)
