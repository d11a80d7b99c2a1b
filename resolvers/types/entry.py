# mypy: disable-error-code=untyped-decorator
"""Participants and their entries."""

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Self

import strawberry
from strawberry import UNSET

from core.domain import model
from core.domain.errors import InvalidInput
from core.ranking import queries
from resolvers.request.arguments import DEFAULT_PAGE, Limit, NextToken, given, or_default
from resolvers.request.context import Info
from resolvers.request.plain_fields import Asked, prefetched_by
from resolvers.request.rank_loader import RankRequest
from resolvers.request.scalars import AWSJSON
from resolvers.request.selection import in_query, is_selected
from resolvers.request.workers import run_operation
from resolvers.types.rank import Rank
from resolvers.types.score import Score

if TYPE_CHECKING:
    from collections.abc import Sequence


@strawberry.type(description="A player, team or anything else that has entries on boards.")
class Participant:
    """A participant."""

    id: strawberry.ID = strawberry.field(description="The participant's id, such as a user's id.")
    display_name: str | None = strawberry.field(
        description="The name to show; null if none was given. Of an entry's participant, the name given to "
        "that entry; of `participant`, the one given last to any."
    )

    @strawberry.field(
        description="The participant's entries on all boards and in all periods, in pages of at most 1,000."
    )
    async def entries(
        self, info: Info, limit: Limit = DEFAULT_PAGE, next_token: NextToken = UNSET
    ) -> "EntryConnection":
        """Return a page of the participant's entries."""
        page = await run_operation(
            queries.participant_entries,
            info.context.db,
            info.context.boards,
            self.id,
            or_default(limit, DEFAULT_PAGE),
            given(next_token),
            info.context.caller.sees_hidden,
        )
        return EntryConnection.of(page)


async def _ranks(entries: "Sequence[Entry]", asked: Asked) -> "list[Rank | BaseException | None]":
    """Return the ranks of some entries, or why they have none."""
    strategy = or_default(asked.arguments.get("strategy"), model.RankStrategy.AUTO)
    position = "position" in asked.selected
    current = [entry for entry in entries if entry.standing and entry.rank_then is None]
    loads = [
        asked.context.ranks.load(RankRequest(entry.source, strategy, position, asked.in_query))
        for entry in current
    ]
    found = dict(zip(map(id, current), await asyncio.gather(*loads, return_exceptions=True), strict=True))
    ranks = (found.get(id(entry), entry.rank_then) for entry in entries)
    return [Rank.of(rank) if isinstance(rank, model.Rank) else rank for rank in ranks]


@strawberry.type(description="A participant's score on one board in one period.")
class Entry:
    """An entry."""

    source: strawberry.Private[model.Entry]
    standing: strawberry.Private[bool]  # false once removed
    rank_then: strawberry.Private[model.Rank | None]  # the archived rank

    leaderboard_id: strawberry.ID = strawberry.field(description="The board's id.")
    period: str = strawberry.field(
        description="The period's explicit key, such as all-time or daily-2026-11-30."
    )
    participant: Participant = strawberry.field(description="Whose entry it is.")
    score: Score = strawberry.field(description="The standing score.")
    achieved_at: datetime = strawberry.field(description="When the standing score was reached.")
    submissions: int = strawberry.field(description="How many submissions changed the entry.")
    metadata: AWSJSON | None = strawberry.field(
        description="JSON attached to the entry; null if there is none."
    )
    hidden: bool = strawberry.field(
        description="Whether the entry is hidden. A hidden entry has no rank; only its participant, "
        "signed in, and the board's owner can see it."
    )

    @strawberry.field(
        description="The rank on the whole board, in an archive the rank at that time; null if the entry is "
        "hidden or was removed.",
    )
    @prefetched_by(_ranks)
    async def rank(
        self,
        info: Info,
        strategy: Annotated[
            model.RankStrategy | None,
            strawberry.argument(description="How to compute the rank; AUTO if null."),
        ] = model.RankStrategy.AUTO,
    ) -> Rank | None:
        """Return the entry's rank; one core call computes those of a whole page."""
        position = frozenset({"position"} if is_selected(info, "position") else ())
        asked = Asked(info.context, {"strategy": strategy}, position, in_query(info))
        (rank,) = await _ranks([self], asked)
        if isinstance(rank, BaseException):
            raise rank
        return rank

    @classmethod
    def of(cls, entry: model.Entry, *, standing: bool = True, rank_then: model.Rank | None = None) -> Self:
        """Wrap an entry.

        Args:
            entry: the core's entry.
            standing: false for one that was just removed.
            rank_then: the rank that an archived entry had.
        """
        return cls(
            source=entry,
            standing=standing,
            rank_then=rank_then,
            leaderboard_id=strawberry.ID(entry.board.id),
            period=entry.period,
            participant=Participant(id=strawberry.ID(entry.participant_id), display_name=entry.display_name),
            score=Score.of(entry.board.components, entry.score),
            achieved_at=entry.achieved_at,
            submissions=entry.submissions,
            metadata=None if entry.metadata is None else AWSJSON(entry.metadata),
            hidden=entry.hidden,
        )


@strawberry.type(description="A page of entries.")
class EntryConnection:
    """A page of entries."""

    items: list[Entry] = strawberry.field(description="The entries of this page.")
    next_token: str | None = strawberry.field(
        description="The token of the next page; null on the last page."
    )
    previous_token: str | None = strawberry.field(
        default=None,
        description="The token of the page before, for `nextToken`; null on the first page, and in lists "
        "that only go forward.",
    )

    @classmethod
    def of(cls, page: model.Page[model.Entry]) -> Self:
        """Wrap a page."""
        return cls(
            items=[Entry.of(entry) for entry in page.items],
            next_token=page.next_token,
            previous_token=page.previous_token,
        )


@strawberry.input(description="Where a page of a leaderboard begins; exactly one field is given.")
class EntryStart:
    """A place in the standings."""

    position: int | None = strawberry.field(
        default=UNSET, description="A position, from 1; as of the counters, like `entryAt`."
    )
    score: list[str] | None = strawberry.field(
        default=UNSET,
        description="A score, one text for each component: the best entry that has it or a worse one.",
    )

    def unpack(self) -> dict[str, Any]:
        """Return the arguments of core.

        Raises:
            InvalidInput: not exactly one is given.
        """
        place = {"position": given(self.position), "score": given(self.score)}
        if sum(value is not None for value in place.values()) != 1:
            raise InvalidInput("from: must have exactly one of position and score")
        return place
