"""Rebuild counters while writes go on.

A rebuild counts the entries into a second tree beside the one in use, by writing each entry again. Once a
check finds that tree right, readers change over to it.
"""

import time
from dataclasses import replace
from functools import partial

from core.counters.directory import Directory, change_directory
from core.counters.growing_list import mark_growing
from core.counters.known_trees import ANNOUNCEMENT_LEAD, CACHE_TTL
from core.counters.nodes import node_key, partitions, query_nodes
from core.counters.whole_tree import load_tree
from core.domain.errors import VersionConflict
from core.domain.model import Board
from core.ranking.top import TOP_NODE, renew_top
from core.storage.clock import now_ms
from core.storage.database import Database
from core.upkeep.checks import CheckReport, check
from core.upkeep.entry_rewrites import Progress, rewrite
from core.upkeep.growth import grow

_PAUSE = 1.0  # seconds between two steps of growth, in which the stream is counted
_GROWTH_TIMEOUT = 60_000  # milliseconds without a leaf that settles


def rebuild(
    db: Database, board: Board, standings: str, progress: Progress = lambda _done: None
) -> CheckReport:
    """Rebuild the counters and the top of some standings; return the last check of the new ones.

    The stream's consumer must be running. If this process dies, run it again: it resumes the same rebuild.
    `progress` is called with how many entries are rewritten. If the new counters come no
    nearer to the entries, since the stream is not counted or foreign items are on the index, the old ones
    stay in use, and the report says what differs.

    Raises:
        VersionConflict: another process has given up this rebuild.

    Costs a write unit an entry, half a read unit for each 4 KB of the index, several times, and what the new
    tree's growth takes.
    """
    directory = change_directory(db, board, standings, _with_new_tree)
    new = max(directory.births)
    birth = directory.births[new]
    time.sleep(max(0.0, birth + CACHE_TTL - now_ms()) / 1000)
    renew_top(db, board, standings)
    rewrite(db, board, standings, b"", None, birth, progress)
    report, right = _count_fully(db, board, standings, new, birth, progress)
    directory = change_directory(db, board, standings, partial(_with_only if right else _without, tree=new))
    _drop_unused(db, board, standings, directory)
    if right:
        mark_growing(db, standings)
    return report


def _with_new_tree(directory: Directory) -> Directory:
    """Return a directory with a new tree, unless it has one already."""
    if max(directory.births) > directory.current:
        return directory
    new = directory.last + 1
    return replace(directory, births={**directory.births, new: now_ms() + ANNOUNCEMENT_LEAD}, last=new)


def _with_only(directory: Directory, tree: int) -> Directory:
    """Return a directory with one tree alone, which readers use."""
    if tree == directory.current:
        return directory
    if tree not in directory.births:
        raise VersionConflict("another process has given up this rebuild; run it again")
    return replace(directory, current=tree, births={tree: directory.births[tree]})


def _without(directory: Directory, tree: int) -> Directory:
    """Return a directory without a tree, unless readers use it."""
    if tree == directory.current or tree not in directory.births:
        return directory
    births = {number: birth for number, birth in directory.births.items() if number != tree}
    return replace(directory, births=births)


def _count_fully(
    db: Database, board: Board, standings: str, tree: int, birth: int, progress: Progress
) -> tuple[CheckReport, bool]:
    """Wait until a tree counts all entries; return the last check, and whether it does.

    Entries that stay missing are rewritten once more, in case the index lagged.
    """
    least_wrong, behind, rewritten = None, None, False
    while True:
        _grow_fully(db, board, standings, tree)
        report = check(db, board, standings, tree=tree, patience=2 * ANNOUNCEMENT_LEAD / 1000)
        wrong = sum(abs(drift.off) for drift in report.drifts if drift.where != TOP_NODE)
        if not wrong and not report.pending:
            # Under a steady load counts are always behind: they are right if they do not get any nearer.
            if not report.behind or (behind is not None and report.behind >= behind):
                return report, True
            behind = report.behind
        elif report.pending or least_wrong is None or wrong < least_wrong:
            least_wrong, rewritten = wrong, False  # the stream is still being counted
        elif not rewritten:
            rewrite(db, board, standings, b"", None, birth, progress)
            rewritten = True
        else:
            return report, False


def _grow_fully(db: Database, board: Board, standings: str, tree: int) -> None:
    """Grow a tree until no step is left, or no leaf has settled for a minute: its counts are right anyway."""
    most_settled, until = -1, 0
    while grow(db, board, standings, tree):
        settled = sum(len(node.settled) for node, _ in load_tree(db, board, standings, tree).values())
        if settled > most_settled:
            most_settled, until = settled, now_ms() + _GROWTH_TIMEOUT
        elif now_ms() > until:
            return
        time.sleep(_PAUSE)


def _drop_unused(db: Database, board: Board, standings: str, directory: Directory) -> None:
    """Delete the items of all trees that are no longer in the directory, even of those dropped earlier.

    A tree that another rebuild announces meanwhile has a higher number, and stays.
    """
    time.sleep(ANNOUNCEMENT_LEAD / 1000)  # until no process reads or counts them
    unused = {str(tree) for tree in range(directory.last + 1) if tree not in directory.births}
    for partition in partitions(board, standings):
        for prefix in ("tree", "edges"):
            for item in query_nodes(db, partition, prefix):
                name = item["node"]["S"]
                if name.partition(":")[0].removeprefix(prefix) in unused:
                    db.client.delete_item(TableName=db.tables.counters, Key=node_key(partition, name))
