"""What to send to each participant that a pass looks at, if anything."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from core.domain.model import Board
from core.notifications.cuts import Cuts, bucket_at, place_range
from core.notifications.event_ranks import Ranks, read_ranks
from core.notifications.events import RankChangeCause
from core.notifications.look import Look
from core.notifications.movers import Mover
from core.notifications.outbox import Outgoing, read_outgoing
from core.storage.database import Database, batch_get
from core.tree.changes import is_ranked, read_entry, without_foreign_shard, written_at

if TYPE_CHECKING:
    from core.domain.entry_item import Key


@dataclass(frozen=True, slots=True)
class Decided:
    """The events that are due, and the outbox items to store, with or without an event."""

    due: Sequence[Outgoing]
    changed: Sequence[Outgoing]


class _Entry(NamedTuple):
    key: bytes
    written_at: int


@dataclass(frozen=True, slots=True)
class _Case:
    """All that is known of one candidate."""

    participant: str
    key: bytes  # the rank key now; empty if the participant takes no rank
    bucket: str | None  # the bucket now
    last: Outgoing | None  # the outbox item, if it is for the present rank buckets
    mover: Mover | None
    crossed_key: bytes | None  # the rank key that a boundary has crossed
    is_pending: bool  # whether `last` is not known to be delivered
    is_uncertain: bool  # whether `last` may have been delivered nevertheless

    @property
    def undelivered(self) -> Outgoing | None:
        """The pending event, unless the participant may know it and it no longer holds."""
        outdated = self.is_uncertain and self.last is not None and self.last.bucket != self.bucket
        return self.last if self.is_pending and not outdated else None

    @property
    def old_key(self) -> bytes:
        """The rank key before the participant moved."""
        return (self.mover and self.mover.key) or self.key


def decide(db: Database, board: Board, standings: str, look: Look) -> Decided:
    """Compare the bucket that each candidate knows with the bucket now.

    Costs two read units for each candidate, and what the ranks of those with an event cost.
    """
    cases = _read_cases(db, board, standings, look)
    decided = [(case, _outgoing(board, look, case)) for case in cases]
    news = [(case, outgoing) for case, outgoing in decided if outgoing.is_news]
    due = _with_ranks(db, board, standings, look, cases, news)
    changed = [outgoing for case, outgoing in decided if not outgoing.is_news and _is_stale(case)]
    changed += [outgoing for (case, _), outgoing in zip(news, due, strict=True) if outgoing is not case.last]
    return Decided(due, changed)


def _read_cases(db: Database, board: Board, standings: str, look: Look) -> Sequence[_Case]:
    outbox = read_outgoing(db, standings, look.candidates)
    entries = _read_entries(db, board, standings, look.candidates)
    cases = []
    for participant in look.candidates:
        last, entry = outbox.get(participant), entries.get(participant)
        if last is not None and last.buckets != look.announced.buckets:
            last = None
        mover, since = look.movers.get(participant), look.pending.since.get(participant)
        crossed_key = look.crossed.certain.get(participant)
        if (last or mover or since or crossed_key) is None and entry and entry.written_at > look.watermark:
            # The index is ahead of the stream, which is still to bring the participant as a mover.
            continue
        cases.append(
            _Case(
                participant,
                key=entry.key if entry else b"",
                bucket=_bucket(board, look.crossed.cuts, entry.key) if entry else None,
                last=last,
                mover=mover,
                crossed_key=crossed_key or look.crossed.from_index.get(participant),
                is_pending=last is not None and since is not None and last.version >= since,
                is_uncertain=participant in look.pending.uncertain,
            )
        )
    return cases


def _outgoing(board: Board, look: Look, case: _Case) -> Outgoing:
    """Return the change from the bucket that a participant knows to the bucket now, its ranks left out."""
    own = (case.mover is not None and case.mover.own_score) or (
        case.is_pending and case.last is not None and case.last.cause is RankChangeCause.OWN_SCORE
    )
    return Outgoing(
        participant=case.participant,
        buckets=look.announced.buckets,
        bucket=case.bucket,
        rank=0,
        previous_bucket=_known_bucket(board, look, case),
        previous_rank=None,
        cause=RankChangeCause.OWN_SCORE if own else RankChangeCause.OTHERS,
        version=look.version,
        at=look.began,
    )


def _known_bucket(board: Board, look: Look, case: _Case) -> str | None:
    """Return the bucket that a participant knows, the one now if there is no telling."""
    if case.last is not None:
        return case.undelivered.previous_bucket if case.undelivered else case.last.bucket
    if case.mover is not None:
        return case.mover.bucket if case.mover.known else case.bucket
    return _bucket(board, look.announced.base, case.crossed_key) if case.crossed_key else case.bucket


def _is_stale(case: _Case) -> bool:
    """Return whether the outbox must be corrected for a case without an event."""
    moved = case.mover is not None and (case.last is None or case.last.bucket != case.bucket)
    return case.is_pending or moved


def _with_ranks(
    db: Database,
    board: Board,
    standings: str,
    look: Look,
    cases: Sequence[_Case],
    news: Sequence[tuple[_Case, Outgoing]],
) -> Sequence[Outgoing]:
    """Add the ranks to events. A pending event that still holds is returned as it is."""
    ranks = read_ranks(
        db,
        board,
        standings,
        look.top,
        [key for case, _ in news for key in (case.key, case.old_key)],
        movers_now=[case.key for case in cases if case.mover and case.key],
        movers_before=[case.mover.key for case in cases if case.mover and case.mover.key],
    )
    names = [bucket.name for bucket in board.rank_buckets]
    due = []
    for case, outgoing in news:
        # Boundaries and ranks are not read at one moment: the rank must lie within the event's bucket.
        first, last = place_range(board, names.index(outgoing.bucket or ""), look.boundaries.total)
        rank = max(first, min(ranks.now(case.key), last))
        if case.last and case.is_pending and (case.last.bucket, case.last.rank) == (outgoing.bucket, rank):
            due.append(case.last)
        else:
            due.append(replace(outgoing, rank=rank, previous_rank=_known_rank(case, outgoing, ranks)))
    return due


def _known_rank(case: _Case, outgoing: Outgoing, ranks: Ranks) -> int | None:
    """Return the rank that goes with the bucket that a participant knows."""
    if case.undelivered:
        return case.undelivered.previous_rank
    if case.last and case.is_pending:
        return case.last.rank
    return None if outgoing.previous_bucket is None else ranks.before(case.old_key)


def _read_entries(
    db: Database, board: Board, standings: str, participants: Sequence[str]
) -> Mapping[str, _Entry]:
    """Read the ranked entries from the table itself, which never lags."""
    keys: list[Key] = [{"participant": {"S": one}, "standings": {"S": standings}} for one in participants]
    found = {}
    for item in batch_get(db, db.tables.scores, keys, consistent=True):
        entry = without_foreign_shard(board, read_entry(standings, item))
        if entry is not None and is_ranked(entry):
            found[item["participant"]["S"]] = _Entry(bytes(entry["rank_key"]["B"]), written_at(entry))
    return found


def _bucket(board: Board, cuts: Cuts, key: bytes) -> str:
    return board.rank_buckets[bucket_at(cuts, key)].name
