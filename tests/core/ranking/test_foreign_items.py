"""Items that are no entries may be in the index or a partition. Reads leave them out."""

from collections.abc import Callable
from typing import Any

import pytest

from core.boards import Boards
from core.domain.entry_item import entry_key
from core.domain.model import RankStrategy
from core.domain.periods import ALL_TIME
from core.ranking.pages import entries
from core.ranking.queries import around, entry, participant_entries, top
from core.ranking.ranks import rank_entries
from core.storage.database import Database
from core.upkeep.checks import check
from tests.support.twin import Twin

Drain = Callable[[], int]


def put(twin: Twin, **odd: Any) -> None:
    item = twin.db.client.get_item(TableName=twin.db.tables.scores, Key=entry_key(twin.board, ALL_TIME, "p"))[
        "Item"
    ]
    item = {**item, "participant": {"S": "foreign"}, **odd}
    twin.db.client.put_item(TableName=twin.db.tables.scores, Item={k: v for k, v in item.items() if v})


@pytest.mark.parametrize(
    "odd",
    [
        {"achieved_at": {"N": "9.9E+125"}},
        {"achieved_at": {"N": "99999999999999999999999999999"}},
        {"achieved_at": {"S": "noon"}},
        {"version": {}},
        {"display_name": {"M": {}}},
        {"metadata": {"N": "1"}},
        {"submissions": {"N": "1.5"}},
        {"rank_key": {"B": b"\x01"}},
        {"standings": {"S": "nonsense"}},
        {"standings": {"S": "#a#b"}},
    ],
    ids=str,
)
def test_reads_skip_foreign_items(db: Database, boards: Boards, drain: Drain, odd: dict[str, Any]) -> None:
    twin = Twin.make(db, boards)
    twin.submit("p", 5)
    twin.submit("q", 4)
    put(twin, **odd)
    drain()
    own = entry(db, twin.board, ALL_TIME, "q")
    assert own is not None
    wrong = []
    reads: dict[str, Callable[[], object]] = {
        "top": lambda: top(db, twin.board, ALL_TIME, 1),
        "top 100": lambda: top(db, twin.board, ALL_TIME, 100),
        "entries": lambda: entries(db, twin.board, ALL_TIME, 100),
        "around": lambda: around(db, twin.board, ALL_TIME, "q", 3),
        "of": lambda: participant_entries(db, boards, "foreign", 10),
        "rank": lambda: rank_entries(db, twin.board, ALL_TIME, [own], RankStrategy.TREE),
        "check": lambda: check(db, twin.board, twin.standings, patience=0),
    }
    for name, read in reads.items():
        try:
            read()
        except Exception as error:
            wrong.append(f"{name}: {error!r}")
    assert wrong == []
    shown = [other.participant_id for other in entries(db, twin.board, ALL_TIME, 100).items]
    assert [other for other in shown if other != "foreign"] == ["p", "q"]
    best = [other.participant_id for other in top(db, twin.board, ALL_TIME, 100)]
    assert (sorted(best), best[-1]) == (sorted(shown), "q")
    # What is not counted is not shown, and the other way round.
    (rank,) = rank_entries(db, twin.board, ALL_TIME, [own], RankStrategy.TREE)
    assert rank is not None
    assert (rank.rank, rank.total) == (shown.index("q") + 1, len(shown))
