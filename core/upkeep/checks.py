"""Do the counters say what the entries say? Check them, and make them anew.

`check` recounts the entries on the index and compares. `rebuild` counts them into a second tree beside the
first, by touching each entry, while writes go on and readers use the first; then readers change over.
"""

import time
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from core.counters.known_trees import LEAD, TRUST, Trees
from core.counters.nodes import (
    TREES_NODE,
    counts_of,
    expiry,
    get_node,
    node_key,
    now_ms,
    partitions,
    query_nodes,
)
from core.domain.errors import VersionConflict
from core.domain.keys import split_standings
from core.domain.model import Board
from core.ranking.top import TOP_KEPT, TOP_NODE, read_top, renew_top
from core.storage.database import Database
from core.storage.rank_index import read_keys
from core.tree.node import node_name
from core.upkeep.growth import grow, load_tree, mark_growing, twigs
from core.upkeep.rewrites import Progress, rewrite

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


def rebuild(
    db: Database, board: Board, standings: str, progress: Progress = lambda _done, _of: None
) -> CheckReport:
    """Make an order's counters anew while writes go on; gives the final check of the new ones.

    The stream's consumer must be running. If this dies, run it again: it goes on where it was. `progress` is
    told how many entries are done, and of how many. If the new counters come no nearer to the entries, as
    when the stream is not counted or a stranger's items are in the index, the old ones stay, and the report
    says what differs.

    Costs a write unit an entry, half a read unit for each 4 KB of the index, several times, and what the new
    tree's growth takes.
    """
    new, born = _begin(db, board, standings)
    time.sleep(max(0.0, born + TRUST - now_ms()) / 1000)
    renew_top(db, board, standings)
    rewrite(db, board, standings, b"", None, born, progress)
    least, tries = None, 0
    behind: int | None = None
    while True:
        _grow_out(db, board, standings, new)
        report = check(db, board, standings, tree=new, patience=2 * LEAD / 1000)
        wrong = sum(abs(one.off) for one in report.drifts if one.where != TOP_NODE)
        if not wrong and not report.pending:
            if not report.behind or (behind is not None and report.behind >= behind):
                break  # under a steady load it stays a little behind
            behind = report.behind
            continue
        if report.pending or least is None or wrong < least:
            least, tries = wrong, 0  # the stream is still being counted
        elif tries == 0:
            rewrite(db, board, standings, b"", None, born, progress)
            tries = 1
        else:
            _give_up(db, board, standings, new)
            return report
    _use(db, board, standings, new)
    _drop_unused(db, board, standings)
    mark_growing(db, standings)
    return report


def _grow_out(db: Database, board: Board, standings: str, tree: int) -> None:
    """Grow a tree until nothing is left to, or for a minute nothing comes of it: it is right all the same."""
    settled = -1
    until = 0
    while grow(db, board, standings, tree):
        now_settled = sum(len(node.settled) for node, _ in load_tree(db, board, standings, tree).values())
        if now_settled > settled:
            settled, until = now_settled, now_ms() + _GROWING_MS
        elif now_ms() > until:
            return
        time.sleep(_PAUSE)


def _compare(db: Database, board: Board, standings: str, tree: int) -> CheckReport:
    known = load_tree(db, board, standings, tree)
    keys = read_keys(db, board, split_standings(standings)[1], b"", None)
    drifts = []
    found = twigs(known)
    for twig, counted in found:
        end = len(keys) if twig.high is None else bisect_left(keys, twig.high)
        entries = end - bisect_left(keys, twig.low)
        if entries != counted:
            drifts.append(Drift(f"{node_name(tree, twig.path)} child {twig.child}", counted, entries))
    for path, (_, item) in known.items():
        strays = sum(counts_of(item).values()) - sum(count for twig, count in found if twig.path == path)
        if strays and any(twig.path == path for twig, _ in found):
            drifts.append(Drift(f"{node_name(tree, path)} beyond its children", strays, 0))
    top = read_top(db, standings)
    best = [bytes(item["rank_key"]["B"]) for item in top.items] if top else []
    if best != keys[: len(best)] or (keys and not best) or (top and top.whole and len(best) < len(keys)):
        shown = hash((*best, *keys[:TOP_KEPT]))
        drifts.append(Drift(TOP_NODE, len(best), min(len(keys), TOP_KEPT), shown))
    return CheckReport(len(keys), len(found), tuple(drifts))


