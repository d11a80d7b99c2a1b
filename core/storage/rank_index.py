"""The rank index: entries of one order, spread over shards, read and counted as one.

Every function takes rank keys as plain bounds: `after` and `before` are exclusive, and need not exist.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from core.domain.keys import rank_shards, standings_key
from core.domain.model import Board
from core.domain.rank_key import just_below
from core.storage.database import Database, query_all, query_pages
from core.storage.parallel import run_all
from core.storage.tables import RANK_INDEX

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

    Item = dict[str, Any]


_ENTRY_BYTES = 220
_READ_BYTES = 4096  # for half a unit


@dataclass
class _Shard:
    """How far one shard has been read."""

    partition: str
    items: "list[Item]"
    bound: bytes | None
    done: bool = False


def read_run(
    db: Database,
    board: Board,
    period: str,
    limit: int,
    *,
    from_key: bytes | None = None,
    backward: bool = False,
) -> "list[Item]":
    """Read the next `limit` entries behind (or, backward, before) `from_key`, in the order read.

    Each shard is asked for its fair share and a margin, all at once, and asked again only where its share
    ran out before the run was full. At most `limit` entries of every shard are read.
    """
    standings = standings_key(board.id, period, board.generation)
    shards = [_Shard(partition, [], from_key) for partition in rank_shards(board, standings)]
    share = limit / len(shards)
    ask = min(limit, math.ceil(share + 3 * math.sqrt(share)))
    waiting = shards
    while True:
        run_all([partial(_read_more, db, shard, ask, backward) for shard in waiting])
        found = sorted(
            (item for shard in shards for item in shard.items),
            key=lambda item: bytes(item["rank_key"]["B"]),
            reverse=backward,
        )[:limit]
        # What a shard has not given yet lies behind its bound: it matters if the run reaches past that.
        waiting = [shard for shard in shards if not shard.done and _short_of(shard, found, limit, backward)]
        if not waiting:
            return found


def count_between(db: Database, board: Board, period: str, cuts: Sequence[bytes]) -> list[int]:
    """Count, for each rank key of the rising `cuts`, the entries whose key is less.

    Each stretch between two cuts is counted once on every shard, so all cuts together cost what the worst
    place costs alone: half a read unit for each 4 KB of entries better than the last cut, and at least half
    a unit for each shard and stretch. One round trip for each MB in a shard's stretch.
    """
    standings = standings_key(board.id, period, board.generation)
    counts = run_all(
        [
            partial(_count, db, partition, low, high)
            for low, high in zip([b"", *cuts], cuts, strict=False)
            for partition in rank_shards(board, standings)
        ]
    )
    totals = []
    below = 0
    for at in range(len(cuts)):
        below += sum(counts[at * board.shards : (at + 1) * board.shards])
        totals.append(below)
    return totals


def _read_more(db: Database, shard: _Shard, ask: int, backward: bool) -> None:  # noqa: FBT001
    values: dict[str, AttributeValueTypeDef] = {":shard": {"S": shard.partition}}
    condition = "rank_shard = :shard"
    if shard.bound is not None:
        condition += " AND rank_key < :bound" if backward else " AND rank_key > :bound"
        values[":bound"] = {"B": shard.bound}
    answer = db.client.query(
        TableName=db.tables.scores,
        IndexName=RANK_INDEX,
        KeyConditionExpression=condition,
        ExpressionAttributeValues=values,
        ScanIndexForward=not backward,
        Limit=ask,
    )
    shard.items += answer["Items"]
    shard.done = "LastEvaluatedKey" not in answer
    if not shard.done:
        shard.bound = bytes(answer["LastEvaluatedKey"]["rank_key"]["B"])


def _short_of(shard: _Shard, found: "list[Item]", limit: int, backward: bool) -> bool:  # noqa: FBT001
    if len(found) < limit or shard.bound is None:
        return True
    last = bytes(found[-1]["rank_key"]["B"])
    return shard.bound > last if backward else shard.bound < last


def _count(db: Database, partition: str, low: bytes, high: bytes) -> int:
    """Count one shard's entries from `low` (inclusive) to `high` (exclusive), following its pages."""
    query = _stretch(db, partition, low, high)
    if query is None:
        return 0
    return sum(answer["Count"] for answer in query_pages(db, **query, Select="COUNT"))


def read_keys(db: Database, board: Board, period: str, low: bytes, high: bytes | None) -> list[bytes]:
    """Read the rank keys from `low` (inclusive) to `high` (exclusive; None: to the end), in order.

    Costs half a read unit for each 4 KB of entries in the stretch, at least half a unit for each shard; one
    round trip, and one more for each MB in a shard.
    """
    shards = run_all(key_reads(db, board, period, low, high))
    return sorted(key for shard in shards for key in shard)


def estimate_units(board: Board, entries: int) -> float:
    """Estimate the read units of `read_keys` over so many entries of short ids and no texts."""
    return 0.5 * board.shards * max(1, math.ceil(entries / board.shards * _ENTRY_BYTES / _READ_BYTES))


def read_participants(
    db: Database, board: Board, period: str, low: bytes, high: bytes | None
) -> list[tuple[str, bytes]]:
    """Read who stands from `low` (inclusive) to `high` (exclusive), and their rank keys; as `read_keys`."""
    standings = standings_key(board.id, period, board.generation)
    shards = run_all(
        [
            partial(_items, db, partition, low, high, "participant, standings, rank_key")
            for partition in rank_shards(board, standings)
        ]
    )
    return [
        (item["participant"]["S"], bytes(item["rank_key"]["B"]))
        for shard in shards
        for item in shard
        if item["standings"]["S"] == standings  # a stranger's item may stand in any shard
    ]


def key_reads(
    db: Database, board: Board, period: str, low: bytes, high: bytes | None
) -> list[Callable[[], list[bytes]]]:
    """Give the calls that `read_keys` makes, one for each shard, to be made along with others."""
    standings = standings_key(board.id, period, board.generation)
    return [partial(_keys, db, partition, low, high) for partition in rank_shards(board, standings)]


def _keys(db: Database, partition: str, low: bytes, high: bytes | None) -> list[bytes]:
    return [bytes(item["rank_key"]["B"]) for item in _items(db, partition, low, high, "rank_key")]


def _items(db: Database, partition: str, low: bytes, high: bytes | None, attributes: str) -> "list[Item]":
    """Read these attributes of one shard's entries from `low` (inclusive) to `high` (exclusive)."""
    query = _stretch(db, partition, low, high)
    if query is None:
        return []
    return list(query_all(db, **query, ProjectionExpression=attributes))


def _stretch(db: Database, partition: str, low: bytes, high: bytes | None) -> "dict[str, Any] | None":
    """Describe one shard's entries from `low` (inclusive) to `high` (exclusive); None: there can be none."""
    values: dict[str, AttributeValueTypeDef] = {":shard": {"S": partition}}
    end = just_below(high) if high is not None else None
    if (high is not None and end is None) or (end is not None and low > end):
        return None
    condition = "rank_shard = :shard"
    if end is not None and low:
        condition += " AND rank_key BETWEEN :low AND :end"
    elif end is not None:
        condition += " AND rank_key <= :end"
    elif low:
        condition += " AND rank_key >= :low"
    if low:
        values[":low"] = {"B": low}
    if end is not None:
        values[":end"] = {"B": end}
    return {
        "TableName": db.tables.scores,
        "IndexName": RANK_INDEX,
        "KeyConditionExpression": condition,
        "ExpressionAttributeValues": values,
    }
