# ruff: noqa: ARG002 - a field that is not available yet takes its arguments and uses none
# mypy: disable-error-code=untyped-decorator
"""Subscription: what AppSync pushes when the mutation named beside a field runs."""

from collections.abc import AsyncGenerator, Iterator
from typing import Annotated

import strawberry
from strawberry.extensions import SchemaExtension
from strawberry.schema_directive import Location
from strawberry.types.graphql import OperationType

from resolvers.arguments import BoardId, ParticipantId
from resolvers.errors import not_yet
from resolvers.types.event import RankBucketChange, TopChange


@strawberry.schema_directive(
    locations=[Location.FIELD_DEFINITION], name="aws_subscribe", print_definition=False
)
class AwsSubscribe:
    """AppSync's directive: the mutations whose results reach the subscribers."""

    mutations: list[str]


@strawberry.type(description="What can be watched. Not yet available.")
class Subscription:
    """Every root field that pushes."""

    @strawberry.subscription(
        description="A participant's moves between rank buckets, also when others' scores cause them. "
        "Not yet available.",
        directives=[AwsSubscribe(mutations=["publishRankBucketChange"])],
    )
    async def on_rank_bucket_change(
        self, leaderboard_id: BoardId, participant_id: ParticipantId
    ) -> AsyncGenerator[RankBucketChange | None, None]:
        """Refuse, until it can be done."""
        not_yet("onRankBucketChange")
        yield None

    @strawberry.subscription(
        description="A board's top whenever it changes. Not yet available.",
        directives=[AwsSubscribe(mutations=["publishTopChange"])],
    )
    async def on_top_change(
        self,
        leaderboard_id: BoardId,
        period: Annotated[str, strawberry.argument(description="The period's explicit key.")],
    ) -> AsyncGenerator[TopChange | None, None]:
        """Refuse, until it can be done."""
        not_yet("onTopChange")
        yield None


class SubscriptionsLater(SchemaExtension):
    """Refuses subscriptions however they come: over plain HTTP their resolvers would not even run."""

    def on_execute(self) -> Iterator[None]:
        """Refuse before the first field."""
        if self.execution_context.operation_type is OperationType.SUBSCRIPTION:
            not_yet("Subscription (onRankBucketChange, onTopChange)")
        yield
