"""The inputs of the publish mutations, checked: AppSync drops an event that is too large."""

import json
from dataclasses import asdict
from datetime import datetime

import strawberry
from strawberry import UNSET

from core.domain.errors import InvalidInput
from core.domain.limits import MAX_EVENT_BYTES
from core.domain.text import check_id, check_text
from core.notifications.events import RankChangeCause
from resolvers.request.arguments import given
from resolvers.request.scalars import format_date_time
from resolvers.types.event import PERIOD_ALIAS, RankBucketChange, TopChange, TopChangeEntry
from resolvers.types.score import Score

_MAX_TEXT_BYTES = 64  # of a period's key, a bucket's name, a version


@strawberry.input(description="A rank bucket change to publish.")
class RankBucketChangeInput:
    """A change of rank bucket to publish."""

    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    participant_id: strawberry.ID = strawberry.field(description="The participant's id.")
    period: str = strawberry.field(description="The period's explicit key.")
    period_alias: str | None = strawberry.field(default=UNSET, description=PERIOD_ALIAS)
    previous_bucket: str | None = strawberry.field(
        default=UNSET, description="The name of the previous bucket; null for a new entry."
    )
    bucket: str = strawberry.field(description="The name of the new bucket.")
    previous_rank: int | None = strawberry.field(
        default=UNSET, description="The previous rank; null for a new entry."
    )
    rank: int = strawberry.field(description="The new rank.")
    cause: RankChangeCause = strawberry.field(description="Whose score caused the change.")
    version: str = strawberry.field(description="Grows with time for one participant.")
    at: datetime = strawberry.field(description="When the change was detected.")

    def unpack(self) -> RankBucketChange:
        """Return the event that subscribers receive.

        Raises:
            InvalidInput: naming the field and the rule.
        """
        check_id("leaderboardId", self.leaderboard_id)
        check_id("participantId", self.participant_id)
        previous_bucket, previous_rank = given(self.previous_bucket), given(self.previous_rank)
        _check_texts(period=self.period, bucket=self.bucket, version=self.version)
        if previous_bucket is not None:
            _check_texts(previousBucket=previous_bucket)
        _check_rank("rank", self.rank)
        if previous_rank is not None:
            _check_rank("previousRank", previous_rank)
        return RankBucketChange(
            leaderboard_id=self.leaderboard_id,
            participant_id=self.participant_id,
            period=self.period,
            period_alias=given(self.period_alias),
            previous_bucket=previous_bucket,
            bucket=self.bucket,
            previous_rank=previous_rank,
            rank=self.rank,
            cause=self.cause,
            version=self.version,
            at=self.at,
        )


@strawberry.input(description="A score to publish.")
class PublishedScoreInput:
    """A score as it is shown."""

    value: list[str] = strawberry.field(description="The exact value, one string for each component.")
    number: float = strawberry.field(description="The first component as a float, for charts.")
    display: str = strawberry.field(description="The score as text to show.")


@strawberry.input(description="One row of a top to publish.")
class TopChangeEntryInput:
    """A row of a change of a board's top to publish."""

    rank: int = strawberry.field(description="The rank; equal scores share one.")
    participant_id: strawberry.ID = strawberry.field(description="The participant's id.")
    display_name: str | None = strawberry.field(
        default=UNSET, description="The name to show; null if there is none."
    )
    score: PublishedScoreInput = strawberry.field(description="The standing score.")
    achieved_at: datetime = strawberry.field(description="When the standing score was reached.")

    def unpack(self) -> TopChangeEntry:
        """Return the row that subscribers receive.

        Raises:
            InvalidInput: naming the field and the rule.
        """
        check_id("entries.participantId", self.participant_id)
        _check_rank("entries.rank", self.rank)
        return TopChangeEntry(
            rank=self.rank,
            participant_id=self.participant_id,
            display_name=given(self.display_name),
            score=Score(value=self.score.value, number=self.score.number, display=self.score.display),
            achieved_at=self.achieved_at,
        )


@strawberry.input(description="A top change to publish.")
class TopChangeInput:
    """A change of a board's top to publish."""

    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    period: str = strawberry.field(description="The period's explicit key.")
    period_alias: str | None = strawberry.field(default=UNSET, description=PERIOD_ALIAS)
    entries: list[TopChangeEntryInput] = strawberry.field(description="The best entries, best first.")
    version: str = strawberry.field(description="Grows with time for one board.")
    at: datetime = strawberry.field(description="When the change was detected.")

    def unpack(self) -> TopChange:
        """Return the event that subscribers receive.

        Raises:
            InvalidInput: naming the field and the rule.
        """
        check_id("leaderboardId", self.leaderboard_id)
        _check_texts(period=self.period, version=self.version)
        change = TopChange(
            leaderboard_id=self.leaderboard_id,
            period=self.period,
            period_alias=given(self.period_alias),
            entries=[entry.unpack() for entry in self.entries],
            version=self.version,
            at=self.at,
        )
        _check_size(change)
        return change


def _check_texts(**texts: str) -> None:
    for field, text in texts.items():
        if not text:
            raise InvalidInput(f"{field}: must not be empty")
        check_text(field, text, _MAX_TEXT_BYTES)


def _check_rank(field: str, rank: int) -> None:
    if rank < 1:
        raise InvalidInput(f"{field}: must be at least 1, not {rank}")


def _check_size(change: TopChange) -> None:
    """Check the size, which a rank bucket change never exceeds."""
    event = json.dumps(asdict(change), default=format_date_time, ensure_ascii=False)
    size = len(event.encode(errors="surrogatepass"))
    if size > MAX_EVENT_BYTES:
        raise InvalidInput(f"input: must be at most {MAX_EVENT_BYTES} bytes of JSON, not {size}")
