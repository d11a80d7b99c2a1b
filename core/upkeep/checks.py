"""Check that the counters are what the entries say: recount the entries on the index, and compare."""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, takewhile
from typing import NamedTuple

from core.counters.known_trees import Trees
from core.counters.nodes import counts_of
from core.counters.whole_tree import children, load_tree
from core.domain.keys import split_standings
from core.domain.model import Board
from core.ranking.top import TOP_KEPT, TOP_NODE, read_top
from core.storage.database import Database
from core.storage.rank_index import every_key
from core.tree.node import node_name
from core.tree.shape import Path

_PAUSE = 1.0  # seconds between two comparisons, in which the stream is counted


@dataclass(frozen=True, slots=True)
class Drift:
    """A count that is not what the entries say; for the top, `contents` tells one state from another."""

    where: str
    counted: int
    entries: int
    contents: int = field(default=0, compare=False, repr=False)

    @property
    def off(self) -> int:
        """By how much the count is too high."""
        return self.counted - self.entries


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The number of entries, the number of counts, and the counts that are wrong.

    Counts found neither right nor wrong are off by `behind` entries in all. `pending` of these counts
    are still catching up: their entries have not changed meanwhile.
    """

    entries: int
    counts: int
    drifts: tuple[Drift, ...]
    pending: int = 0
    behind: int = 0


class _Seen(NamedTuple):
    """A drift at one comparison, and when that was."""

    at: float
    drift: Drift


def check(
    db: Database, board: Board, standings: str, *, tree: int | None = None, patience: float = 5.0
) -> CheckReport:
    """Recount the entries, and compare every count of the tree in use (or of another), and the top.

    Tree and entries are never read at the same moment, so while writes go on, they are compared again and
    again. A count is right if it agrees once. It is wrong if for `patience` seconds it has been off by the
    same number, or has not moved, while there never were as many entries: where entries come at a steady
    rate, a count may always be behind by the same number. What is neither after three times `patience` is
    reported as behind. If the tree is replaced by a rebuild, the check starts over.

    Costs half a read unit for each 4 KB of the standings' index and of the tree, for each comparison. In
    memory are the tree, and of the entries one page of each shard.
    """
    trees = Trees(db, board, standings)
    checked = trees.current() if tree is None else tree
    began = time.monotonic()
    report = _compare(db, board, standings, checked)
    histories = {drift.where: [_Seen(began, drift)] for drift in report.drifts}

    def is_wrong(history: Sequence[_Seen]) -> bool:
        return _is_wrong(history, time.monotonic() - patience)

    while not all(map(is_wrong, histories.values())) and time.monotonic() < began + 3 * patience:
        time.sleep(min(_PAUSE, patience))
        if tree is None and trees.current() != checked:
            return check(db, board, standings, patience=patience)
        report = _compare(db, board, standings, checked)
        now = time.monotonic()
        histories = {
            drift.where: [*histories[drift.where], _Seen(now, drift)]
            for drift in report.drifts
            if drift.where in histories
        }
    wrong, behind = [], []
    for history in histories.values():
        if is_wrong(history):
            wrong.append(history[-1].drift)
        elif history[-1].drift.where != TOP_NODE:
            behind.append((history[0].drift, history[-1].drift))
    return CheckReport(
        report.entries,
        report.counts,
        tuple(wrong),
        pending=sum(first.entries == last.entries for first, last in behind),
        behind=sum(abs(last.off) for _, last in behind),
    )


def _is_wrong(history: Sequence[_Seen], since: float) -> bool:
    """Return whether a count has been off alike or unmoved since some time, and cannot be merely behind."""
    last = history[-1].drift

    def has_stayed(state: Callable[[Drift], object]) -> bool:
        run = list(takewhile(lambda seen: state(seen.drift) == state(last), reversed(history)))
        entries = [seen.drift.entries for seen in run]
        never_as_many = not min(entries) <= last.counted <= max(entries)
        return run[-1].at <= since and (last.where == TOP_NODE or never_as_many)

    return has_stayed(lambda drift: (drift.off, drift.contents)) or has_stayed(
        lambda drift: (drift.counted, drift.contents)
    )


def _compare(db: Database, board: Board, standings: str, tree: int) -> CheckReport:
    whole = load_tree(db, board, standings, tree)
    counts = children(whole)
    keys = every_key(db, board, split_standings(standings)[1])
    first = list(islice(keys, TOP_KEPT))
    cuts = {cut for child, _ in counts for cut in (child.low, child.high) if cut is not None}
    before, size = count_before(chain(first, keys), sorted(cuts))
    drifts = []
    in_use = Counter[Path]()  # by node: the sum of its children's counts
    for child, counted in counts:
        in_use[child.path] += counted
        entries = (size if child.high is None else before[child.high]) - before[child.low]
        if entries != counted:
            drifts.append(Drift(f"{node_name(tree, child.path)} child {child.number}", counted, entries))
    for path, of_children in in_use.items():
        beyond = sum(counts_of(whole[path][1]).values()) - of_children
        if beyond:
            drifts.append(Drift(f"{node_name(tree, path)} beyond its children", beyond, 0))
    top = read_top(db, standings)
    best = [bytes(item["rank_key"]["B"]) for item in top.items] if top else []
    if best != first[: len(best)] or (first and not best) or (top and top.whole and len(best) < size):
        contents = hash((*best, *first))
        drifts.append(Drift(TOP_NODE, len(best), min(size, TOP_KEPT), contents))
    return CheckReport(size, len(counts), tuple(drifts))


def count_before(keys: Iterable[bytes], cuts: Sequence[bytes]) -> tuple[dict[bytes, int], int]:
    """Return how many of some sorted keys are before each of the sorted cuts, and how many there are.

    >>> count_before([b"b", b"c", b"d"], [b"", b"c", b"x"])
    ({b'': 0, b'c': 1, b'x': 3}, 3)
    """
    before: dict[bytes, int] = {}
    left = deque(cuts)
    number = 0
    for key in keys:
        while left and left[0] <= key:
            before[left.popleft()] = number
        number += 1
    return before | dict.fromkeys(left, number), number