def _begin(db: Database, board: Board, standings: str) -> tuple[int, int]:
    """Announce another tree, or find the one that was announced: its number and its birth."""
    while True:
        trees = _read_trees(db, standings)
        for tree, born in trees.born.items():
            if tree > trees.current:
                return tree, born
        new = trees.last + 1
        begun = replace(trees, born={**trees.born, new: now_ms() + LEAD}, last=new)
        if _write_trees(db, board, standings, trees, begun):
            return new, begun.born[new]


def _use(db: Database, board: Board, standings: str, tree: int) -> None:
    """Have readers use a tree, and nobody count another."""
    while True:
        trees = _read_trees(db, standings)
        if trees.current == tree:
            return
        if tree not in trees.born:
            raise VersionConflict("another rebuild has given this one up; run it again")
        if _write_trees(
            db, board, standings, trees, replace(trees, current=tree, born={tree: trees.born[tree]})
        ):
            return


def _give_up(db: Database, board: Board, standings: str, tree: int) -> None:
    """Have nobody count a tree that did not come right."""
    while True:
        trees = _read_trees(db, standings)
        if tree not in trees.born or trees.current == tree:
            return
        born = {number: when for number, when in trees.born.items() if number != tree}
        if _write_trees(db, board, standings, trees, replace(trees, born=born)):
            break
    _drop_unused(db, board, standings)


@dataclass(frozen=True, slots=True)
class _Trees:
    """An order's trees: which one readers use, the births of those counted, the last number given."""

    current: int
    born: Mapping[int, int]
    last: int
    revision: int


def _read_trees(db: Database, standings: str) -> _Trees:
    item = get_node(db, standings, TREES_NODE, consistent=True)
    if not item:
        return _Trees(0, {0: 0}, 0, 0)
    born = {int(tree): int(when["N"]) for tree, when in item["born"]["M"].items()}
    current, last, revision = (int(item[name]["N"]) for name in ("current", "last", "revision"))
    return _Trees(current, born, last, revision)


def _write_trees(db: Database, board: Board, standings: str, old: _Trees, new: _Trees) -> bool:
    """Write the `trees` item, unless another process has since it was read."""
    item = {
        **node_key(standings, TREES_NODE),
        **expiry(board, standings),
        "current": {"N": str(new.current)},
        "born": {"M": {str(tree): {"N": str(when)} for tree, when in new.born.items()}},
        "last": {"N": str(new.last)},
        "revision": {"N": str(old.revision + 1)},
    }
    try:
        db.client.put_item(
            TableName=db.tables.counters,
            Item=item,
            ConditionExpression="attribute_not_exists(node) OR revision = :revision",
            ExpressionAttributeValues={":revision": {"N": str(old.revision)}},
        )
    except db.client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def _drop_unused(db: Database, board: Board, standings: str) -> None:
    """Delete the items of trees that are not counted any more, and what late writers left of earlier ones.

    What another rebuild announces meanwhile has a higher number, and stays.
    """
    trees = _read_trees(db, standings)
    time.sleep(LEAD / 1000)  # until no process reads or counts them
    unused = {str(tree) for tree in range(trees.last + 1) if tree not in trees.born}
    for partition in partitions(board, standings):
        for prefix in ("tree", "edges"):
            for item in list(query_nodes(db, partition, prefix)):
                name = item["node"]["S"]
                if name.partition(":")[0].removeprefix(prefix) in unused:
                    db.client.delete_item(TableName=db.tables.counters, Key=node_key(partition, name))
