"""Batched ranks: one core call ranks all entries of a page."""

import asyncio
from collections import defaultdict
from typing import NamedTuple

from strawberry.dataloader import DataLoader

from core.domain import model
from core.domain.keys import standings_key
from core.ranking import queries, ranks
from core.storage.database import Database
from resolvers.request.workers import run_operation


class RankRequest(NamedTuple):
    """An entry to rank, by which strategy, and whether its position is selected too.

    `in_query` is whether nothing changes within the request, so that its totals are to agree.
    """

    entry: model.Entry
    strategy: model.RankStrategy
    position: bool
    in_query: bool = False


Result = model.Rank | BaseException | None
RankLoader = DataLoader[RankRequest, model.Rank | None]


class Totals:
    """The sizes of boards as first read within one query, so that all of its answer agrees."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._reads: dict[str, asyncio.Future[int]] = {}  # by standings

    def read(self, board: model.Board, period: str) -> asyncio.Future[int]:
        """Return the number of entries, read once: half a read unit, as `queries.size`."""
        standings = standings_key(board.id, period, board.generation)
        if standings not in self._reads:
            reading = run_operation(queries.size, self._db, board, period)
            self._reads[standings] = asyncio.ensure_future(reading)
        return self._reads[standings]

    async def known(self, standings: str) -> int | None:
        """Return the number of entries if it has been read, or is being read."""
        return await self._reads[standings] if standings in self._reads else None

    def remember(self, standings: str, total: int) -> None:
        """Keep the number of entries with which others were ranked, unless one has been read."""
        if standings not in self._reads:
            self._reads[standings] = asyncio.get_running_loop().create_future()
            self._reads[standings].set_result(total)


def rank_loader(db: Database, totals: Totals) -> RankLoader:
    """Return a loader that calls `ranks.rank_entries` once for each board, period and strategy of a batch.

    It caches nothing: within one mutation, a rank may change from field to field.
    """

    async def load(requests: list[RankRequest]) -> list[Result]:
        groups: defaultdict[_Group, dict[bytes, model.Entry]] = defaultdict(dict)
        for request in requests:
            # Keyed, so that an entry that is selected twice is ranked once.
            groups[_group(request)][request.entry.rank_key] = request.entry
        with_positions = {_group(request) for request in requests if request.position}
        results = await asyncio.gather(
            *(
                _rank(db, totals, group, entries, positions=group in with_positions)
                for group, entries in groups.items()
            )
        )
        by_group = dict(zip(groups, results, strict=True))
        return [by_group[_group(request)][request.entry.rank_key] for request in requests]

    return DataLoader(load, cache=False)


class _Group(NamedTuple):
    board_id: str
    generation: str
    period: str
    strategy: model.RankStrategy
    in_query: bool


def _group(request: RankRequest) -> _Group:
    board = request.entry.board
    return _Group(board.id, board.generation, request.entry.period, request.strategy, request.in_query)


async def _rank(
    db: Database, totals: Totals, group: _Group, by_key: dict[bytes, model.Entry], *, positions: bool
) -> dict[bytes, Result]:
    entries = list(by_key.values())
    board = entries[0].board
    standings = standings_key(board.id, group.period, board.generation)
    try:
        total = await totals.known(standings) if group.in_query else None
        found = await run_operation(
            ranks.rank_entries,
            db,
            board,
            group.period,
            entries,
            group.strategy,
            positions=positions,
            total=total,
        )
    except Exception as error:  # fails the fields of this group alone
        return dict.fromkeys(by_key, error)
    counted = [rank.total for rank in found if rank]
    if group.in_query and counted:
        totals.remember(standings, max(counted))
    return dict(zip(by_key, found, strict=True))
