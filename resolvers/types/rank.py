"""Ranks, how true they are, and the named buckets that they fall in."""

from collections.abc import Sequence
from datetime import datetime
from typing import Self

import strawberry

from core.domain import model


@strawberry.type(description="A named stretch of ranks, such as the top 10 or the best 1%.")
class RankBucket:
    """A rank bucket."""

    name: str = strawberry.field(description="The bucket's name, unique on its board.")
    from_: int | None = strawberry.field(
        name="from", description="Its first rank; null where that depends on the size of the board."
    )
    to: int | None = strawberry.field(
        description="Its last rank; null for everyone else, or where that depends on the size of the board."
    )
    top_percent: float | None = strawberry.field(
        description="The share of the board, from the top, that it reaches to, in percent."
    )

    @classmethod
    def defined(cls, buckets: Sequence[model.RankBucket]) -> list[Self]:
        """Wrap a board's buckets as they are defined, best first, before any size is known."""
        firsts = [1, *(None if bucket.to is None else bucket.to + 1 for bucket in buckets)]
        return [
            cls(name=bucket.name, from_=first, to=bucket.to, top_percent=bucket.top_percent)
            for first, bucket in zip(firsts, buckets, strict=False)
        ]


@strawberry.type(description="Where an entry stands on the whole board, and how true that is.")
class Rank:
    """A rank."""

    rank: int = strawberry.field(description="Competition rank: equal scores share one, as in 1, 2, 2, 4.")
    position: int | None = strawberry.field(
        description="Place in the full order, no two alike: 1, 2, 3, 4; null when it is not known exactly."
    )
    total: int = strawberry.field(description="Entries on the board.")
    percentile: float = strawberry.field(description="Share of the board strictly below, 0 to 100.")
    bucket: RankBucket = strawberry.field(description="The bucket that the rank falls in, at this size.")
    exact: bool = strawberry.field(description="Whether the rank is exact.")
    lower_bound: int = strawberry.field(description="The best rank that it can be.")
    upper_bound: int = strawberry.field(description="The worst rank that it can be.")
    as_of: datetime = strawberry.field(description="The time that what was counted stands for.")
    strategy: model.RankStrategy = strawberry.field(description="The way of finding it that answered.")

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
