"""The Lambdas' zips: reproducible, and with the modules that their entries import."""

import hashlib
import importlib.util
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def package() -> ModuleType:
    spec = importlib.util.spec_from_file_location("package", ROOT / "scripts/package.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_same_input_gives_the_same_zip(package: ModuleType, tmp_path: Path) -> None:
    """Libraries are left out here: pip checks their hashes."""
    hashes = []
    for name in ("one", "two"):
        staged = tmp_path / name
        (staged / "core").mkdir(parents=True)
        sources = ["limits.py", "model.py", "errors.py"]
        for source in sources if name == "one" else reversed(sources):
            (staged / "core" / source).write_bytes((ROOT / "core/domain" / source).read_bytes())
        package.compile_all(staged)
        package.write_zip(staged, tmp_path / f"{name}.zip")
        hashes.append(hashlib.sha256((tmp_path / f"{name}.zip").read_bytes()).hexdigest())
    assert hashes[0] == hashes[1]
    assert len(zipfile.ZipFile(tmp_path / "one.zip").namelist()) == 2 * 3


def test_each_zip_has_the_modules_that_its_entries_import(package: ModuleType, tmp_path: Path) -> None:
    import grimp

    graph = grimp.build_graph("core", "resolvers", cache_dir=None)
    modules = {}
    for name, (entries, _) in package.ZIPS.items():
        package.copy_modules(graph, entries, tmp_path / name)
        modules[name] = {
            path.relative_to(tmp_path / name).as_posix()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
    submit = "core/submissions/submit.py"
    assert {"resolvers/appsync.py", "resolvers/appsync_fields.json", submit} <= modules["api"]
    assert "resolvers/http.py" in modules["http"] - modules["api"]
    assert submit not in modules["worker"]
    assert {"core/stream.py", "core/upkeep/growth.py", "resolvers/maintenance_handler.py"} <= modules[
        "worker"
    ]
    assert {
        "resolvers/notify_handler.py",
        "resolvers/publisher.py",
        "core/notifications/notifier.py",
    } <= modules["worker"]
    assert not any(name.startswith("local") for names in modules.values() for name in names)
