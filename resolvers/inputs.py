"""The GraphQL inputs of the public contract."""

from collections.abc import Sequence
from datetime import datetime

import strawberry
from strawberry import UNSET

import resolvers.types.enums  # noqa: F401 - makes GraphQL's enums of the core's, before they are used below
from core.domain import board, model
from core.domain.buckets import DEFAULT_BUCKETS
from core.submissions.submit import Submission
from resolvers.request.arguments import given, or_default
from resolvers.request.scalars import AWSJSON


@strawberry.input(description="One number of a score.")
class ScoreComponentInput:
    """A component to make."""

    name: str | None = strawberry.field(default="score", description="What the number is, such as points.")
    kind: model.ScoreKind | None = strawberry.field(
        default=model.ScoreKind.INTEGER, description="How the number is written."
    )
    order: model.SortOrder | None = strawberry.field(
        default=model.SortOrder.DESCENDING, description="Which end is best."
    )
    decimals: int | None = strawberry.field(
        default=UNSET,
        description="Decimal places kept; when left out 2 for a decimal, 3 for a duration or timestamp.",
    )
    min: str | None = strawberry.field(default=UNSET, description="The least value taken.")
    max: str | None = strawberry.field(default=UNSET, description="The greatest value taken.")

    def unpack(self) -> board.ComponentInput:
        """Give the core's form of it."""
        return board.ComponentInput(
            name=or_default(self.name, "score"),
            kind=or_default(self.kind, model.ScoreKind.INTEGER),
            order=or_default(self.order, model.SortOrder.DESCENDING),
            decimals=given(self.decimals),
            min=given(self.min),
            max=given(self.max),
        )


@strawberry.input(
    description="A named stretch of ranks: up to one place, or one share; the last may have neither."
)
class RankBucketInput:
    """A rank bucket to make."""

    name: str = strawberry.field(description="The bucket's name, unique on its board.")
    to: int | None = strawberry.field(default=UNSET, description="Its last rank.")
    top_percent: float | None = strawberry.field(
        default=UNSET, description="The share of the board, from the top, that it reaches to, in percent."
    )

    def unpack(self) -> model.RankBucket:
        """Give the core's form of it."""
        return model.RankBucket(self.name, to=given(self.to), top_percent=given(self.top_percent))


@strawberry.input(description="A leaderboard to make.")
class CreateLeaderboardInput:
    """A leaderboard to make."""

    id: strawberry.ID = strawberry.field(description="The board's id.")
    title: str | None = strawberry.field(default=UNSET, description="The title to show.")
    components: list[ScoreComponentInput] | None = strawberry.field(
        default=UNSET, description="The numbers of a score, compared in turn; one INTEGER when left out."
    )
    policy: model.ScorePolicy | None = strawberry.field(
        default=model.ScorePolicy.BEST, description="What a new submission does to the entry."
    )
    tie_break: model.TieBreak | None = strawberry.field(
        default=model.TieBreak.EARLIEST, description="Who stands first among equal scores."
    )
    periods: list[model.PeriodKind] | None = strawberry.field(
        default_factory=lambda: [model.PeriodKind.ALL_TIME],
        description="The periods that have standings; a submission reaches the current one of each.",
    )
    time_zone: str | None = strawberry.field(
        default="UTC", description="The IANA time zone that the periods follow."
    )
    counter_mode: model.CounterMode | None = strawberry.field(
        default=model.CounterMode.STREAM, description="How the rank counters are kept."
    )
    peak_writes_per_second: int | None = strawberry.field(
        default=1000, description="The most submissions a second; sizes the rank index."
    )
    expected_size: int | None = strawberry.field(
        default=UNSET, description="How many entries to expect; sizes the rank counters."
    )
    rank_buckets: list[RankBucketInput] | None = strawberry.field(
        default=UNSET,
        description="Best first; top 1, 3, 10, 100, 1%, 10%, 50% and everyone when left out.",
    )
    client_access: model.ClientAccess | None = strawberry.field(
        default=model.ClientAccess.READ, description="What clients may do, who are not the board's owner."
    )

    def define(self, now: datetime) -> model.Board:
        """Make the board.

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
        )


@strawberry.input(description="Changes to a leaderboard; what is left out stays.")
class UpdateLeaderboardInput:
    """Changes to a leaderboard."""

    id: strawberry.ID = strawberry.field(description="The board's id.")
    version: int = strawberry.field(description="The version that was read; refused if it has changed since.")
    title: str | None = strawberry.field(default=UNSET, description="The title to show; null clears it.")
    rank_buckets: list[RankBucketInput] | None = strawberry.field(
        default=UNSET, description="Best first; null brings back the default ones."
    )
    periods: list[model.PeriodKind] | None = strawberry.field(
        default=UNSET,
        description="The periods that have standings. Added ones start empty, dropped ones take no more.",
    )
    time_zone: str | None = strawberry.field(
        default=UNSET,
        description="The IANA time zone that the periods follow, each kind from its next period on.",
    )
    client_access: model.ClientAccess | None = strawberry.field(
        default=UNSET, description="What clients may do; null brings back READ."
    )

    def unpack_rank_buckets(self) -> Sequence[model.RankBucket] | model.Unset:
        """Give the core's form of the buckets."""
        if self.rank_buckets is UNSET:
            return model.UNSET
        if self.rank_buckets is None:
            return DEFAULT_BUCKETS
        return [bucket.unpack() for bucket in self.rank_buckets]

    def unpack_client_access(self) -> model.ClientAccess | model.Unset:
        """Give the core's form of what clients may do."""
        if self.client_access is UNSET:
            return model.UNSET
        return or_default(self.client_access, model.ClientAccess.READ)


@strawberry.input(description="A score to submit.")
class SubmitScoreInput:
    """A score to submit."""

    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    participant_id: strawberry.ID = strawberry.field(description="Whose score it is.")
    score: list[str] = strawberry.field(
        description='The exact value, one string a component; one alone needs no list: "9011".'
    )
    achieved_at: datetime | None = strawberry.field(
        default=UNSET,
        description="When it was achieved, which tells its periods; now when left out. Refused once one of "
        "them has been over for longer than the board's grace.",
    )
    submission_id: strawberry.ID | None = strawberry.field(
        default=UNSET,
        description="Makes a retry safe: it changes nothing and is answered alike. The same id with another "
        "body is a conflict. Remembered for a week unless the stack says another.",
    )
    display_name: str | None = strawberry.field(default=UNSET, description="The participant's name to show.")
    metadata: AWSJSON | None = strawberry.field(default=UNSET, description="What to attach, as JSON.")

    def submission(self) -> Submission:
        """Give the core's form of it."""
        return Submission(
            participant_id=self.participant_id,
            score=self.score,
            achieved_at=given(self.achieved_at),
            display_name=given(self.display_name),
            metadata=given(self.metadata),
            submission_id=given(self.submission_id),
        )


@strawberry.input(description="Changes to an entry; what is left out stays, null clears.")
class UpdateEntryInput:
    """Changes to an entry."""

    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    participant_id: strawberry.ID = strawberry.field(description="Whose entry it is.")
    display_name: str | None = strawberry.field(default=UNSET, description="The participant's name to show.")
    metadata: AWSJSON | None = strawberry.field(default=UNSET, description="What to attach, as JSON.")
