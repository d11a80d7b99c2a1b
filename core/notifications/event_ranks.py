"""The ranks that events tell: now, and before the changes that are told."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from core.domain.keys import split_standings
from core.domain.model import Board
from core.domain.rank_key import score_bytes
from core.ranking.strategies import by_tree
from core.ranking.top import Top
from core.storage.database import Database


class Ranks:
    """Competition ranks of rank keys: a key's is one more than the entries with a better score."""

    def __init__(
        self, better: Mapping[bytes, int], came: Sequence[bytes], went: Sequence[bytes], score: int
    ) -> None:
        self._better = better
        self._came, self._went = came, went
        self._score = score

    @classmethod
    def read(
        cls,
        db: Database,
        board: Board,
        standings: str,
        top: Top,
        keys: Iterable[bytes],
        *,
        came: Iterable[bytes] = (),
        went: Iterable[bytes] = (),
    ) -> "Ranks":
        """Count for each of the keys; `came` and `went` are the keys that moves have brought and taken.

        Costs nothing for scores in the top, for others what `by_tree` does.
        """
        size = score_bytes(board)
        scores = sorted({key[:size] for key in keys})
        best = [bytes(item["rank_key"]["B"])[:size] for item in top.items]
        reach = sum(top.whole or (bool(best) and score <= best[-1]) for score in scores)
        better = {score: bisect_left(best, score) for score in scores[:reach]}
        if scores[reach:]:
            counted = by_tree(db, board, split_standings(standings)[1], scores[reach:], consistent=True)
            better |= {score: count.value for score, count in counted.before.items()}
        return cls(better, sorted(came), sorted(went), size)

    def now(self, key: bytes) -> int:
        """Give a key's rank."""
        return self._better[key[: self._score]] + 1

    def before(self, key: bytes) -> int:
        """Give the rank that a key had before the moves."""
        score = key[: self._score]
        moved = bisect_left(self._came, score) - bisect_left(self._went, score)
        return max(1, self._better[score] + 1 - moved)
