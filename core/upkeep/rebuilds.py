"""Rebuild counters while writes go on.

A rebuild counts the entries into a second tree beside the first, by writing each entry again. Readers use the
first until the second one is right; then they change over.
"""

import time
from dataclasses import replace

from core.counters.directory import read_directory, replace_directory
from core.counters.growing import mark_growing
from core.counters.known_trees import LEAD, TRUST
from core.counters.nodes import node_key, partitions, query_nodes
from core.counters.whole_tree import load_tree
from core.domain.errors import VersionConflict
from core.domain.model import Board
from core.ranking.top import TOP_NODE, renew_top
from core.storage.clock import now_ms
from core.storage.database import Database
from core.upkeep.checks import CheckReport, check
from core.upkeep.growth import grow
from core.upkeep.rewrites import Progress, rewrite

_PAUSE = 1.0  # seconds between two looks, in which the stream is counted
_GROWING_MS = 60_000


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


def _begin(db: Database, board: Board, standings: str) -> tuple[int, int]:
    """Announce another tree, or find the one that was announced: its number and its birth."""
    while True:
        trees = read_directory(db, standings)
        for tree, born in trees.born.items():
            if tree > trees.current:
                return tree, born
        new = trees.last + 1
        begun = replace(trees, born={**trees.born, new: now_ms() + LEAD}, last=new)
        if replace_directory(db, board, standings, trees, begun):
            return new, begun.born[new]


def _use(db: Database, board: Board, standings: str, tree: int) -> None:
    """Have readers use a tree, and nobody count another."""
    while True:
        trees = read_directory(db, standings)
        if trees.current == tree:
            return
        if tree not in trees.born:
            raise VersionConflict("another rebuild has given this one up; run it again")
        if replace_directory(
            db, board, standings, trees, replace(trees, current=tree, born={tree: trees.born[tree]})
        ):
            return


def _give_up(db: Database, board: Board, standings: str, tree: int) -> None:
    """Have nobody count a tree that did not come right."""
    while True:
        trees = read_directory(db, standings)
        if tree not in trees.born or trees.current == tree:
            return
        born = {number: when for number, when in trees.born.items() if number != tree}
        if replace_directory(db, board, standings, trees, replace(trees, born=born)):
            break
    _drop_unused(db, board, standings)


def _drop_unused(db: Database, board: Board, standings: str) -> None:
    """Delete the items of trees that are not counted any more, and what late writers left of earlier ones.

    What another rebuild announces meanwhile has a higher number, and stays.
    """
    trees = read_directory(db, standings)
    time.sleep(LEAD / 1000)  # until no process reads or counts them
    unused = {str(tree) for tree in range(trees.last + 1) if tree not in trees.born}
    for partition in partitions(board, standings):
        for prefix in ("tree", "edges"):
            for item in list(query_nodes(db, partition, prefix)):
                name = item["node"]["S"]
                if name.partition(":")[0].removeprefix(prefix) in unused:
                    db.client.delete_item(TableName=db.tables.counters, Key=node_key(partition, name))
