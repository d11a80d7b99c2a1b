"""The tick: tells an order's participants of their new buckets, at most once a second.

    edges now -> who stands between them and those told by, and who is marked -> outbox -> publish

A tick is one process's at a time. Before it looks at anyone it announces by which cuts it is going to tell,
so that the stream's consumer marks whoever moves between those and the old ones; then it reads each entry
from the table itself. So a change is either seen by the tick or marked for the next, wherever the index lags;
who was not in the index at that moment is found by looking there once more, five seconds later.

All of it can be done again at any point: the outbox knows what was told, so nobody is told twice.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

from core.counters.nodes import expiry, node_key
from core.domain.keys import live_partition, split_standings
from core.domain.model import Board
from core.domain.periods import is_expired
from core.notifications.announced import Announced, rules_of, to_item
from core.notifications.between import read_between, sweep
from core.notifications.boundaries import Boundaries, find_boundaries
from core.notifications.decide import Concerned, Decided, View, decide, merge_movers
from core.notifications.events import Event, Publish, Published, RankChange, TopChange
from core.notifications.movers import (
    ANNOUNCED_NODE,
    MOVERS_PER_ITEM,
    delete_movers,
    read_announced,
    read_movers,
)
from core.notifications.outbox import Outgoing, Pending, read_pending, write_outgoing, write_pending
from core.notifications.top_change import digest_of, end_of, top_change
from core.ranking.top import Top, read_top
from core.storage.clock import now_ms
from core.storage.database import Database

_SECOND = 1_000  # milliseconds
_INDEX_LAG = 5_000  # that the index is given to show what the stream has shown
_LEASE = 90_000  # longer than a tick takes
_AT_ONCE = 500  # participants of each kind that one tick looks at: marked, swept, waiting


@dataclass(frozen=True, slots=True)
class Again:
    """When an order wants its next tick, in seconds, and how many in a row have come to nothing."""

    after: float
    looks: int = 0


def notify(db: Database, board: Board, standings: str, publish: Publish, *, looks: int = 0) -> Again | None:
    """Tell who has another bucket now, as far as one tick goes; None when there is nothing left to do.

    Nobody is told of a period that has expired.

    Costs reads alone where nobody has: a unit each for what was told, the marks and who waits, two for the
    top, what `find_boundaries` does, and half a unit a shard for each boundary that has moved. Else two write
    units more; for each participant looked at two read units and a write unit; and what their ranks cost.
    """
    began = now_ms()
    if is_expired(board, split_standings(standings)[1], _moment(began)):
        return None
    told = read_announced(db, standings)
    wait = _wait(told, began)
    if wait:
        return Again(wait, looks)
    later = Again(min(60.0, 5.0 * 2**looks), looks + 1)
    top = read_top(db, standings, consistent=True)
    edges = find_boundaries(db, board, standings, top or Top([], whole=False))
    known = _known(board, told, edges)
    if known is None:
        return later
    tick = _Tick(db, board, standings, known, top, edges, began)
    if tick.look() or known is not told:
        return tick.tell(publish, looks) if tick.claim(told) else Again(1.0)
    return tick.rest(told, later)


def _wait(told: Announced | None, now: int) -> float:
    """Say in how many seconds an order may be told, 0 for now."""
    if told is None:
        return 0.0
    if now < told.leased_until:  # by another process, or one that has died
        return max(1.0, min((now - told.leased_until + _LEASE) / 1000, 10.0))
    return max(0, told.at + _SECOND - now) / 1000


class _Tick:
    """One tick of an order: look, claim, tell."""

    def __init__(
        self,
        db: Database,
        board: Board,
        standings: str,
        told: Announced,
        top: Top | None,
        edges: Boundaries,
        began: int,
    ) -> None:
        self._db, self._board, self._standings = db, board, standings
        self._told, self._edges, self._began = told, edges, began
        self._top, self._has_top = top or Top([], whole=False), top is not None
        self._aim = tuple(
            cut if edge is None else edge.cut for cut, edge in zip(told.cuts, edges.of, strict=True)
        )
        self._version = max(began, told.version + 1)
        self._moved = self._aim != told.cuts
        self._settles = 0 < told.since <= began - _INDEX_LAG

    def look(self) -> bool:
        """Find out whom this tick concerns; says whether there is anything to tell."""
        db, board, standings, told = self._db, self._board, self._standings, self._told
        self._waiting = read_pending(db, standings)
        if told.leased_until:  # whoever had the order last died, and may have told some
            self._waiting = replace(self._waiting, unsure=frozenset(self._waiting.since))
        # All of them may have to wait.
        limit = max(0, min(_AT_ONCE, (self._waiting.room - MOVERS_PER_ITEM) // 2))
        self._marks = list(read_movers(db, standings, limit)) if limit else []
        self._more = not limit or sum(len(item.marks) for item in self._marks) >= limit
        self._sweep = sweep(db, board, standings, self._top, told.cuts, self._edges.of, limit)
        self._sure = dict(self._sweep.sure)
        for low, high in zip(told.low, told.high, strict=True) if self._settles else ():
            if low != high:  # the second look
                self._sure |= read_between(db, board, standings, low, high, _AT_ONCE)
        self._digest = digest_of(self._top)
        self._tells_top = self._has_top and (self._digest != told.top or told.leased_until > 0)
        return bool(self._waiting.since or self._marks or self._sweep.found or self._sure or self._tells_top)

    def rest(self, before: Announced | None, later: Again) -> Again | None:
        """Leave it at that; says when to look again, `later` if someone may not be seen yet."""
        if self._settles and not _put(self._db, self._board, self._standings, before, self.settled()):
            return Again(1.0)
        if None in self._edges.of or (self._sweep.doubtful and later.looks == 1):
            return later
        if self._told.since and not self._settles:
            return Again((self._told.since + _INDEX_LAG - self._began) / 1000)
        return None

    def settled(self) -> Announced:
        """Give what was told by, with nobody in doubt."""
        return replace(self._told.settled(range(len(self._told.cuts))), version=self._version, leased_until=0)

    def claim(self, before: Announced | None) -> bool:
        """Take the order, announcing by which cuts it will be told; says whether nobody else has."""
        told = self.settled() if self._settles else self._told
        self._no_doubt = [at for at, low in enumerate(told.low) if low == told.high[at]]
        since = told.since or (self._began if self._moved else 0)
        self._mine = replace(
            told.widened(self._aim),
            since=since,
            version=self._version,
            leased_until=self._began + _LEASE,
        )
        return _put(self._db, self._board, self._standings, before, self._mine)

    def tell(self, publish: Publish, looks: int) -> Again | None:
        """Look at everyone concerned, write down what they are to be told, tell it, and write down that."""
        db, standings = self._db, self._standings
        concerned = Concerned(
            marks=merge_movers(self._marks, self._told.rules),
            sure=self._sure,
            found=self._sweep.found,
            waiting=replace(self._waiting, since=dict(islice(self._waiting.since.items(), _AT_ONCE))),
            seen=max([self._told.seen, *(item.at for item in self._marks)]),
        )
        view = View(self._sweep.cuts, self._told.base, self._top, self._edges.total)
        decided = decide(db, self._board, standings, concerned, view, self._version, self._began)
        since = self._waiting.since
        later = {one: since[one] for one in since if one not in concerned.waiting.since}
        news = {one.participant: since.get(one.participant, one.version) for one in decided.told}
        waiting = Pending(later | news, self._waiting.unsure & (later | news).keys())
        if waiting != self._waiting:
            write_pending(db, self._board, standings, waiting)
        write_outgoing(db, standings, decided.written)
        delete_movers(db, standings, self._marks)
        events = self._events(decided)
        published = publish(events) if events else Published()
        left = _without(waiting, published)
        if left != waiting:
            write_pending(db, self._board, standings, left)
        finished = self._finished(concerned.seen, published, attempted=bool(events))
        if not _put(db, self._board, standings, self._mine, finished):
            return Again(1.0)
        if events and not published.done:
            return Again(min(5.0, 1.0 + looks), looks + 1)
        if len(published.done) < len(events) or left.since or self._more or not self._sweep.whole:
            return Again(1.0)
        if finished.since or None in self._edges.of:
            return Again(_INDEX_LAG / 1000)
        return None

    def _events(self, decided: Decided) -> list[Event]:
        period = split_standings(self._standings)[1]
        events: list[Event] = [_event(self._board, period, one) for one in decided.told]
        if self._tells_top:
            at = _moment(self._began)
            events.append(top_change(self._board, period, self._top, self._version, at))
        return events

    def _finished(self, seen: int, published: Published, *, attempted: bool) -> Announced:
        ties = (
            edge.tie
            for edge, cut in zip(self._edges.of, self._sweep.cuts, strict=True)
            if edge is not None and edge.cut == cut
        )
        top_told = not self._tells_top or any(isinstance(one, TopChange) for one in published.done)
        told = replace(
            self._mine,
            cuts=self._sweep.cuts,
            ties=tuple(tie for tie in ties if tie is not None),
            leased_until=0,
            at=now_ms() if attempted else self._told.at,
            seen=seen,
            top=self._digest if top_told else "",
            top_end=end_of(self._top),
        )
        return told.settled(set(self._no_doubt) - self._sweep.doubtful)


def _known(board: Board, told: Announced | None, edges: Boundaries) -> Announced | None:
    """Give what was told by; where nothing was, or other buckets, start in silence once edges are known."""
    rules = rules_of(board)
    if told is not None and told.rules == rules:
        return told
    cuts = tuple(edge.cut for edge in edges.of if edge is not None)
    if len(cuts) < len(edges.of):
        return None
    first = Announced.first(rules, cuts)
    return first if told is None else replace(first, version=told.version, seen=told.seen, top=told.top)


def _put(db: Database, board: Board, standings: str, before: Announced | None, told: Announced) -> bool:
    """Write by what is told, unless another process has since it was read: a write unit a KB."""
    condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(node)"}
    if before is not None:
        condition = {
            "ConditionExpression": "version = :version AND leased_until = :until",
            "ExpressionAttributeValues": {
                ":version": {"N": str(before.version)},
                ":until": {"N": str(before.leased_until)},
            },
        }
    try:
        db.client.put_item(
            TableName=db.tables.counters,
            Item={
                **node_key(live_partition(standings), ANNOUNCED_NODE),
                **expiry(board, standings),
                **to_item(told),
            },
            **condition,
        )
    except db.client.exceptions.ConditionalCheckFailedException:
        return False
    return True


def _without(waiting: Pending, published: Published) -> Pending:
    """Take out who has been told."""
    told, unsure = (
        {one.participant_id for one in events if isinstance(one, RankChange)}
        for events in (published.done, published.unsure)
    )
    left = {one: since for one, since in waiting.since.items() if one not in told}
    return Pending(left, frozenset((waiting.unsure | unsure) & left.keys()))


def _event(board: Board, period: str, one: Outgoing) -> RankChange:
    assert one.bucket is not None  # noqa: S101 - nobody is told of having left the board
    return RankChange(
        board=board,
        period=period,
        participant_id=one.participant,
        previous_bucket=one.previous,
        bucket=one.bucket,
        previous_rank=one.previous_rank,
        rank=one.rank,
        cause=one.cause,
        version=one.version,
        at=_moment(one.at),
    )


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
