"""Do the counters say what the entries say? Check them, and make them anew.

`check` recounts the entries on the index and compares. `rebuild` counts them into a second tree beside the
first, by touching each entry, while writes go on and readers use the first; then readers change over.
"""

import time
from bisect import bisect_left
from dataclasses import dataclass, field

from core.counters.known_trees import Trees
from core.counters.nodes import counts_of
from core.counters.whole_tree import children, load_tree
from core.domain.keys import split_standings
from core.domain.model import Board
from core.ranking.top import TOP_KEPT, TOP_NODE, read_top
from core.storage.database import Database
from core.storage.rank_index import read_keys
from core.tree.node import node_name

_PAUSE = 1.0  # seconds between two looks, in which the stream is counted
_GROWING_MS = 60_000


@dataclass(frozen=True, slots=True)
class Drift:
    """A count that is not what the entries say; `shown` tells one state of a top from another."""

    where: str
    counted: int
    entries: int
    shown: int = field(default=0, compare=False, repr=False)

    @property
    def off(self) -> int:
        """By how much the count is too high."""
        return self.counted - self.entries


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found: how many entries, how many counts, and which of them are wrong.

    `pending` tells how many counts were still on their way to what the entries say, and `behind` by how many
    entries those and all others were off that were never seen to be right, nor to be wrong.
    """

    entries: int
    counts: int
    drifts: tuple[Drift, ...]
    pending: int = 0
    behind: int = 0


@dataclass(frozen=True, slots=True)
class _Spell:
    """A time in which something stayed the same: since when, and the least and most entries in it."""

    since: float
    least: int
    most: int

    def go_on(self, entries: int, *, same: bool) -> "_Spell":
        if not same:
            return _Spell(time.monotonic(), entries, entries)
        return _Spell(self.since, min(self.least, entries), max(self.most, entries))


@dataclass(frozen=True, slots=True)
class _Suspect:
    """A count that has been wrong at each look, how long by the same number, and how long unmoved."""

    drift: Drift
    by_same: _Spell
    unmoved: _Spell

    @classmethod
    def first(cls, drift: Drift, now: float) -> "_Suspect":
        spell = _Spell(now, drift.entries, drift.entries)
        return cls(drift, spell, spell)

    def seen_again(self, drift: Drift) -> "_Suspect":
        by_same = (drift.off, drift.shown) == (self.drift.off, self.drift.shown)
        unmoved = (drift.counted, drift.shown) == (self.drift.counted, self.drift.shown)
        return _Suspect(
            drift,
            self.by_same.go_on(drift.entries, same=by_same),
            self.unmoved.go_on(drift.entries, same=unmoved),
        )

    def is_wrong(self, since: float) -> bool:
        """Say whether it has been so since then, and cannot be merely behind: so many entries never were."""
        top = self.drift.where == TOP_NODE
        return any(
            spell.since <= since and (top or not spell.least <= self.drift.counted <= spell.most)
            for spell in (self.by_same, self.unmoved)
        )


def check(
    db: Database, board: Board, standings: str, *, tree: int | None = None, patience: float = 5.0
) -> CheckReport:
    """Recount the entries and compare every count of the tree in use (or another), and the top.

    While writes go on the two are never read at the same moment. So a count is right if it is so at one look,
    and wrong if for `patience` seconds it is off by the same number, or does not move, and the entries were
    never as many: else, where they come at a steady pace, it is only behind. For three times as long it is
    looked whether the others come to one or the other. If the counters are made anew, it starts over.

    Costs half a read unit for each 4 KB of the order's index and of its tree, again for each look.
    """
    looked_at = Trees(db).current(standings) if tree is None else tree
    began = time.monotonic()
    first = report = _compare(db, board, standings, looked_at)
    off = {drift.where: _Suspect.first(drift, began) for drift in report.drifts}

    def is_wrong(where: str) -> bool:
        return off[where].is_wrong(time.monotonic() - patience)

    while not all(map(is_wrong, off)) and time.monotonic() < began + 3 * patience:
        time.sleep(min(_PAUSE, patience))
        if tree is None and Trees(db).current(standings) != looked_at:
            return check(db, board, standings, patience=patience)  # rebuilt in the meantime
        report = _compare(db, board, standings, looked_at)
        drifts = {drift.where: drift for drift in report.drifts}
        off = {where: one.seen_again(drifts[where]) for where, one in off.items() if where in drifts}
    entries = {drift.where: drift.entries for drift in first.drifts}
    found = [drift for drift in report.drifts if drift.where in off]
    wrong = tuple(drift for drift in found if is_wrong(drift.where))
    moving = [drift for drift in found if drift not in wrong and drift.where != TOP_NODE]
    pending = sum(entries[drift.where] == drift.entries for drift in moving)
    return CheckReport(
        report.entries, report.counts, wrong, pending, behind=sum(abs(drift.off) for drift in moving)
    )


def _compare(db: Database, board: Board, standings: str, tree: int) -> CheckReport:
    known = load_tree(db, board, standings, tree)
    keys = read_keys(db, board, split_standings(standings)[1], b"", None)
    drifts = []
    found = children(known)
    for child, counted in found:
        end = len(keys) if child.high is None else bisect_left(keys, child.high)
        entries = end - bisect_left(keys, child.low)
        if entries != counted:
            drifts.append(Drift(f"{node_name(tree, child.path)} child {child.number}", counted, entries))
    for path, (_, item) in known.items():
        strays = sum(counts_of(item).values()) - sum(count for child, count in found if child.path == path)
        if strays and any(child.path == path for child, _ in found):
            drifts.append(Drift(f"{node_name(tree, path)} beyond its children", strays, 0))
    top = read_top(db, standings)
    best = [bytes(item["rank_key"]["B"]) for item in top.items] if top else []
    if best != keys[: len(best)] or (keys and not best) or (top and top.whole and len(best) < len(keys)):
        shown = hash((*best, *keys[:TOP_KEPT]))
        drifts.append(Drift(TOP_NODE, len(best), min(len(keys), TOP_KEPT), shown))
    return CheckReport(len(keys), len(found), tuple(drifts))
