"""Keys that several tables share, built and taken apart. Pure.

`standings` is a board's id, a period and the board's generation, joined by `#`. Only the id may hold a `#`
itself, so it comes first and the others are split off from the right.
"""

import hashlib

from core.domain.model import Board

SEPARATOR = "#"


def standings_key(board_id: str, period: str, generation: str) -> str:
    """Return the key of a board's standings: an entry's sort key, and the partition key of its counters."""
    return SEPARATOR.join((board_id, period, generation))


def split_standings(standings: str) -> tuple[str, str, str]:
    """Return the board id, the period and the generation in a standings key.

    Raises:
        ValueError: it is no such key.
    """
    board_id, period, generation = standings.rsplit(SEPARATOR, 2)
    return board_id, period, generation


def live_partition(standings: str) -> str:
    """Return the partition of the counters table that holds what notifications keep for some standings."""
    return f"{standings}{SEPARATOR}live"


def rank_shard(standings: str, shard: int) -> str:
    """Return the partition key of one index shard."""
    return f"{standings}{SEPARATOR}{shard}"


def rank_shards(board: Board, standings: str) -> list[str]:
    """Return the partition keys of all index shards of some standings."""
    return [rank_shard(standings, shard) for shard in range(board.shards)]


def shard_of(board: Board, participant_id: str) -> int:
    """Return the number of a participant's index shard."""
    return participant_hash(participant_id) % board.shards


def participant_hash(participant_id: str) -> int:
    """Return a number from 0 to 2^32 - 1 that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(participant_id.encode(), digest_size=4).digest(), "big")
