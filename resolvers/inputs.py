"""The GraphQL inputs of the public API."""

from collections.abc import Sequence
from datetime import datetime

import strawberry
from strawberry import UNSET

import resolvers.types.enums  # noqa: F401 - registers the enums that are used below
from core.domain import board, model
from core.domain.buckets import DEFAULT_BUCKETS
from core.domain.limits import DEFAULT_CLIENT_TIME_ALLOWANCE
from core.submissions.submit import Submission
from resolvers.request.arguments import given, or_default
from resolvers.request.scalars import AWSJSON


@strawberry.input(description="A component of a new board.")
class ScoreComponentInput:
    """A component of a new board."""

    name: str | None = strawberry.field(
        default="score", description="What the number counts, such as points."
    )
    kind: model.ScoreKind | None = strawberry.field(
        default=model.ScoreKind.INTEGER, description="How the number is written and displayed."
    )
    order: model.SortOrder | None = strawberry.field(
        default=model.SortOrder.DESCENDING, description="Whether the highest or the lowest is best."
    )
    decimals: int | None = strawberry.field(
        default=UNSET,
        description="How many decimal places are stored; "
        "by default 2 for DECIMAL, 3 for DURATION and TIMESTAMP.",
    )
    min: str | None = strawberry.field(default=UNSET, description="The lowest value accepted.")
    max: str | None = strawberry.field(default=UNSET, description="The highest value accepted.")

    def unpack(self) -> board.ComponentInput:
        """Return the core's form."""
        return board.ComponentInput(
            name=or_default(self.name, "score"),
            kind=or_default(self.kind, model.ScoreKind.INTEGER),
            order=or_default(self.order, model.SortOrder.DESCENDING),
            decimals=given(self.decimals),
            min=given(self.min),
            max=given(self.max),
        )


@strawberry.input(
    description="A named range of ranks that ends at `to` or `topPercent`; the last may have neither."
)
class RankBucketInput:
    """A rank bucket of a board."""

    name: str = strawberry.field(description="The bucket's name, unique on its board.")
    to: int | None = strawberry.field(default=UNSET, description="The last rank of the bucket.")
    top_percent: float | None = strawberry.field(
        default=UNSET,
        description="The share of the board, in percent from the top, that the bucket reaches down to.",
    )

    def unpack(self) -> model.RankBucket:
        """Return the core's form."""
        return model.RankBucket(self.name, to=given(self.to), top_percent=given(self.top_percent))


@strawberry.input(description="A new board.")
class CreateLeaderboardInput:
    """A new board."""

    id: strawberry.ID = strawberry.field(description="The board's id.")
    title: str | None = strawberry.field(default=UNSET, description="The title to show.")
    components: list[ScoreComponentInput] | None = strawberry.field(
        default=UNSET,
        description="The numbers that a score consists of, in the order in which they are compared. "
        "By default one INTEGER, the highest is best.",
    )
    policy: model.ScorePolicy | None = strawberry.field(
        default=model.ScorePolicy.BEST, description="What a submission does to the standing score."
    )
    tie_break: model.TieBreak | None = strawberry.field(
        default=model.TieBreak.EARLIEST, description="Which of two equal scores has the better position."
    )
    periods: list[model.PeriodKind] | None = strawberry.field(
        default_factory=lambda: [model.PeriodKind.ALL_TIME],
        description="The kinds of period to keep standings for; a score counts in one period of each.",
    )
    time_zone: str | None = strawberry.field(
        default="UTC", description="The IANA time zone of the periods, such as Europe/Rome."
    )
    counter_mode: model.CounterMode | None = strawberry.field(
        default=model.CounterMode.STREAM, description="When the rank counters are updated."
    )
    peak_writes_per_second: int | None = strawberry.field(
        default=1000,
        description="The most submissions a second to expect; determines the number of index shards.",
    )
    expected_size: int | None = strawberry.field(
        default=UNSET, description="How many entries to expect; determines the size of the rank counters."
    )
    rank_buckets: list[RankBucketInput] | None = strawberry.field(
        default=UNSET,
        description="The rank buckets, best first. By default top 1, 3, 10, 100, 1%, 10%, 50% and everyone.",
    )
    client_access: model.ClientAccess | None = strawberry.field(
        default=model.ClientAccess.READ, description="What clients other than the owner may do."
    )
    client_time_allowance: int | None = strawberry.field(
        default=DEFAULT_CLIENT_TIME_ALLOWANCE,
        description="How many seconds before now, up to 30 days, participants may say that they achieved "
        "their own scores: a score dated back wins ties.",
    )

    def define(self, now: datetime) -> model.Board:
        """Return the board.

        Raises:
            InvalidInput: naming the field and the rule that it breaks.
        """
        components = given(self.components)
        buckets = given(self.rank_buckets)
        return board.define_board(
            id=self.id,
            now=now,
            title=given(self.title),
            components=None if components is None else [component.unpack() for component in components],
            policy=or_default(self.policy, model.ScorePolicy.BEST),
            tie_break=or_default(self.tie_break, model.TieBreak.EARLIEST),
            periods=or_default(self.periods, [model.PeriodKind.ALL_TIME]),
            time_zone=or_default(self.time_zone, "UTC"),
            counter_mode=or_default(self.counter_mode, model.CounterMode.STREAM),
            peak_writes_per_second=or_default(self.peak_writes_per_second, 1000),
            expected_size=given(self.expected_size),
            rank_buckets=None if buckets is None else [bucket.unpack() for bucket in buckets],
            client_access=or_default(self.client_access, model.ClientAccess.READ),
            client_time_allowance=or_default(self.client_time_allowance, DEFAULT_CLIENT_TIME_ALLOWANCE),
        )


