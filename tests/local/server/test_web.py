"""`leaderboard run` with a bad certificate. The tests with Amplify use a good one."""

import subprocess
import sys
from pathlib import Path

import pytest

from local.stack.engine import free_port

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--tls-cert", "{file}"], "--tls-cert and --tls-key: give both"),
        (["--tls-key", "{file}"], "--tls-cert and --tls-key: give both"),
        (["--tls-cert", "{file}", "--tls-key", "{file}"], "--tls-cert {file}"),
        (["--tls-cert", "{file}.none", "--tls-key", "{file}"], "No such file"),
    ],
)
def test_a_bad_certificate_is_reported_in_one_line(tmp_path: Path, arguments: list[str], word: str) -> None:
    file = tmp_path / "file.pem"
    file.write_text("no certificate")
    command = [sys.executable, "-m", "local.cli", "run", "--data", str(tmp_path / "data")]
    command += ["--port", str(free_port()), *(argument.format(file=file) for argument in arguments)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert len(ended.stderr.splitlines()) == 1
    assert word.format(file=file) in ended.stderr
