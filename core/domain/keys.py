"""Every key of the tables, built and taken apart in one place. Pure.

`standings` names one order of one board: its id, the period and the board's generation, joined by `#`.
Only an id may hold a `#` itself, and it comes first, so the parts are split off from the right and any id
survives.
"""

import hashlib

from core.domain.model import Board

SEPARATOR = "#"


def standings_key(board_id: str, period: str, generation: str) -> str:
    """Name one board's standings in one period: the sort key of an entry, the partition of its counters."""
    return SEPARATOR.join((board_id, period, generation))


def split_standings(standings: str) -> tuple[str, str, str]:
    """Take a standings key apart into board id, period and generation.

    Raises:
        ValueError: it is none.
    """
    board_id, period, generation = standings.rsplit(SEPARATOR, 2)
    return board_id, period, generation


def live_partition(standings: str) -> str:
    """Name the partition of the counters table that holds what an order's subscribers are told."""
    return f"{standings}{SEPARATOR}live"


def rank_shard(standings: str, shard: int) -> str:
    """Name one partition of the rank index."""
    return f"{standings}{SEPARATOR}{shard}"


def rank_shards(board: Board, standings: str) -> list[str]:
    """Name every partition of the rank index that holds entries of these standings."""
    return [rank_shard(standings, shard) for shard in range(board.shards)]


def shard_of(board: Board, participant_id: str) -> int:
    """Give a participant's index shard: the same in every process, on every machine."""
    digest = hashlib.blake2b(participant_id.encode(), digest_size=4).digest()
    return int.from_bytes(digest, "big") % board.shards
