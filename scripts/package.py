"""Build the Lambdas' zips: the modules that each imports, their pinned libraries, and bytecode.

The same input makes the same bytes: sorted names, one date, fixed permissions. No file is specific to a
processor, so each zip runs on both of Lambda's. Lambda cannot store bytecode, so it is compiled here; the
functions therefore run on this Python's version, which `package.json` names for Terraform. botocore is the
runtime's own.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
PINS = ROOT / "requirements/run.txt"
WORKER = ["tzdata", "aws-xray-sdk", "wrapt"]
API = [
    *WORKER,
    "strawberry-graphql",
    "graphql-core",
    "typing-extensions",
    "python-dateutil",
    "six",
    "packaging",
    "cross-web",
]
# By zip: its entries, and the libraries that they need besides botocore and its dependencies.
ZIPS = {
    "api": (["api_handler"], API),
    "http": (["http_handler"], [*API, "starlette", "anyio", "idna", "mangum"]),
    "worker": (["stream_handler", "bookkeeper_handler", "notify_handler", "maintenance_handler"], WORKER),
}
DATA = {"resolvers.appsync": "resolvers/appsync_fields.json"}
# Not needed at run time: installers' files, scripts, and wrapt's optional C code.
LEFT_OUT = re.compile(r"\.dist-info/(RECORD|INSTALLER|REQUESTED|WHEEL)$|^bin/|\.so$|\.pyi$|/tests?/")
EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first date that a zip can hold


def build(out: Path) -> dict[str, object]:
    """Build every zip and the manifest into a folder; return the manifest."""
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    sys.path.insert(0, str(ROOT))  # this checkout's modules, not the installed ones
    graph = grimp.build_graph("core", "resolvers", cache_dir=None)
    for name, (entries, libraries) in ZIPS.items():
        staged = out / name
        install(libraries, staged)
        copy_modules(graph, entries, staged)
        compile_all(staged)
        write_zip(staged, out / f"{name}.zip")
        shutil.rmtree(staged)
    manifest: dict[str, object] = {
        "runtime": f"python{PYTHON}",
        "zips": {name: f"{name}.zip" for name in ZIPS},
    }
    (out / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")
    return manifest


def pins(libraries: list[str]) -> str:
    """Return the libraries' pins, with their hashes, from the project's own."""
    blocks = re.split(r"\n(?=\S)", PINS.read_text())
    by_name = {re.split(r"[=; ]", block)[0]: block for block in blocks}
    return "\n".join(by_name[library] for library in libraries) + "\n"


def install(libraries: list[str], to: Path) -> None:
    """Unpack the libraries' wheels for Lambda's platform, whatever this one is."""
    to.mkdir()
    requirements = to.with_suffix(".txt")
    requirements.write_text(pins(libraries))
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
            *("--no-deps", "--require-hashes", "--no-compile", "--only-binary=:all:"),
            *("--platform", "manylinux2014_x86_64", "--platform", "manylinux_2_17_x86_64"),
            *("--implementation", "cp", "--python-version", PYTHON),
            *("--target", to, "--requirement", requirements),
        ],
        check=True,
    )
    requirements.unlink()


def copy_modules(graph: grimp.ImportGraph, entries: list[str], to: Path) -> None:
    """Copy the entries' modules and all modules of the project that they import, directly or not."""
    roots = {f"resolvers.{entry}" for entry in entries}
    needed = roots.union(*(graph.find_upstream_modules(root) for root in roots))
    needed |= {module.rsplit(".", depth)[0] for module in needed for depth in range(1, module.count(".") + 1)}
    for module in needed:
        path = module.replace(".", "/")
        source = f"{path}/__init__.py" if (ROOT / path).is_dir() else f"{path}.py"
        for name in (source, *([DATA[module]] if module in DATA else [])):
            (to / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, to / name)


def compile_all(folder: Path) -> None:
    """Compile every module, never to be compared with its source: both are in one zip."""
    subprocess.run(
        [
            *(sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash"),
            *("-s", folder, "-p", "/var/task", folder),
        ],
        env=os.environ | {"PYTHONHASHSEED": "0"},  # fixes the order of constants in sets
        check=True,
    )


def write_zip(folder: Path, to: Path) -> None:
    """Write a folder's files except those left out, sorted, all with the same date."""
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for path in sorted(folder.rglob("*")):
            name = path.relative_to(folder).as_posix()
            if path.is_file() and not LEFT_OUT.search(name):
                entry = zipfile.ZipInfo(name, EARLIEST)
                entry.external_attr = 0o100644 << 16
                entry.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(entry, path.read_bytes())


def main() -> None:
    """Build the zips and print their sizes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build/package", help="default: %(default)s")
    out = parser.parse_args().out
    manifest = build(out)
    for path in sorted(out.glob("*.zip")):
        sys.stdout.write(f"{path.name:12} {path.stat().st_size / 1e6:6.2f} MB\n")
    sys.stdout.write(f"for {manifest['runtime']} in {out}\n")


if __name__ == "__main__":
    main()
