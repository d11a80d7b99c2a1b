# ruff: noqa: ARG002 - a field that is not available yet takes its arguments and uses none
# mypy: disable-error-code=untyped-decorator
"""What is kept of the past, and what is erased. None of it is available yet."""

from datetime import datetime

import strawberry
from strawberry import UNSET

from resolvers.arguments import DEFAULT_PAGE, Limit, NextToken
from resolvers.errors import not_yet
from resolvers.types.entry import EntryConnection


@strawberry.type(description="A period's standings, frozen.")
class Archive:
    """An archive."""

    id: strawberry.ID = strawberry.field(description="The archive's own id.")
    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    period: str = strawberry.field(description="The period's explicit key.")
    taken_at: datetime = strawberry.field(description="When the standings were frozen.")
    size: int = strawberry.field(description="How many entries it holds.")

    @strawberry.field(description="Its entries, best first. Not yet available.")
    async def entries(self, limit: Limit = DEFAULT_PAGE, next_token: NextToken = UNSET) -> EntryConnection:
        """Refuse, until there are archives."""
        not_yet("Archive.entries")


@strawberry.type(description="A page of archives.")
class ArchiveConnection:
    """A page of archives."""

    items: list[Archive] = strawberry.field(description="The archives of this page.")
    next_token: str | None = strawberry.field(description="Asks for the next page; null on the last.")


@strawberry.type(description="What erasing a participant removed.")
class ForgottenParticipant:
    """A participant who was erased."""

    id: strawberry.ID = strawberry.field(description="The participant's id.")
    entries_removed: int = strawberry.field(description="How many entries were removed.")
