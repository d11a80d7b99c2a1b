"""Ranks of many entries at once: a page asks the core one time, not once an entry."""

import asyncio
from collections import defaultdict
from typing import NamedTuple

from strawberry.dataloader import DataLoader

from core.domain import model
from core.ranking import ranks
from core.storage.database import Database


class RankWanted(NamedTuple):
    """One entry whose rank a query selects, how to find it, and whether its position is selected too."""

    entry: model.Entry
    strategy: model.RankStrategy
    position: bool


Found = model.Rank | BaseException | None
RankLoader = DataLoader[RankWanted, model.Rank | None]


def rank_loader(db: Database) -> RankLoader:
    """Make a loader that calls `ranks.rank_entries` once for each board, period and strategy in a batch.

    It keeps no answers: within one mutation, a rank may change from field to field.
    """

    async def load(wanted: list[RankWanted]) -> list[Found]:
        groups: defaultdict[_Group, dict[bytes, model.Entry]] = defaultdict(dict)
        for one in wanted:
            # An entry that is selected twice is ranked once.
            groups[_group(one)][one.entry.rank_key] = one.entry
        positions = {_group(one) for one in wanted if one.position}
        found = await asyncio.gather(
            *(_find(db, group, entries, positions=group in positions) for group, entries in groups.items())
        )
        of_group = dict(zip(groups, found, strict=True))
        return [of_group[_group(one)][one.entry.rank_key] for one in wanted]

    return DataLoader(load, cache=False)


class _Group(NamedTuple):
    board_id: str
    generation: str
    period: str
    strategy: model.RankStrategy


def _group(wanted: RankWanted) -> _Group:
    board = wanted.entry.board
    return _Group(board.id, board.generation, wanted.entry.period, wanted.strategy)


async def _find(
    db: Database, group: _Group, entries: dict[bytes, model.Entry], *, positions: bool
) -> dict[bytes, Found]:
    listed = list(entries.values())
    try:
        found = await asyncio.to_thread(
            ranks.rank_entries, db, listed[0].board, group.period, listed, group.strategy, positions=positions
        )
    except Exception as error:  # reported at each field that asked, beside the ranks of others
        return dict.fromkeys(entries, error)
    return dict(zip(entries, found, strict=True))
