# mypy: disable-error-code=untyped-decorator
"""Leaderboards: their definition and the reads of their standings."""

from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Concatenate, ParamSpec, Self, TypeVar

import strawberry
from strawberry import UNSET

from core.archives.read import archives_page
from core.domain import model
from core.domain.periods import current_periods, resolve_period
from core.ranking import distribution, pages, queries, ranks, seek
from core.storage.database import Database
from resolvers.request.arguments import (
    DEFAULT_ARCHIVES_PAGE,
    DEFAULT_BINS,
    DEFAULT_PAGE,
    DEFAULT_RADIUS,
    DEFAULT_TOP,
    Limit,
    NextToken,
    ParticipantId,
    Period,
    given,
    or_default,
)
from resolvers.request.context import Info
from resolvers.request.selection import in_query
from resolvers.request.workers import run_operation
from resolvers.types.archive import ArchiveConnection
from resolvers.types.distribution import DistributionBin
from resolvers.types.entry import Entry, EntryConnection, EntryStart
from resolvers.types.period import Period as BoardPeriod
from resolvers.types.rank import Rank, RankBucket
from resolvers.types.score import Score, ScoreComponent

P = ParamSpec("P")
T = TypeVar("T")


@strawberry.type(description="A leaderboard: its definition and its standings.")
class Leaderboard:
    """A leaderboard."""

    board: strawberry.Private[model.Board]

    id: strawberry.ID = strawberry.field(description="The board's id.")
    title: str | None = strawberry.field(description="The title to show; null if it has none.")
    components: list[ScoreComponent] = strawberry.field(
        description="The numbers that a score consists of, in the order in which they are compared."
    )
    policy: model.ScorePolicy = strawberry.field(description="What a submission does to the standing score.")
    tie_break: model.TieBreak = strawberry.field(
        description="Which of two equal scores has the better position."
    )
    periods: list[model.PeriodKind] = strawberry.field(
        description="The kinds of period that the board keeps standings for."
    )
    time_zone: str = strawberry.field(
        description="The IANA time zone of the periods. A change applies from each kind's next period on."
    )
    counter_mode: model.CounterMode = strawberry.field(description="When the rank counters are updated.")
    rank_buckets: list[RankBucket] = strawberry.field(
        description="The rank buckets, best first; together they cover every rank."
    )
    client_access: model.ClientAccess = strawberry.field(
        description="What clients other than the owner may do."
    )
    client_time_allowance: int = strawberry.field(
        description="How many seconds before now participants may say that they achieved their own scores."
    )
    created_at: datetime = strawberry.field(description="When the board was created.")
    closed: bool = strawberry.field(
        description="Whether submissions are refused until the board is reopened."
    )
    version: int = strawberry.field(
        description="Grows with each change; updateLeaderboard requires the current one."
    )

    @strawberry.field(description="The current period of each kind that the board keeps standings for.")
    def current_periods(self, info: Info) -> list[BoardPeriod]:
        """Return the board's current periods."""
        return [BoardPeriod.of(period) for period in current_periods(self.board, info.context.now())]

    @strawberry.field(description="How many entries the board has.")
    async def size(self, info: Info, period: Period = UNSET) -> int:
        """Return the number of entries."""
        if in_query(info):
            key = resolve_period(self.board, given(period), info.context.now())
            return await info.context.totals.read(self.board, key)
        return await self._read(info, period, queries.size)

    @strawberry.field(description="The best entries, at most 100.")
    async def top(self, info: Info, limit: Limit = DEFAULT_TOP, period: Period = UNSET) -> list[Entry]:
        """Return the best entries."""
        entries = await self._read(info, period, queries.top, or_default(limit, DEFAULT_TOP))
        return [Entry.of(entry) for entry in entries]

    @strawberry.field(
        description="All entries, best first, in pages of at most 1,000: from the best on, or from any "
        "place, and both ways from there."
    )
    async def entries(
        self,
        info: Info,
        limit: Limit = DEFAULT_PAGE,
        next_token: Annotated[
            str | None,
            strawberry.argument(
                description="The nextToken of the page before, or the previousToken of the page after; "
                "omitted for the first page."
            ),
        ] = UNSET,
        period: Period = UNSET,
        start: Annotated[
            EntryStart | None,
            strawberry.argument(name="from", description="Where the page begins, in place of a token."),
        ] = UNSET,
    ) -> EntryConnection:
        """Return a page of the standings."""
        page = await self._read(
            info,
            period,
            pages.entries,
            or_default(limit, DEFAULT_PAGE),
            given(next_token),
            **(start.unpack() if start else {}),
        )
        return EntryConnection.of(page)

    @strawberry.field(description="A participant's entry; null if there is none.")
    async def entry(self, info: Info, participant_id: ParticipantId, period: Period = UNSET) -> Entry | None:
        """Return one entry."""
        sees_hidden = info.context.caller.sees_hidden
        entry = await self._read(info, period, queries.entry, participant_id, sees_hidden)
        return Entry.of(entry) if entry else None

    @strawberry.field(
        description="The entries around a participant and their own; null if they have none. At the ends of "
        "the board the window moves so that it stays full."
    )
    async def around(
        self,
        info: Info,
        participant_id: ParticipantId,
        radius: Annotated[
            int | None, strawberry.argument(description="The most entries on each side, 0 to 100; 5 if null.")
        ] = DEFAULT_RADIUS,
        period: Period = UNSET,
    ) -> list[Entry] | None:
        """Return a window of the standings."""
        entries = await self._read(
            info, period, queries.around, participant_id, or_default(radius, DEFAULT_RADIUS)
        )
        return None if entries is None else [Entry.of(entry) for entry in entries]

    @strawberry.field(
        description="The entries of some participants, such as friends, best first, "
        "with their ranks on the whole board."
    )
    async def entries_of(
        self,
        info: Info,
        participant_ids: Annotated[
            list[strawberry.ID], strawberry.argument(description="The participants' ids, at most 100.")
        ],
        period: Period = UNSET,
    ) -> list[Entry]:
        """Return a subset of the standings."""
        sees_hidden = info.context.caller.sees_hidden
        entries = await self._read(info, period, queries.entries_of, participant_ids, sees_hidden)
        return [Entry.of(entry) for entry in entries]

    @strawberry.field(
        description="The rank that a new participant would take with a score. Nothing is stored; the total "
        "counts them, and there is no position."
    )
    async def rank_of(
        self,
        info: Info,
        score: Annotated[
            list[str], strawberry.argument(description="The score, one text for each component.")
        ],
        period: Period = UNSET,
        strategy: Annotated[
            model.RankStrategy | None, strawberry.argument(description="How to count; AUTO if null.")
        ] = model.RankStrategy.AUTO,
    ) -> Rank:
        """Return the rank of a score."""
        chosen = or_default(strategy, model.RankStrategy.AUTO)
        return Rank.of(await self._read(info, period, ranks.rank_of, score, chosen))

    @strawberry.field(
        description="The entry at a unique position, 1 for the best; null past the end. Positions are as of "
        "the counters: while changes are not counted yet, a neighbour may be returned."
    )
    async def entry_at(
        self,
        info: Info,
        position: Annotated[int, strawberry.argument(description="The position, from 1.")],
        period: Period = UNSET,
    ) -> Entry | None:
        """Return the entry at a position."""
        entry = await self._read(info, period, seek.entry_at, position)
        return Entry.of(entry) if entry else None

    @strawberry.field(
        description="The score to reach for a rank, or to be among the best so many per cent; exactly one is "
        "given. Null if the board has fewer entries. As of the counters, like `entryAt`."
    )
    async def score_for(
        self,
        info: Info,
        rank: Annotated[int | None, strawberry.argument(description="A rank, from 1.")] = UNSET,
        top_percent: Annotated[
            float | None, strawberry.argument(description="A share of the board in percent, above 0.")
        ] = UNSET,
        period: Period = UNSET,
    ) -> Score | None:
        """Return the score that stands at a place."""
        entry = await self._read(
            info, period, seek.entry_to_reach, rank=given(rank), top_percent=given(top_percent)
        )
        return Score.of(self.board.components, entry.score) if entry else None

    @strawberry.field(
        description="How entries are spread over the first component, in bins of about equal width from the "
        "worst to the best. On a large board bins end where the counters' leaves do: counts are exact."
    )
    async def distribution(
        self,
        info: Info,
        bins: Annotated[
            int | None, strawberry.argument(description="The most bins, 1 to 100; 20 if null.")
        ] = DEFAULT_BINS,
        period: Period = UNSET,
    ) -> list[DistributionBin]:
        """Return the distribution."""
        found = await self._read(info, period, distribution.distribution, or_default(bins, DEFAULT_BINS))
        return [DistributionBin.of(each) for each in found]

    @strawberry.field(description="The board's archives, newest first, in pages of at most 100.")
    async def archives(
        self, info: Info, limit: Limit = DEFAULT_ARCHIVES_PAGE, next_token: NextToken = UNSET
    ) -> ArchiveConnection:
        """Return a page of the board's archives."""
        page = await run_operation(
            archives_page,
            info.context.db,
            self.board,
            or_default(limit, DEFAULT_ARCHIVES_PAGE),
            given(next_token),
        )
        return ArchiveConnection.of(page)

    async def _read(
        self,
        info: Info,
        period: str | None,
        read: Callable[Concatenate[Database, model.Board, str, P], T],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        key = resolve_period(self.board, given(period), info.context.now())
        return await run_operation(read, info.context.db, self.board, key, *args, **kwargs)

    @classmethod
    def of(cls, board: model.Board) -> Self:
        """Wrap a board."""
        return cls(
            board=board,
            id=strawberry.ID(board.id),
            title=board.title,
            components=[ScoreComponent.of(component) for component in board.components],
            policy=board.policy,
            tie_break=board.tie_break,
            periods=list(board.periods),
            time_zone=board.time_zone,
            counter_mode=board.counter_mode,
            rank_buckets=RankBucket.defined(board.rank_buckets),
            client_access=board.client_access,
            client_time_allowance=board.client_time_allowance,
            created_at=board.created_at,
            closed=board.closed,
            version=board.version,
        )


@strawberry.type(description="A page of leaderboards.")
class LeaderboardConnection:
    """A page of leaderboards."""

    items: list[Leaderboard] = strawberry.field(description="The boards of this page.")
    next_token: str | None = strawberry.field(
        description="The token of the next page; null on the last page."
    )

    @classmethod
    def of(cls, page: model.Page[model.Board]) -> Self:
        """Wrap a page."""
        return cls(items=[Leaderboard.of(board) for board in page.items], next_token=page.next_token)
