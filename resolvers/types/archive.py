# mypy: disable-error-code=untyped-decorator
"""Archives, and the outcome of erasing a participant."""

from datetime import datetime
from typing import Self

import strawberry
from strawberry import UNSET

from core.archives.read import archive_entries
from core.domain import model
from resolvers.request.arguments import DEFAULT_PAGE, Limit, NextToken, given, or_default
from resolvers.request.context import Info
from resolvers.request.workers import run_operation
from resolvers.types.entry import Entry, EntryConnection


@strawberry.type(description="A snapshot of a period's standings.")
class Archive:
    """An archive."""

    id: strawberry.ID = strawberry.field(description="The archive's id.")
    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    period: str = strawberry.field(description="The period's explicit key.")
    taken_at: datetime = strawberry.field(description="When the snapshot was taken.")
    size: int = strawberry.field(description="How many entries are archived: all once it is complete.")
    complete: bool = strawberry.field(
        description="Whether all entries are archived. Until then it is not listed and cannot be read."
    )

    @strawberry.field(
        description="The entries, best first, with the ranks that they had, in pages of at most 1,000. "
        "A participant who was forgotten since has an empty id."
    )
    async def entries(
        self, info: Info, limit: Limit = DEFAULT_PAGE, next_token: NextToken = UNSET
    ) -> EntryConnection:
        """Return a page of the archived entries."""
        page = await run_operation(
            archive_entries,
            info.context.db,
            self.id,
            or_default(limit, DEFAULT_PAGE),
            given(next_token),
        )
        return EntryConnection(
            items=[Entry.of(entry, rank_then=rank) for entry, rank in page.items],
            next_token=page.next_token,
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
    next_token: str | None = strawberry.field(
        description="The token of the next page; null on the last page."
    )

    @classmethod
    def of(cls, page: model.Page[model.Archive]) -> Self:
        """Wrap a page."""
        return cls(items=[Archive.of(archive) for archive in page.items], next_token=page.next_token)


@strawberry.type(description="The outcome of erasing a participant.")
class ForgottenParticipant:
    """The outcome of erasing a participant."""

    id: strawberry.ID = strawberry.field(description="The participant's id.")
    entries_removed: int = strawberry.field(description="How many entries were removed.")
