"""`leaderboard run` with a bad certificate, and with its own. The tests with Amplify use another good one."""

import ssl
import stat
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from local.server import certificate
from local.server.certificate import local_certificate
from local.stack.engine import free_port
from tests.local.server.test_main import running

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--tls-cert", "{file}"], "--tls-cert and --tls-key: give both"),
        (["--tls-key", "{file}"], "--tls-cert and --tls-key: give both"),
        (["--tls-cert", "{file}", "--tls-key", "{file}"], "--tls-cert {file}"),
        (["--tls", "--tls-cert", "{file}", "--tls-key", "{file}"], "not both"),
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


def test_one_flag_makes_a_certificate_for_localhost(tmp_path: Path) -> None:
    for _ in range(2):
        port = free_port()
        with running(tmp_path, "--tls", "--tls-port", str(port)) as stack:
            trusted = ssl.create_default_context(cafile=str(tmp_path / "tls-cert.pem"))
            for host in ("localhost", "127.0.0.1"):
                answer = httpx.get(f"https://{host}:{port}/health", verify=trusted)
                assert answer.json() == {"status": "ok"}
            assert "tls-cert.pem" in stack.output.read_text()


def test_the_certificate_is_kept_until_it_is_about_to_expire(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = local_certificate(tmp_path / "new")
    first = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in local_certificate(tmp_path / "new")] == first
    assert stat.S_IMODE(paths[1].stat().st_mode) == 0o600
    monkeypatch.setattr(certificate, "_RENEWED_BEFORE", timedelta(days=366))
    assert [path.read_bytes() for path in local_certificate(tmp_path / "new")] != first
