"""Do the counters say what the entries say? Check them, and make them anew.

`check` recounts the entries on the index and compares. `rebuild` counts them into a second tree beside the
first, by touching each entry, while writes go on and readers use the first; then readers change over.
"""

import time
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from core.database import Database
from core.growth import grow, load_tree, rewrite, twigs
from core.index import read_keys
from core.keys import split_standings
from core.model import Board
from core.nodes import (
    LEAD,
    TREES_NODE,
    TRUST,
    Trees,
    counts_of,
    get_node,
    node_key,
    now_ms,
    partitions,
    query_nodes,
)
from core.top import TOP_KEPT, read_top
from core.tree import edges_name, node_name

_SWEEPS = 5
_PAUSE = 1.0  # seconds between two looks, in which the stream is counted

Progress = Callable[[int, int], None]  # done, of how many


@dataclass(frozen=True, slots=True)
class Drift:
    """A count that is not what the entries say."""

    where: str
    counted: int
    entries: int


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found: how many entries, how many counts, and which of them are wrong."""

    entries: int
    counts: int
    drifts: tuple[Drift, ...]


def check(
    db: Database, board: Board, standings: str, *, tree: int | None = None, patience: float = 5.0
) -> CheckReport:
    """Recount the entries and compare every count of the tree in use (or another), and the top.

    While writes go on the two are never read at the same moment, so a difference counts as drift only if it
    stays the same for `patience` seconds.

    Costs half a read unit for each 4 KB of the order's index and of its tree, again for each look.
    """
    if tree is None:
        tree = Trees(db).current(standings)
    report = _compare(db, board, standings, tree)
    until = time.monotonic() + patience
    while report.drifts and time.monotonic() < until:
        time.sleep(min(_PAUSE, patience))
        again = _compare(db, board, standings, tree)
        stayed = set(report.drifts) & set(again.drifts)
        report = CheckReport(again.entries, again.counts, tuple(one for one in again.drifts if one in stayed))
    return report


def rebuild(
    db: Database, board: Board, standings: str, progress: Progress = lambda _done, _of: None
) -> CheckReport:
    """Make an order's counters anew while writes go on; gives the final check of the new ones.

    The stream's consumer must be running. If this dies, run it again: it goes on where it was. `progress` is
    told how many entries are done, and of how many. Should the new counters not come to agree with the
    entries, the old ones stay in use, and the check says what differs.

    Costs a write unit an entry, and half a read unit for each 4 KB of the index, several times.
    """
    old, new, born = _begin(db, standings)
    time.sleep(max(0.0, born + TRUST - now_ms()) / 1000)
    period = split_standings(standings)[1]
    for _ in range(_SWEEPS):
        keys = read_keys(db, board, period, b"", None)
        for start in range(0, len(keys), 1024):
            rewrite(db, board, standings, keys[start : start + 1024], born)
            progress(min(start + 1024, len(keys)), len(keys))
        while grow(db, board, standings, new):
            time.sleep(_PAUSE)
        report = check(db, board, standings, tree=new, patience=2 * LEAD / 1000)
        if not any(drift.where != "top" for drift in report.drifts):
            break
    else:
        return report  # the old ones stay in use
    _use(db, standings, new)
    time.sleep(LEAD / 1000)  # until no process reads or counts the old one
    _drop(db, board, standings, old)
    return report


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
        drifts.append(Drift("top", len(best), min(len(keys), TOP_KEPT)))
    return CheckReport(len(keys), len(found), tuple(drifts))


def _begin(db: Database, standings: str) -> tuple[int, int, int]:
    """Announce a second tree, or find the one that was announced: the old one, the new one, its birth."""
    item = get_node(db, standings, TREES_NODE, consistent=True)
    current = int(item["current"]["N"]) if item else 0
    born = {int(tree): int(when["N"]) for tree, when in item["born"]["M"].items()} if item else {current: 0}
    begun = [tree for tree in born if tree > current]
    if begun:
        return current, begun[0], born[begun[0]]
    new = current + 1
    born[new] = now_ms() + LEAD
    _put_trees(db, standings, current, born)
    return current, new, born[new]


def _use(db: Database, standings: str, tree: int) -> None:
    item = get_node(db, standings, TREES_NODE, consistent=True)
    _put_trees(db, standings, tree, {tree: int(item["born"]["M"][str(tree)]["N"])})


def _put_trees(db: Database, standings: str, current: int, born: dict[int, int]) -> None:
    db.client.put_item(
        TableName=db.tables.counters,
        Item={
            **node_key(standings, TREES_NODE),
            "current": {"N": str(current)},
            "born": {"M": {str(tree): {"N": str(when)} for tree, when in born.items()}},
        },
    )


def _drop(db: Database, board: Board, standings: str, tree: int) -> None:
    for partition in partitions(board, standings):
        for prefix in (node_name(tree, ()), edges_name(tree, ())):
            for item in list(query_nodes(db, partition, prefix)):
                db.client.delete_item(
                    TableName=db.tables.counters, Key=node_key(partition, item["node"]["S"])
                )
