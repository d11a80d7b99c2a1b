# mypy: disable-error-code=untyped-decorator
"""Query: read the arguments, make one core call, wrap its result."""

from typing import Annotated

import strawberry
from strawberry import UNSET

from core.ranking import queries
from resolvers.request.arguments import DEFAULT_PAGE, Limit, NextToken, given, or_default
from resolvers.request.context import Info
from resolvers.request.selection import is_selected
from resolvers.request.workers import run_operation
from resolvers.types.board import Leaderboard, LeaderboardConnection
from resolvers.types.entry import Participant


@strawberry.type(description="Reads of boards, entries and participants.")
class Query:
    """The root fields that read."""

    @strawberry.field(description="One leaderboard; a LeaderboardNotFound error if there is none.")
    async def leaderboard(
        self,
        info: Info,
        board_id: Annotated[strawberry.ID, strawberry.argument(name="id", description="The board's id.")],
    ) -> Leaderboard | None:
        """Return one board."""
        return Leaderboard.of(await info.context.board(board_id))

    @strawberry.field(description="All leaderboards in the order of their ids, in pages of at most 100.")
    async def leaderboards(
        self, info: Info, limit: Limit = DEFAULT_PAGE, next_token: NextToken = UNSET
    ) -> LeaderboardConnection:
        """Return a page of boards."""
        page = await run_operation(
            info.context.boards.page, or_default(limit, DEFAULT_PAGE), given(next_token)
        )
        return LeaderboardConnection.of(page)

    @strawberry.field(description="One participant; null if they have no entries.")
    async def participant(
        self,
        info: Info,
        participant_id: Annotated[
            strawberry.ID, strawberry.argument(name="id", description="The participant's id.")
        ],
    ) -> Participant | None:
        """Return one participant; all their entries are read only if their name is selected."""
        context = info.context
        sees_hidden = context.caller.sees_hidden
        if is_selected(info, "displayName"):
            named = await run_operation(
                queries.newest_named, context.db, context.boards, participant_id, sees_hidden
            )
            return Participant(id=participant_id, display_name=named.display_name) if named else None
        page = await run_operation(
            queries.participant_entries,
            context.db,
            context.boards,
            participant_id,
            1,
            None,
            sees_hidden,
        )
        return Participant(id=participant_id, display_name=None) if page.items else None
