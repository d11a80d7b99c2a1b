"""The ranks in events: now, and before the moves that the events are about."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from core.domain.keys import split_standings
from core.domain.model import Board
from core.domain.rank_key import score_bytes
from core.ranking.strategies import by_tree
from core.ranking.top import Top
from core.storage.database import Database


@dataclass(frozen=True, slots=True)
class Ranks:
    """Competition ranks of rank keys: one more than the number of entries with a better score."""

    better: Mapping[bytes, int]  # by score
    movers_now: Sequence[bytes]  # their rank keys, in ascending order
    movers_before: Sequence[bytes]
    score_bytes: int

    def now(self, key: bytes) -> int:
        """Return a key's rank."""
        return self.better[key[: self.score_bytes]] + 1

    def before(self, key: bytes) -> int:
        """Return the rank that a key had before the movers moved."""
        score = key[: self.score_bytes]
        moved_in = bisect_left(self.movers_now, score) - bisect_left(self.movers_before, score)
        return max(1, self.now(key) - moved_in)


def read_ranks(
    db: Database,
    board: Board,
    standings: str,
    top: Top,
    keys: Iterable[bytes],
    *,
    movers_now: Iterable[bytes],
    movers_before: Iterable[bytes],
) -> Ranks:
    """Count the better scores of each key. Costs nothing for scores in the top, for others what `by_tree` does."""
    size = score_bytes(board)
    scores = sorted({key[:size] for key in keys})
    in_top = [bytes(item["rank_key"]["B"])[:size] for item in top.items]
    shown = sum(top.whole or (bool(in_top) and score <= in_top[-1]) for score in scores)
    better = {score: bisect_left(in_top, score) for score in scores[:shown]}
    if scores[shown:]:
        counted = by_tree(db, board, split_standings(standings)[1], scores[shown:], consistent=True)
        better |= {score: count.value for score, count in counted.before.items()}
    return Ranks(better, sorted(movers_now), sorted(movers_before), size)
