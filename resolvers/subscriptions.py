# mypy: disable-error-code=untyped-decorator
"""The Subscription type: AppSync pushes the result of the mutation named beside each field."""

from collections.abc import AsyncIterator, Iterator
from typing import Annotated

import strawberry
from strawberry import UNSET
from strawberry.extensions import SchemaExtension
from strawberry.types.graphql import OperationType

from core.domain.errors import InvalidInput
from core.domain.periods import current_name, resolve_period
from core.domain.text import check_id
from resolvers.directives import AwsSubscribe
from resolvers.request.arguments import BoardId, ParticipantId, given
from resolvers.request.context import Context, Info
from resolvers.types.event import RankBucketChange, TopChange

PERIOD = (
    "all-time; daily, weekly or monthly for the current period, and the next one once it has ended; "
    "or an explicit key such as daily-2026-11-30."
)


async def admit(
    context: Context, board_id: str, participant_id: str | None = None, period: str | None = None
) -> bool:
    """Check a new subscription and return whether `period` is an alias, such as daily.

    AppSync calls the field for nothing else. An event has its period's explicit key, and also the alias
    if the period was current when the event was published. So a subscription by alias moves to the next
    period by itself.

    The error must not be Unauthorized, on which Amplify closes its whole socket.

    Raises:
        LeaderboardNotFound: the board does not exist, or not for this caller.
        InvalidInput: naming an argument that no event can match.
    """
    board = await context.board(board_id)
    if participant_id is not None:
        check_id("participantId", participant_id)
    if period is None:
        return False
    now = context.now()
    key = resolve_period(board, period, now)
    if key != period and current_name(board, key, now) != period:
        raise InvalidInput("period: a subscription follows the current period, or one named by its key")
    return key != period


@strawberry.type(description="Events that clients receive over a WebSocket.")
class Subscription:
    """The root fields that push events."""

    @strawberry.subscription(
        description="A participant's rank bucket changes, also those that other participants' scores cause. "
        "Subscribe first, then query the rank, so that no change in between is missed.",
        directives=[AwsSubscribe(mutations=["publishRankBucketChange"])],
    )
    async def on_rank_bucket_change(
        self,
        info: Info,
        leaderboard_id: BoardId,
        participant_id: ParticipantId,
        period: Annotated[
            str | None,
            strawberry.argument(description=f"All periods if omitted, none if null; else {PERIOD}"),
        ] = UNSET,
    ) -> AsyncIterator[RankBucketChange | None]:
        """Subscribe to a participant's rank bucket changes."""
        key = given(period)
        by_alias = await admit(info.context, leaderboard_id, participant_id, key)
        arguments: dict[str, str | None] = {
            "leaderboard_id": leaderboard_id,
            "participant_id": participant_id,
        }
        if _is_named(info, "period"):
            # null matches only null, as on AppSync
            arguments["period_alias" if by_alias else "period"] = key
        return await info.context.subscribe(RankBucketChange, arguments)

    @strawberry.subscription(
        description="The best entries of a board whenever they change, at most once a second.",
        directives=[AwsSubscribe(mutations=["publishTopChange"])],
    )
    async def on_top_change(
        self,
        info: Info,
        leaderboard_id: BoardId,
        period: Annotated[str, strawberry.argument(description=PERIOD)],
    ) -> AsyncIterator[TopChange | None]:
        """Subscribe to a board's top changes."""
        by_alias = await admit(info.context, leaderboard_id, period=period)
        arguments = {"leaderboard_id": leaderboard_id, "period_alias" if by_alias else "period": period}
        return await info.context.subscribe(TopChange, arguments)


def _is_named(info: Info, argument: str) -> bool:
    """Return whether the query names an argument. On AppSync a variable that is not set counts as null."""
    return any(node.name.value == argument for node in info._raw_info.field_nodes[0].arguments or ())


class SubscriptionsBySocket(SchemaExtension):
    """Refuses subscriptions over plain HTTP, where nothing can be pushed."""

    def on_execute(self) -> Iterator[None]:
        """Check before the first field is resolved."""
        context = self.execution_context
        if context.operation_type is OperationType.SUBSCRIPTION and context.context.reader is None:
            raise InvalidInput("subscription: must come over a WebSocket, on this path or /graphql/realtime")
        yield
