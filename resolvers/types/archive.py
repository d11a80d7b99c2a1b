# mypy: disable-error-code=untyped-decorator
"""What is kept of the past, and what is erased."""

import asyncio
from datetime import datetime
from typing import Self

import strawberry
from strawberry import UNSET

from core.archives.read import archive_entries
from core.domain import model
from resolvers.request.arguments import DEFAULT_PAGE, Limit, NextToken, given, or_default
from resolvers.request.context import Info
from resolvers.types.entry import Entry, EntryConnection


@strawberry.type(description="A period's standings, frozen.")
class Archive:
    """An archive."""

    id: strawberry.ID = strawberry.field(description="The archive's own id.")
    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    period: str = strawberry.field(description="The period's explicit key.")
    taken_at: datetime = strawberry.field(description="When the standings were frozen.")
    size: int = strawberry.field(description="How many entries it holds; so far, while it is not complete.")
    complete: bool = strawberry.field(
        description="Whether it has been taken. Until then it is in no list, and its entries cannot be read."
    )

    @strawberry.field(
        description="Its entries, best first, with their ranks of then, in pages of at most 1,000. Of a "
        "participant who was forgotten since, the id is empty."
    )
    async def entries(
        self, info: Info, limit: Limit = DEFAULT_PAGE, next_token: NextToken = UNSET
    ) -> EntryConnection:
        """Give a page of the frozen standings."""
        page = await asyncio.to_thread(
            archive_entries,
            info.context.db,
            self.id,
            or_default(limit, DEFAULT_PAGE),
            given(next_token),
        )
        return EntryConnection(
            items=[Entry.of(entry, rank_then=rank) for entry, rank in page.items], next_token=page.next_token
        )

    @classmethod
    def of(cls, archive: model.Archive) -> Self:
        """Wrap an archive."""
        return cls(
            id=strawberry.ID(archive.id),
            leaderboard_id=strawberry.ID(archive.board_id),
            period=archive.period,
            taken_at=archive.taken_at,
            size=archive.size,
            complete=archive.complete,
        )


@strawberry.type(description="A page of archives.")
class ArchiveConnection:
    """A page of archives."""

    items: list[Archive] = strawberry.field(description="The archives of this page.")
    next_token: str | None = strawberry.field(description="Asks for the next page; null on the last.")

    @classmethod
    def of(cls, page: model.Page[model.Archive]) -> Self:
        """Wrap a page."""
        return cls(items=[Archive.of(archive) for archive in page.items], next_token=page.next_token)


@strawberry.type(description="What erasing a participant removed.")
class ForgottenParticipant:
    """A participant who was erased."""

    id: strawberry.ID = strawberry.field(description="The participant's id.")
    entries_removed: int = strawberry.field(description="How many entries were removed.")
