"""A running local stack with one board, and the `import` command on it."""

import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from core.boards import Boards
from core.domain.board import define_board
from core.domain.model import (
    Board,
    Entry,
    ScorePolicy,
)
from core.domain.periods import ALL_TIME
from core.ranking import pages
from core.storage.database import Database
from local.cli import main

THEN = datetime(2024, 11, 30, 12, tzinfo=UTC)


class World:
    """A running local stack, as commands find it, and one board on it."""

    def __init__(self, folder: Path, db: Database) -> None:
        self.folder = folder
        self.db = db
        self.boards = Boards(db, cache_seconds=0)
        self.board_id = f"board-{uuid.uuid4().hex}"

    def create(self, policy: ScorePolicy = ScorePolicy.BEST, **definition: Any) -> Board:
        board = define_board(id=self.board_id, policy=policy, now=datetime.now(UTC), **definition)
        return self.boards.create(board)

    def write(self, content: str | bytes, name: str = "scores.csv") -> Path:
        path = self.folder / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def arguments(self, file: Path | str, *options: str) -> list[str]:
        return ["import", str(file), "--board", self.board_id, "--data", str(self.folder), *options]

    def run(self, file: Path | str, *options: str) -> int:
        return main(self.arguments(file, *options))

    def entries(self) -> dict[str, Entry]:
        board = self.boards.get(self.board_id)
        return {entry.participant_id: entry for entry in pages.entries(self.db, board, ALL_TIME, 1000).items}

    def scores(self) -> dict[str, tuple[int, ...]]:
        return scores_of(self.db, self.boards.get(self.board_id))


def scores_of(db: Database, board: Board) -> dict[str, tuple[int, ...]]:
    return {entry.participant_id: entry.score for entry in pages.entries(db, board, ALL_TIME, 1000).items}