@strawberry.input(description="Changes to a board. Omitted fields stay as they are.")
class UpdateLeaderboardInput:
    """Changes to a board."""

    id: strawberry.ID = strawberry.field(description="The board's id.")
    version: int = strawberry.field(
        description="The version that the changes are based on; refused if it is not the current one."
    )
    title: str | None = strawberry.field(default=UNSET, description="The title to show; null removes it.")
    rank_buckets: list[RankBucketInput] | None = strawberry.field(
        default=UNSET, description="The rank buckets, best first; null restores the default."
    )
    periods: list[model.PeriodKind] | None = strawberry.field(
        default=UNSET,
        description="The kinds of period to keep standings for. An added kind starts empty; a dropped one "
        "accepts no more scores.",
    )
    time_zone: str | None = strawberry.field(
        default=UNSET,
        description="The IANA time zone of the periods. It applies from each kind's next period on.",
    )
    client_access: model.ClientAccess | None = strawberry.field(
        default=UNSET, description="What clients other than the owner may do; null restores READ."
    )
    client_time_allowance: int | None = strawberry.field(
        default=UNSET,
        description="How many seconds before now, up to 30 days, participants may say that they achieved "
        "their own scores; null restores 60.",
    )

    def unpack_rank_buckets(self) -> Sequence[model.RankBucket] | model.Unset:
        """Return the core's form of the buckets."""
        if self.rank_buckets is UNSET:
            return model.UNSET
        if self.rank_buckets is None:
            return DEFAULT_BUCKETS
        return [bucket.unpack() for bucket in self.rank_buckets]


@strawberry.input(description="A submission.")
class SubmitScoreInput:
    """A submission."""

    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    participant_id: strawberry.ID = strawberry.field(description="Whose score it is.")
    score: list[str] = strawberry.field(
        description='The exact value, one string for each component. A single one needs no list: "9011".'
    )
    achieved_at: datetime | None = strawberry.field(
        default=UNSET,
        description="When the score was achieved, by default now. It determines the periods that the score "
        "counts in; refused if one of them ended longer ago than the grace time, by default 24 hours.",
    )
    submission_id: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="Makes a retry safe: a submission whose id was used before changes nothing and is "
        "answered as the first was. Other content is a SubmissionConflict. Kept for 7 days by default.",
    )
    display_name: str | None = strawberry.field(
        default=UNSET,
        description="The participant's name to show. A newer one is stored even if the score is refused.",
    )
    metadata: AWSJSON | None = strawberry.field(
        default=UNSET, description="JSON to attach, at most 1,024 bytes."
    )

    def submission(self) -> Submission:
        """Return the core's form."""
        return Submission(
            participant_id=self.participant_id,
            score=self.score,
            achieved_at=given(self.achieved_at),
            display_name=given(self.display_name),
            metadata=given(self.metadata),
            submission_id=given(self.submission_id),
        )


@strawberry.input(description="A correction of a participant's score by an operator.")
class CorrectEntryInput:
    """A correction."""

    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    participant_id: strawberry.ID = strawberry.field(description="Whose entries to correct.")
    score: list[str] = strawberry.field(
        description="The score that stands from now on, better or worse, under any policy."
    )
    achieved_at: datetime | None = strawberry.field(
        default=UNSET,
        description="When it was achieved, which sets the place among ties. By default each entry keeps "
        "its own.",
    )
    period: str | None = strawberry.field(
        default=UNSET,
        description="The only period to correct: all-time; daily, weekly or monthly for the current one; or "
        "a key such as daily-2026-11-30, also of a period that has ended. By default every period that holds "
        "achievedAt, or without achievedAt every current one.",
    )
    reason: str = strawberry.field(description="The reason, kept in the audit record.")


@strawberry.input(description="Changes to an entry. Omitted fields stay as they are; null removes the value.")
class UpdateEntryInput:
    """Changes to an entry."""

    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    participant_id: strawberry.ID = strawberry.field(description="Whose entry it is.")
    display_name: str | None = strawberry.field(default=UNSET, description="The participant's name to show.")
    metadata: AWSJSON | None = strawberry.field(
        default=UNSET, description="JSON to attach, at most 1,024 bytes."
    )
