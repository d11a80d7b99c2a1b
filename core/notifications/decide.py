"""What to send to each participant that a pass looks at, if anything."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from core.domain.entry_item import is_ranked, sanitize_item, without_foreign_shard, written_at
from core.domain.keys import split_standings
from core.domain.model import Board
from core.domain.rank_key import score_bytes
from core.notifications.bucket_cuts import Cuts, bucket_at, place_range
from core.notifications.events import RankChangeCause
from core.notifications.findings import Findings
from core.notifications.movers import Mover
from core.notifications.outbox import Outgoing, read_outgoing
from core.ranking.strategies import by_tree
from core.ranking.top import Top
from core.storage.database import Database, batch_get

if TYPE_CHECKING:
    from core.domain.entry_item import Key


@dataclass(frozen=True, slots=True)
class Decided:
    """The events that are due, and the outbox items to store, with or without an event."""

    due: Sequence[Outgoing]
    changed: Sequence[Outgoing]


class _Case(NamedTuple):
    """A candidate, and the change of bucket that they would be notified of."""

    change: Outgoing  # from the bucket that they know to the one now
    key: bytes  # the rank key now; empty for one who takes no rank
    mover: Mover | None
    last: Outgoing | None  # the outbox item, if it is for the present rank buckets
    pending: Outgoing | None  # the same, if it is not known to be delivered

    @property
    def old_key(self) -> bytes:
        """The rank key before they moved."""
        return (self.mover and self.mover.key) or self.key

    @property
    def is_stale(self) -> bool:
        """Whether the outbox item no longer holds, or is missing for a mover."""
        moved = self.mover is not None and (self.last is None or self.last.bucket != self.change.bucket)
        return self.pending is not None or moved


def decide(db: Database, board: Board, standings: str, findings: Findings) -> Decided:
    """Compare the bucket that each candidate knows with the bucket now.

    Costs two read units for each candidate, and what the ranks of those with an event cost.
    """
    cases = _read_cases(db, board, standings, findings)
    news = [case for case in cases if case.change.is_news]
    due = _with_ranks(db, board, standings, findings, cases, news)
    changed = [case.change for case in cases if case.is_stale and not case.change.is_news]
    changed += [event for case, event in zip(news, due, strict=True) if event is not case.pending]
    return Decided(due, changed)


def _read_cases(db: Database, board: Board, standings: str, findings: Findings) -> Sequence[_Case]:
    outbox = read_outgoing(db, standings, findings.candidates)
    entries = _read_entries(db, board, standings, findings.candidates)
    cases = []
    for participant in findings.candidates:
        key, written = entries.get(participant, (b"", 0))
        last = outbox.get(participant)
        last = last if last and last.buckets == findings.announced.buckets else None
        case = _case(board, findings, participant, key, last)
        # The index may be ahead of the stream. A candidate from there alone, with an entry written after all
        # that is counted, is left to the mover that the stream is still to bring.
        elsewhere = participant in findings.pending.since or participant in findings.crossed.certain
        if last or case.mover or elsewhere or written <= findings.watermark:
            cases.append(case)
    return cases


def _case(board: Board, findings: Findings, participant: str, key: bytes, last: Outgoing | None) -> _Case:
    mover, since = findings.movers.get(participant), findings.pending.since.get(participant)
    pending = last if last is not None and since is not None and last.version >= since else None
    bucket = _bucket(board, findings.crossed.cuts, key) if key else None
    crossed_key = findings.crossed.certain.get(participant) or findings.crossed.from_index.get(participant)
    previous: tuple[str | None, int | None] = bucket, None  # if nothing is known, there is no change
    if pending is not None and (bucket == pending.bucket or participant not in findings.pending.uncertain):
        previous = pending.previous_bucket, pending.previous_rank
    elif last is not None:  # also if it is uncertain and no longer holds: it has to be taken back
        previous = last.bucket, last.rank if pending else None
    elif mover is not None:
        previous = mover.bucket if mover.known else bucket, None
    elif crossed_key is not None:
        previous = _bucket(board, findings.announced.base, crossed_key), None
    own = RankChangeCause.OWN_SCORE
    is_own = (mover is not None and mover.own_score) or (pending is not None and pending.cause is own)
    change = Outgoing(
        participant=participant,
        buckets=findings.announced.buckets,
        bucket=bucket,
        rank=0,  # ranks are added to what is due
        previous_bucket=previous[0],
        previous_rank=previous[1],
        cause=own if is_own else RankChangeCause.OTHERS,
        version=findings.version,
        at=findings.began,
    )
    return _Case(change, key, mover, last, pending)


def _with_ranks(
    db: Database,
    board: Board,
    standings: str,
    findings: Findings,
    cases: Sequence[_Case],
    news: Sequence[_Case],
) -> Sequence[Outgoing]:
    """Return the changes with their ranks. A pending event that still holds is returned as it is."""
    size = score_bytes(board)
    scores = {key[:size] for case in news for key in (case.key, case.old_key)}
    better = _count_better(db, board, standings, findings.top, sorted(scores))
    moved_in = sorted(case.key for case in cases if case.mover and case.key)
    moved_out = sorted(case.mover.key for case in cases if case.mover and case.mover.key)
    names = [bucket.name for bucket in board.rank_buckets]
    due = []
    for case in news:
        change, pending = case.change, case.pending
        # Boundaries and ranks are not read at one moment: the rank must lie within the event's bucket.
        first, last = place_range(board, names.index(change.bucket or ""), findings.boundaries.total)
        rank = max(first, min(better[case.key[:size]] + 1, last))
        if pending is None and change.previous_bucket is not None:
            # The rank that the old score would have without the movers' moves.
            score = case.old_key[:size]
            moved = bisect_left(moved_in, score) - bisect_left(moved_out, score)
            change = replace(change, previous_rank=max(1, better[score] + 1 - moved))
        if pending is not None and (pending.bucket, pending.rank) == (change.bucket, rank):
            due.append(pending)
        else:
            due.append(replace(change, rank=rank))
    return due


def _count_better(
    db: Database, board: Board, standings: str, top: Top, scores: Sequence[bytes]
) -> Mapping[bytes, int]:
    """Count the entries better than each of some scores, in the top or as `by_tree` does."""
    in_top = [bytes(item["rank_key"]["B"])[: score_bytes(board)] for item in top.items]
    shown = len(scores) if top.whole else bisect_right(scores, in_top[-1]) if in_top else 0
    better = {score: bisect_left(in_top, score) for score in scores[:shown]}
    if scores[shown:]:
        counted = by_tree(db, board, split_standings(standings)[1], scores[shown:], consistent=True)
        better |= {score: count.value for score, count in counted.before.items()}
    return better


def _read_entries(
    db: Database, board: Board, standings: str, participants: Sequence[str]
) -> Mapping[str, tuple[bytes, int]]:
    """Read rank keys and times of writing of ranked entries, from the table itself, which never lags."""
    keys: list[Key] = [{"participant": {"S": one}, "standings": {"S": standings}} for one in participants]
    found = {}
    for item in batch_get(db, db.tables.scores, keys, consistent=True):
        entry = without_foreign_shard(board, sanitize_item(standings, item))
        if entry is not None and is_ranked(entry):
            found[item["participant"]["S"]] = bytes(entry["rank_key"]["B"]), written_at(entry)
    return found


def _bucket(board: Board, cuts: Cuts, key: bytes) -> str:
    return board.rank_buckets[bucket_at(cuts, key)].name
