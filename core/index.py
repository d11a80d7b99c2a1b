"""The rank index: entries of one order, spread over shards, read and counted as one.

Every function takes rank keys as plain bounds: `after` and `before` are exclusive, and need not exist.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from core.database import Database
from core.keys import rank_shards, standings_key
from core.model import Board
from core.parallel import run_all
from core.tables import RANK_INDEX

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.type_defs import AttributeValueTypeDef

    Item = dict[str, Any]


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
            for low, high in zip([None, *cuts], cuts, strict=False)
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


def _count(db: Database, partition: str, low: bytes | None, high: bytes) -> int:
    """Count one shard's entries from `low` (inclusive) to `high` (exclusive), following its pages."""
    end = just_below(high)
    if end is None:
        return 0
    values: dict[str, AttributeValueTypeDef] = {":shard": {"S": partition}, ":end": {"B": end}}
    condition = "rank_shard = :shard AND rank_key <= :end"
    if low is not None:
        condition = "rank_shard = :shard AND rank_key BETWEEN :low AND :end"
        values[":low"] = {"B": low}
        if low > end:
            return 0
    total = 0
    start: dict[str, Any] = {}
    while True:
        answer = db.client.query(
            TableName=db.tables.scores,
            IndexName=RANK_INDEX,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            Select="COUNT",
            **start,
        )
        total += answer["Count"]
        if "LastEvaluatedKey" not in answer:
            return total
        start = {"ExclusiveStartKey": answer["LastEvaluatedKey"]}


def just_below(cut: bytes) -> bytes | None:
    """Give a bound less than `cut` that no rank key less than `cut` exceeds; None: nothing is less.

    A key condition has an inclusive range alone. `cut` is a whole key or the score part of one; a key that
    is less differs from it before its trailing zero bytes, and no key holds 0xff behind its score, where
    UTF-8 stands.
    """
    stem = cut.rstrip(b"\0")
    if not stem:
        return None
    return stem[:-1] + bytes([stem[-1] - 1]) + b"\xff" * (len(cut) - len(stem) + 1)


def just_above(score_part: bytes) -> bytes:
    """Give a cut, as long as the score part or a byte longer, above every key that starts with it."""
    stem = score_part.rstrip(b"\xff")
    if not stem:
        return score_part + b"\xff"
    return stem[:-1] + bytes([stem[-1] + 1]) + b"\0" * (len(score_part) - len(stem))
