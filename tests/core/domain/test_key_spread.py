"""Writes at a board's peak spread over its index shards, whatever participants' ids look like."""

import random
import uuid
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from core.domain.board import define_board
from core.domain.keys import shard_of

PARTITION = 1_000  # write units a second that DynamoDB gives one partition key
MOVE = 2  # write units on the index: the old place is deleted, the new one put
SECONDS = 5
IDS: dict[str, Callable[[int], str]] = {
    "sequential": str,
    "padded": "player-{:09}".format,
    "UUIDs": lambda number: str(uuid.UUID(int=random.Random(number).getrandbits(128), version=4)),
    "emails": lambda number: f"user.{number}@example.com",
    "even numbers": lambda number: str(2 * number),
}


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("peak", [1_000, 4_000, 40_000])
def test_the_busiest_index_shard(ids: str, peak: int) -> None:
    """No second of writes by random participants takes more than a partition gives."""
    board = define_board(id="board", now=datetime(2026, 1, 1, tzinfo=UTC), peak_writes_per_second=peak)
    chance = random.Random(peak)
    for _ in range(SECONDS):
        shards = Counter(shard_of(board, IDS[ids](chance.randrange(10_000_000))) for _ in range(peak))
        busiest = MOVE * max(shards.values())
        assert busiest < PARTITION
        assert busiest > MOVE * peak / board.shards  # and not below the mean: nothing is left out
