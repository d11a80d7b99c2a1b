"""The rank index: the entries of some standings, spread over index shards, read and counted as one."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from heapq import merge
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any

from core.domain.keys import rank_shards, standings_key
from core.domain.limits import MAX_RANK_KEY_BYTES
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
    """What was read of one index shard, and the key after which it goes on."""

    partition: str
    items: list[Item]
    after: bytes | None
    done: bool = False


def read_run(
    db: Database,
    board: Board,
    period: str,
    limit: int,
    *,
    from_key: bytes | None = None,
    backward: bool = False,
) -> list[Item]:
    """Read the next `limit` entries after (backward: before) `from_key`, in the order read.

    Costs half a read unit for each 4 KB, at least half a unit for each shard. All shards are asked at once
    for their fair share and a margin, and again only if that ran out before the limit was reached. At most
    `limit` entries of every shard are read.
    """
    standings = standings_key(board.id, period, board.generation)
    shards = [_Shard(partition, [], from_key) for partition in rank_shards(board, standings)]
    share = limit / len(shards)
    ask = min(limit, math.ceil(share + 3 * math.sqrt(share)))
    unread = shards
    while True:
        run_all([partial(_read_more, db, shard, ask, backward=backward) for shard in unread])
        items = chain.from_iterable(shard.items for shard in shards)
        found = sorted(items, key=_rank_key, reverse=backward)[:limit]
        last = _rank_key(found[-1]) if len(found) == limit else None
        unread = [shard for shard in shards if _may_add(shard, last, backward=backward)]
        if not unread:
            return found


def _read_more(db: Database, shard: _Shard, limit: int, *, backward: bool) -> None:
    values: dict[str, AttributeValueTypeDef] = {":shard": {"S": shard.partition}}
    condition = "rank_shard = :shard"
    if shard.after is not None:
        condition += f" AND rank_key {'<' if backward else '>'} :after"
        values[":after"] = {"B": shard.after}
    answer = db.client.query(
        TableName=db.tables.scores,
        IndexName=RANK_INDEX,
        KeyConditionExpression=condition,
        ExpressionAttributeValues=values,
        ScanIndexForward=not backward,
        Limit=limit,
    )
    shard.items += answer["Items"]
    shard.done = "LastEvaluatedKey" not in answer
    if not shard.done:
        shard.after = _rank_key(answer["LastEvaluatedKey"])


def _may_add(shard: _Shard, last: bytes | None, *, backward: bool) -> bool:
    """Return whether unread entries may belong among those found; `last` is None if those are too few."""
    if shard.done or shard.after is None or last is None:
        return not shard.done
    return shard.after > last if backward else shard.after < last


def count_between(db: Database, board: Board, period: str, cuts: Sequence[bytes]) -> list[int]:
    """Count the entries before each of some rising cuts.

    Each range between two cuts is counted once on every shard, so all together cost what the last one costs
    alone: half a read unit for each 4 KB of entries before it, at least half a unit for each shard and range.
    One round trip for each MB in a shard's range.
    """
    standings = standings_key(board.id, period, board.generation)
    counts = run_all(
        [
            partial(_count, db, partition, low, high)
            for low, high in zip([b"", *cuts], cuts, strict=False)
            for partition in rank_shards(board, standings)
        ]
    )
    ranges = range(0, len(counts), board.shards)
    return list(accumulate(sum(counts[start : start + board.shards]) for start in ranges))


def _count(db: Database, partition: str, low: bytes, high: bytes) -> int:
    query = _range_query(db, partition, low, high)
    return sum(answer["Count"] for answer in query_pages(db, **query, Select="COUNT")) if query else 0


def read_keys(db: Database, board: Board, period: str, low: bytes, high: bytes | None) -> list[bytes]:
    """Read the rank keys in the half-open range from `low` to `high` (None: to the end), in order.

    Costs half a read unit for each 4 KB of entries in the range, at least half a unit for each shard; one
    round trip, and one more for each MB in a shard.
    """
    return sorted(chain.from_iterable(run_all(key_reads(db, board, period, low, high))))


def key_reads(
    db: Database, board: Board, period: str, low: bytes, high: bytes | None
) -> list[Callable[[], list[bytes]]]:
    """Return the calls that `read_keys` makes, one for each shard, to be made together with others."""
    standings = standings_key(board.id, period, board.generation)
    return [partial(_read_keys, db, partition, low, high) for partition in rank_shards(board, standings)]


def _read_keys(db: Database, partition: str, low: bytes, high: bytes | None) -> list[bytes]:
    return [_rank_key(item) for item in _iter_items(db, partition, low, high, "rank_key")]


def estimate_units(board: Board, entries: int) -> float:
    """Return about how many read units `read_keys` takes for so many entries with short ids and no texts."""
    return 0.5 * board.shards * max(1, math.ceil(entries / board.shards * _ENTRY_BYTES / _READ_BYTES))


def every_key(db: Database, board: Board, period: str) -> Iterator[bytes]:
    """Yield all rank keys in order, holding a page of each shard: what `read_keys` costs."""
    standings = standings_key(board.id, period, board.generation)
    shards = [_iter_items(db, shard, b"", None, "rank_key") for shard in rank_shards(board, standings)]
    return merge(*(map(_rank_key, items) for items in shards))


def every_participant(
    db: Database, board: Board, period: str, low: bytes, high: bytes | None
) -> Iterator[tuple[str, bytes]]:
    """Yield the participants in a half-open range with their rank keys, in no order: what `read_keys` costs.

    One page is held at a time, in one round trip for each MB.
    """
    standings = standings_key(board.id, period, board.generation)
    for partition in rank_shards(board, standings):
        for item in _iter_items(db, partition, low, high, "participant, standings, rank_key"):
            if item["standings"]["S"] == standings:  # a foreign item may be in any shard
                yield item["participant"]["S"], _rank_key(item)


def _iter_items(
    db: Database, partition: str, low: bytes, high: bytes | None, attributes: str
) -> Iterator[Item]:
    query = _range_query(db, partition, low, high)
    return query_all(db, **query, ProjectionExpression=attributes) if query else iter(())


def _range_query(db: Database, partition: str, low: bytes, high: bytes | None) -> dict[str, Any] | None:
    """Return the query for one shard's entries in a half-open range, None if there can be none."""
    first = low or b"\0"  # a key in a condition must not be empty
    last = b"\xff" * MAX_RANK_KEY_BYTES if high is None else just_below(high)
    if last is None or first > last:
        return None
    return {
        "TableName": db.tables.scores,
        "IndexName": RANK_INDEX,
        "KeyConditionExpression": "rank_shard = :shard AND rank_key BETWEEN :first AND :last",
        "ExpressionAttributeValues": {
            ":shard": {"S": partition},
            ":first": {"B": first},
            ":last": {"B": last},
        },
    }


def _rank_key(item: Item) -> bytes:
    return bytes(item["rank_key"]["B"])
