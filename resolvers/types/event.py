"""The events that subscribers receive."""

from datetime import datetime

import strawberry

from core.notifications.events import RankChangeCause
from resolvers.scalars import AWSJSON


@strawberry.type(description="A participant moved into another rank bucket.")
class RankBucketChange:
    """A change of rank bucket."""

    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    participant_id: strawberry.ID = strawberry.field(description="Who moved.")
    period: str = strawberry.field(description="The period's explicit key.")
    previous_bucket: str | None = strawberry.field(description="The bucket left; null for a new entry.")
    bucket: str = strawberry.field(description="The bucket entered.")
    previous_rank: int | None = strawberry.field(description="The rank before; null for a new entry.")
    rank: int = strawberry.field(description="The rank now.")
    cause: RankChangeCause = strawberry.field(description="Whose score caused it.")
    version: str = strawberry.field(
        description="Grows with time for one participant: drop an event that is older than the last seen."
    )
    at: datetime = strawberry.field(description="When it was noticed.")


@strawberry.type(description="The top of a board changed.")
class TopChange:
    """A change of a board's top."""

    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    period: str = strawberry.field(description="The period's explicit key.")
    entries: AWSJSON = strawberry.field(description="The new top, best first, as JSON.")
    version: str = strawberry.field(
        description="Grows with time for one board: drop an event that is older than the last seen."
    )
    at: datetime = strawberry.field(description="When it was noticed.")
