"""Batched ranks: one core call ranks all entries of a page."""

import asyncio
from collections import defaultdict
from typing import NamedTuple

from strawberry.dataloader import DataLoader

from core.domain import model
from core.ranking import ranks
from core.storage.database import Database
from resolvers.request.workers import run_operation


class RankRequest(NamedTuple):
    """An entry to rank, by which strategy, and whether its position is selected too."""

    entry: model.Entry
    strategy: model.RankStrategy
    position: bool


Result = model.Rank | BaseException | None
RankLoader = DataLoader[RankRequest, model.Rank | None]


def rank_loader(db: Database) -> RankLoader:
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
                _rank(db, group, entries, positions=group in with_positions)
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


def _group(request: RankRequest) -> _Group:
    board = request.entry.board
    return _Group(board.id, board.generation, request.entry.period, request.strategy)


async def _rank(
    db: Database, group: _Group, by_key: dict[bytes, model.Entry], *, positions: bool
) -> dict[bytes, Result]:
    entries = list(by_key.values())
    board = entries[0].board
    try:
        found = await run_operation(
            ranks.rank_entries, db, board, group.period, entries, group.strategy, positions=positions
        )
    except Exception as error:  # fails the fields of this group alone
        return dict.fromkeys(by_key, error)
    return dict(zip(by_key, found, strict=True))
