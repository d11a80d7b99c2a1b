"""One pass over some standings: finds whose rank bucket has changed and publishes it.

    look      read the boundaries now, whom they have crossed, the movers and the pending participants
    claim     take the standings for this process, storing by which cuts it may notify
    deliver   decide -> outbox -> publish
    finish    store what is announced now

From the claim on the stream's consumer records whoever moves between the old cuts and the new ones, and only
then are entries read from the table. So each change is seen by this pass or recorded for the next, however
far the index lags. Participants that it did not show are found when it is read again, five seconds later.

Every step can be repeated after a death: the outbox knows what has been sent.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.boards import Boards
from core.domain.keys import split_standings
from core.domain.model import Board
from core.domain.periods import is_expired
from core.domain.rank_key import instant
from core.notifications.announced import Announced, read_announced, write_announced
from core.notifications.decide import decide
from core.notifications.events import Event, Publish, Published, TopChange
from core.notifications.findings import INDEX_LAG, Findings, look
from core.notifications.movers import delete_movers
from core.notifications.outbox import Pending, write_outgoing, write_pending
from core.notifications.top_change import top_change, top_digest, top_end
from core.storage.clock import now_ms
from core.storage.database import Database

_INTERVAL = 1_000  # milliseconds between two passes that publish
_LEASE = 90_000  # milliseconds, longer than a pass takes

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class NextPass:
    """When standings want their next pass, and how many passes in a row have come to nothing by then."""

    after_seconds: float
    empty_passes: int = 0


_SOON = NextPass(1.0)
_AFTER_FAILURE = NextPass(5.0)


@dataclass(frozen=True, slots=True)
class _Delivery:
    """The events of a pass, what became of them, and which participants are still pending."""

    events: Sequence[Event]
    published: Published
    pending: Pending


def run_pass(
    db: Database, boards: Boards, standings: str, publish: Publish, *, empty_passes: int = 0
) -> NextPass | None:
    """Call `notify` if the board is still there. A failure is logged, and another pass is due."""
    board_id, _, generation = split_standings(standings)
    try:
        board = boards.get_generation(board_id, generation)
        return notify(db, board, standings, publish, empty_passes=empty_passes) if board else None
    except Exception:
        _log.exception("rank changes in %s could not be published, trying again", standings)
        return _AFTER_FAILURE


def notify(
    db: Database, board: Board, standings: str, publish: Publish, *, empty_passes: int = 0
) -> NextPass | None:
    """Publish rank bucket changes, as far as one pass goes; return None if nothing is left to do.

    Nothing is published for a period that has expired.

    Costs only reads if no bucket has changed: a unit each for what was announced, the movers and the pending
    list, two for the top, what `find_boundaries` costs, and half a unit a shard for each boundary that has
    moved. Otherwise two write units more, two read units and a write unit for each candidate, and what the
    ranks in their events cost.
    """
    began = now_ms()
    if is_expired(board, split_standings(standings)[1], instant(began * 1000)):
        return None
    stored = read_announced(db, standings)
    wait = _seconds_to_wait(stored, began)
    if wait:
        return NextPass(wait, empty_passes)
    findings = look(db, board, standings, stored, began)
    if findings is None:
        return _later(empty_passes)
    if not findings.finds_work:
        return _rest(db, board, standings, findings, empty_passes)
    claimed = _claim(db, board, standings, findings)
    if claimed is None:
        return _SOON
    delivery = _deliver(db, board, standings, publish, findings)
    return _finish(db, board, standings, findings, claimed, delivery, empty_passes)


def _seconds_to_wait(stored: Announced | None, now: int) -> float:
    if stored is None:
        return 0.0
    if now < stored.leased_until:  # claimed by another process, or by one that has died
        return max(1.0, min((now - stored.leased_until + _LEASE) / 1000, 10.0))
    return max(0, stored.published_at + _INTERVAL - now) / 1000


def _later(empty_passes: int) -> NextPass:
    return NextPass(min(60.0, 5.0 * 2**empty_passes), empty_passes + 1)


def _rest(
    db: Database, board: Board, standings: str, findings: Findings, empty_passes: int
) -> NextPass | None:
    """End a pass without work; another one is due if the index may not have shown everyone."""
    if findings.resolved is not findings.announced:
        certain = replace(findings.resolved, version=findings.version, leased_until=0)
        if not write_announced(db, board, standings, findings.stored, certain):
            return _SOON
    if not findings.boundaries.complete or (findings.crossed.on_index and not empty_passes):
        return _later(empty_passes)
    since, recheck_at = findings.resolved.uncertain_since, findings.top.recheck_at
    due = [since + INDEX_LAG] * bool(since) + [recheck_at or 0] * (recheck_at is not None)
    return NextPass(max(0, min(due) - findings.began + 1) / 1000) if due else None


def _claim(db: Database, board: Board, standings: str, findings: Findings) -> Announced | None:
    """Take the standings, storing by which cuts this pass may notify; None if another process was faster."""
    cuts = findings.boundaries.cuts(findings.announced.cuts)
    claimed = findings.resolved.claimed(cuts, findings.version, findings.began, _LEASE)
    return claimed if write_announced(db, board, standings, findings.stored, claimed) else None


def _deliver(db: Database, board: Board, standings: str, publish: Publish, findings: Findings) -> _Delivery:
    """Decide on all candidates and publish their events, by way of the outbox."""
    decided = decide(db, board, standings, findings)
    pending = findings.pending.decided(set(findings.candidates), decided.due)
    if pending != findings.pending:
        write_pending(db, board, standings, pending)
    write_outgoing(db, standings, decided.changed)
    delete_movers(db, standings, findings.batches)
    period, at = split_standings(standings)[1], instant(findings.began * 1000)
    events: list[Event] = [outgoing.event(board, period) for outgoing in decided.due]
    if findings.top_changed:
        events.append(top_change(board, period, findings.top, findings.version, at))
    published = publish(events) if events else Published()
    left = pending.published(published)
    if left != pending:
        write_pending(db, board, standings, left)
    return _Delivery(events, published, left)


def _finish(
    db: Database,
    board: Board,
    standings: str,
    findings: Findings,
    claimed: Announced,
    delivery: _Delivery,
    empty_passes: int,
) -> NextPass | None:
    """Store what is announced now, giving up the claim, and return when the next pass is due."""
    events, done = delivery.events, delivery.published.done
    top_failed = findings.top_changed and not any(isinstance(event, TopChange) for event in done)
    announced = replace(
        claimed,
        cuts=findings.crossed.cuts,
        ties=findings.boundaries.ties(findings.crossed.cuts),
        leased_until=0,
        published_at=now_ms() if events else claimed.published_at,
        watermark=findings.watermark,
        top="" if top_failed else top_digest(findings.top),
        top_end=top_end(findings.top),
    ).resolved(findings.resolved.certain - findings.crossed.on_index)
    stored = write_announced(db, board, standings, claimed, announced)
    if stored and events and not done:
        return NextPass(min(5.0, 1.0 + empty_passes), empty_passes + 1)
    if not stored or len(done) < len(events) or delivery.pending.since or findings.is_partial:
        return _SOON
    # The first pass leaves that to the changes to come: a board with one entry has no second pass.
    rechecked = findings.top.recheck_at is None or findings.stored is None
    incomplete = announced.uncertain_since or not findings.boundaries.complete or not rechecked
    return NextPass(INDEX_LAG / 1000) if incomplete else None
