"""Ranks with their bounds, and the rank buckets that they fall in."""

from collections.abc import Sequence
from datetime import datetime
from typing import Self

import strawberry

from core.domain import model


@strawberry.type(description="A named range of ranks, such as the top 10 or the top 1%.")
class RankBucket:
    """A rank bucket."""

    name: str = strawberry.field(description="The bucket's name, unique on its board.")
    from_: int | None = strawberry.field(
        name="from", description="The first rank; null if it depends on the size of the board."
    )
    to: int | None = strawberry.field(
        description="The last rank; null if it depends on the size of the board, or if there is none."
    )
    top_percent: float | None = strawberry.field(
        description="The share of the board, in percent from the top, that the bucket reaches down to."
    )

    @classmethod
    def defined(cls, buckets: Sequence[model.RankBucket]) -> list[Self]:
        """Wrap a board's buckets as defined, best first; no size of the board is known."""
        firsts = [1, *(None if bucket.to is None else bucket.to + 1 for bucket in buckets)]
        return [
            cls(name=bucket.name, from_=first, to=bucket.to, top_percent=bucket.top_percent)
            for first, bucket in zip(firsts, buckets, strict=False)
        ]


@strawberry.type(description="The rank of an entry on the whole board, and how exact it is.")
class Rank:
    """A rank."""

    rank: int = strawberry.field(
        description="The competition rank: equal scores share one, as in 1, 2, 2, 4."
    )
    position: int | None = strawberry.field(
        description="The unique place in rank order, as in 1, 2, 3, 4; null if it is not known exactly."
    )
    total: int = strawberry.field(description="How many entries the board has.")
    percentile: float = strawberry.field(
        description="The share of entries with a worse score, in percent, 0 to 100."
    )
    bucket: RankBucket = strawberry.field(
        description="The rank bucket, with its first and last rank at the board's current size."
    )
    exact: bool = strawberry.field(description="Whether the rank is exact.")
    lower_bound: int = strawberry.field(description="The best rank that is possible.")
    upper_bound: int = strawberry.field(description="The worst rank that is possible.")
    as_of: datetime = strawberry.field(description="The time that the counted data is from.")
    strategy: model.RankStrategy = strawberry.field(description="The strategy that was used.")

    @classmethod
    def of(cls, rank: model.Rank) -> Self:
        """Wrap a rank."""
        return cls(
            rank=rank.rank,
            position=rank.position,
            total=rank.total,
            percentile=rank.percentile,
            bucket=RankBucket(
                name=rank.bucket.name,
                from_=rank.bucket_from,
                to=rank.bucket_to,
                top_percent=rank.bucket.top_percent,
            ),
            exact=rank.exact,
            lower_bound=rank.lower_bound,
            upper_bound=rank.upper_bound,
            as_of=rank.as_of,
            strategy=rank.strategy,
        )
