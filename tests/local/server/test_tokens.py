"""Participants' tokens of the local stack, and `leaderboard token`."""

import stat
from collections.abc import Mapping
from functools import partial
from pathlib import Path

import pytest

from local.cli import main
from local.server import tokens
from resolvers.request.auth import Caller, Credentials, NotAuthenticated, Role


def authenticate(folder: Path, headers: Mapping[str, str]) -> Caller:
    credentials = Credentials({"key": Role.PUBLIC}, partial(tokens.read, tokens.read_secret(folder)))
    return credentials.caller(headers)


def test_the_command_prints_a_token_that_the_stack_accepts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "data"
    assert main(["token", "ann 🏁", "--data", str(folder)]) == 0
    token = capsys.readouterr().out.strip()
    for sent in (token, f"Bearer {token}"):
        assert authenticate(folder, {"authorization": sent}) == Caller(Role.PARTICIPANT, "ann 🏁")
    assert stat.S_IMODE((folder / "token-secret").stat().st_mode) == 0o600
    with pytest.raises(NotAuthenticated):
        authenticate(tmp_path / "another", {"authorization": token})


def test_an_api_key_takes_precedence_over_a_token(tmp_path: Path) -> None:
    token = tokens.mint(tokens.read_secret(tmp_path), "ann", 60)
    assert authenticate(tmp_path, {"x-api-key": "key", "authorization": token}).role is Role.PUBLIC
    with pytest.raises(NotAuthenticated):
        authenticate(tmp_path, {"x-api-key": "wrong", "authorization": token})


def test_a_server_without_a_secret_accepts_no_token() -> None:
    with pytest.raises(NotAuthenticated, match="not provided"):
        Credentials({}).caller({"authorization": tokens.mint("s" * 32, "ann", 60)})


@pytest.mark.parametrize("arguments", [["ann", "--hours", "0"], ["ann", "--hours", "x"], []])
def test_wrong_usage_is_refused(arguments: list[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["token", *arguments, "--data", str(tmp_path)])
    assert ended.value.code == 2


def test_an_invalid_id_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["token", "", "--data", str(tmp_path)]) == 1
    assert "must not be empty" in capsys.readouterr().err
