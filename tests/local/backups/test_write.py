"""A backup that is killed resumes, and is complete."""

import gzip
import json
from contextlib import suppress
from pathlib import Path

import pytest

from core.storage.database import Database
from local.backups.state import Part
from local.backups.write import back_up
from local.stack.target import Stack
from tests.support.dying import Killed, MortalClient
from tests.support.stacks import fill_streamed_board


def complete(folder: Path) -> set[str]:
    state = folder / "backup.json"
    parts = json.loads(state.read_text())["parts"] if state.exists() else []
    return {Part(**part).file for part in parts if part["complete"]}


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.thorough)])
def test_a_backup_killed_at_any_request_resumes_and_is_complete(
    stack: Stack, tmp_path: Path, step: int
) -> None:
    fill_streamed_board(stack.db, stack.boards)
    expected = None
    for dies_at in range(1, 20, step):
        for after in (False, True):
            folder = tmp_path / f"{dies_at}-{after}"
            client = MortalClient(stack.db.client, dies_at, after=after)
            mortal = Database(client, stack.db.tables)  # type: ignore[arg-type]
            with suppress(Killed):
                back_up(mortal, folder)
            for path in folder.glob("*.gz"):  # as a killed process may leave it
                if path.name not in complete(folder):
                    path.write_bytes(path.read_bytes() + b"torn")
            back_up(stack.db, folder)
            items = {
                path.name: gzip.decompress(path.read_bytes()) for path in sorted(folder.glob("*.jsonl.gz"))
            }
            expected = expected or items
            assert items == expected
