"""Rank buckets: a board's named ranges of ranks. Pure."""

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal

from core.domain.errors import InvalidInput
from core.domain.limits import MAX_RANK_BUCKETS
from core.domain.model import RankBucket
from core.domain.text import check_name

EVERYONE = "Everyone"
DEFAULT_BUCKETS = (
    RankBucket("Top 1", to=1),
    RankBucket("Top 3", to=3),
    RankBucket("Top 10", to=10),
    RankBucket("Top 100", to=100),
    RankBucket("Top 1%", top_percent=1.0),
    RankBucket("Top 10%", top_percent=10.0),
    RankBucket("Top 50%", top_percent=50.0),
    RankBucket(EVERYONE),
)


def check_buckets(buckets: Sequence[RankBucket]) -> tuple[RankBucket, ...]:
    """Return a board's buckets, with "Everyone" added if they do not cover every rank.

    Raises:
        InvalidInput: naming the bucket and the rule.
    """
    if not 1 <= len(buckets) <= MAX_RANK_BUCKETS:
        raise InvalidInput(f"rankBuckets: must be from 1 to {MAX_RANK_BUCKETS}, not {len(buckets)}")
    to, percent = 0, 0.0
    for at, bucket in enumerate(buckets):
        field = f"rankBuckets[{at}]"
        if not bucket.name:
            raise InvalidInput(f"{field}.name: must not be empty")
        check_name(f"{field}.name", bucket.name, 64)
        if bucket.to is not None and bucket.top_percent is not None:
            raise InvalidInput(f"{field}: must have one of to and topPercent, not both")
        if bucket.to is not None:
            if bucket.to <= to:
                raise InvalidInput(f"{field}.to: must be above {to}, not {bucket.to}")
            to = bucket.to
        elif bucket.top_percent is not None:
            if not percent < bucket.top_percent <= 100:
                raise InvalidInput(
                    f"{field}.topPercent: must be above {percent:g}, at most 100, not {bucket.top_percent:g}"
                )
            percent = bucket.top_percent
        elif at < len(buckets) - 1:
            raise InvalidInput(f"{field}: must have to or topPercent; only the last bucket may have neither")
    names = [bucket.name for bucket in buckets]
    last = buckets[-1]
    covered = last.to is None and last.top_percent in (None, 100)
    if not covered:
        names.append(EVERYONE)
    if len(set(names)) != len(names):
        raise InvalidInput("rankBuckets: names must differ from one another")
    return tuple(buckets) if covered else (*buckets, RankBucket(EVERYONE))


def find_bucket(buckets: Sequence[RankBucket], rank: int, total: int) -> tuple[RankBucket, int, int | None]:
    """Return a rank's bucket on a board of `total` entries, and its first and last rank (None: no end).

    It is the first bucket, best first, that reaches down to the rank. A share of the board is rounded up: the
    top 1 % of 10 entries is one entry.
    """
    start = 1
    for bucket in buckets:
        end = last_place(bucket, total)
        if end is None or rank <= end:
            return bucket, start, end
        start = max(start, end + 1)
    # Only a rank read later than `total` can lie beyond a last bucket of 100 %.
    return buckets[-1], start, None


def last_place(bucket: RankBucket, total: int) -> int | None:
    """Return the last rank of a bucket on a board of `total` entries, None if it has no end."""
    if bucket.to is not None:
        return bucket.to
    if bucket.top_percent is not None:
        share = Decimal(str(bucket.top_percent)) * total / 100
        return int(share.to_integral_value(ROUND_CEILING))
    return None
