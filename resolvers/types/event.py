"""The events that subscribers receive."""

from datetime import datetime

import strawberry

from core.notifications.events import RankChangeCause
from resolvers.types.score import Score

PERIOD_ALIAS = "daily, weekly or monthly if the period was the current one when the event was published."


@strawberry.type(description="The event that a participant's rank bucket changed.")
class RankBucketChange:
    """A change of rank bucket."""

    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    participant_id: strawberry.ID = strawberry.field(description="The participant's id.")
    period: str = strawberry.field(description="The period's explicit key.")
    period_alias: str | None = strawberry.field(description=PERIOD_ALIAS)
    previous_bucket: str | None = strawberry.field(
        description="The name of the previous bucket; null for a new entry."
    )
    bucket: str = strawberry.field(description="The name of the new bucket.")
    previous_rank: int | None = strawberry.field(description="The previous rank; null for a new entry.")
    rank: int = strawberry.field(description="The new rank.")
    cause: RankChangeCause = strawberry.field(description="Whose score caused the change.")
    version: str = strawberry.field(
        description="Grows with time for one participant. Drop an event that is not above the last seen."
    )
    at: datetime = strawberry.field(description="When the change was detected.")


@strawberry.type(description="One row of a board's top.")
class TopChangeEntry:
    """A row of a change of a board's top."""

    rank: int = strawberry.field(description="The rank; equal scores share one.")
    participant_id: strawberry.ID = strawberry.field(description="The participant's id.")
    display_name: str | None = strawberry.field(description="The name to show; null if none was given.")
    score: Score = strawberry.field(description="The standing score.")
    achieved_at: datetime = strawberry.field(description="When the standing score was reached.")


@strawberry.type(description="The event that the best entries of a board changed.")
class TopChange:
    """A change of a board's top."""

    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    period: str = strawberry.field(description="The period's explicit key.")
    period_alias: str | None = strawberry.field(description=PERIOD_ALIAS)
    entries: list[TopChangeEntry] = strawberry.field(description="The best entries, at most 25, best first.")
    version: str = strawberry.field(
        description="Grows with time for one board. Drop an event that is not above the last seen."
    )
    at: datetime = strawberry.field(description="When the change was detected.")
