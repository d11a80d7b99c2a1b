"""How entries are spread over the scores."""

from typing import Self

import strawberry

from core.ranking.distribution import Bin


@strawberry.type(description="A range of scores and how many entries are in it.")
class DistributionBin:
    """A bin."""

    from_: str = strawberry.field(name="from", description="The worst value of the first component in it.")
    to: str = strawberry.field(description="The best value of the first component in it.")
    count: int = strawberry.field(description="How many entries it has.")
    buckets: list[str] = strawberry.field(
        description="The names of the rank buckets that its places fall in, best first."
    )

    @classmethod
    def of(cls, found: Bin) -> Self:
        """Wrap a bin."""
        return cls(from_=found.worst, to=found.best, count=found.count, buckets=list(found.buckets))
