"""What each participant that a tick concerns is to be told, if anything."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from core.domain.entry_item import is_ranked, sanitize_item, without_foreign_shard, written_at
from core.domain.model import Board
from core.notifications.announced import Cuts, bucket_at, place_range, rules_of
from core.notifications.event_ranks import Ranks
from core.notifications.events import RankChangeCause
from core.notifications.movers import Mover, MoverBatch
from core.notifications.outbox import Outgoing, Pending, read_outgoing
from core.ranking.top import Top
from core.storage.database import Database, batch_get

if TYPE_CHECKING:
    from core.domain.entry_item import Key


@dataclass(frozen=True, slots=True)
class Concerned:
    """Whom a tick looks at: the marked, those found between edges by their rank keys, and those not told yet.

    The index may be ahead of the stream. So one found there whose entry was written after `seen`, the newest
    change that is known to be counted, is left to the mark that is to come; but not one of `sure`, found in
    the top or by the second look.
    """

    marks: Mapping[str, Mover]
    sure: Mapping[str, bytes]
    found: Mapping[str, bytes]
    waiting: Pending
    seen: int

    @property
    def participants(self) -> list[str]:
        """All of them, once each."""
        return list({**self.marks, **self.sure, **self.found, **self.waiting.since})


@dataclass(frozen=True, slots=True)
class View:
    """What a tick judges by: the cuts told by now, those before anyone was in doubt, the top and the size."""

    cuts: Cuts
    base: Cuts
    top: Top
    total: int


@dataclass(frozen=True, slots=True)
class Decided:
    """What is to be told; and what is to be written down, of that and of others who were looked at."""

    told: Sequence[Outgoing]
    written: Sequence[Outgoing]


class _Standing(NamedTuple):
    """An entry that takes a rank: its key, and when it was written."""

    key: bytes
    written: int


class _Before(NamedTuple):
    """The bucket that someone was told last, and where that is not `known` nobody is told of a change."""

    bucket: str | None
    known: bool


def merge_movers(items: Iterable[MoverBatch], rules: str) -> dict[str, Mover]:
    """Make one mark of a participant's: the first tells what was before, any whether the own score moved."""
    merged: dict[str, Mover] = {}
    for item in items:
        for mark in item.marks:
            one = mark if item.rules == rules else replace(mark, known=mark.key is None)
            other = merged.get(one.participant, one)
            first = min(one, other, key=lambda either: either.sequence)
            merged[one.participant] = replace(first, own=one.own or other.own)
    return merged


def decide(
    db: Database, board: Board, standings: str, concerned: Concerned, view: View, version: int, at: int
) -> Decided:
    """Compare what everyone concerned was told with what is.

    `version` and `at`, in milliseconds since 1970, are those of new events. Costs two read units for each
    participant, and what the ranks of those told cost.
    """
    rules = rules_of(board)
    outgoing = read_outgoing(db, standings, concerned.participants)
    known = {one: told for one, told in outgoing.items() if told.rules == rules}
    entries = _read_entries(db, board, standings, concerned.participants)
    told: list[Outgoing] = []
    written: list[Outgoing] = []
    for one in concerned.participants:
        entry, last = entries.get(one), known.get(one)
        if _is_to_come(concerned, one, entry, last):
            continue
        waits = _waits(concerned, one, last)
        bucket = None if entry is None else _bucket(board, view.cuts, entry.key)
        before = _before(board, concerned, view, one, last, bucket)
        own = (one in concerned.marks and concerned.marks[one].own) or (
            waits and last is not None and last.cause is RankChangeCause.OWN_SCORE
        )
        now = Outgoing(
            participant=one,
            rules=rules,
            bucket=bucket,
            rank=0,
            previous=before.bucket if before.known else bucket,
            previous_rank=None,
            cause=RankChangeCause.OWN_SCORE if own else RankChangeCause.OTHERS,
            version=version,
            at=at,
        )
        if now.is_news:
            told.append(now)
        elif waits or (one in concerned.marks and (last is None or bucket != last.bucket)):
            written.append(now)
    told = _with_ranks(db, board, standings, concerned, view, told, entries, known)
    return Decided(told, [*written, *(one for one in told if one is not known.get(one.participant))])


def _is_to_come(concerned: Concerned, one: str, entry: _Standing | None, last: Outgoing | None) -> bool:
    """Say whether someone is concerned by a change alone that is not counted yet."""
    if last is not None or entry is None:
        return False
    elsewhere = one in concerned.marks or one in concerned.sure or one in concerned.waiting.since
    return not elsewhere and entry.written > concerned.seen


def _waits(concerned: Concerned, one: str, last: Outgoing | None) -> bool:
    since = concerned.waiting.since.get(one)
    return last is not None and since is not None and last.version >= since


def _was_maybe_told(concerned: Concerned, one: str, last: Outgoing, bucket: str | None) -> bool:
    """Say whether someone may have been told a bucket that is no longer theirs."""
    return one in concerned.waiting.unsure and bucket != last.bucket


def _before(
    board: Board, concerned: Concerned, view: View, one: str, last: Outgoing | None, bucket: str | None
) -> _Before:
    """Say what someone was told last."""
    if last is not None:
        untold = _waits(concerned, one, last) and not _was_maybe_told(concerned, one, last, bucket)
        return _Before(last.previous if untold else last.bucket, known=True)
    if one in concerned.marks:
        mark = concerned.marks[one]
        return _Before(mark.previous, mark.known)
    key = concerned.sure.get(one) or concerned.found.get(one)
    return (
        _Before(bucket, known=False) if key is None else _Before(_bucket(board, view.base, key), known=True)
    )


def _with_ranks(
    db: Database,
    board: Board,
    standings: str,
    concerned: Concerned,
    view: View,
    news: Sequence[Outgoing],
    entries: Mapping[str, _Standing],
    known: Mapping[str, Outgoing],
) -> list[Outgoing]:
    """Give the events their ranks; what waits already and is still true stays as it is."""
    keys = {one.participant: entries[one.participant].key for one in news}
    moved = concerned.marks.values()
    old_keys = {
        one: concerned.marks[one].key or key if one in concerned.marks else key for one, key in keys.items()
    }
    ranks = Ranks.read(
        db,
        board,
        standings,
        view.top,
        [*keys.values(), *old_keys.values()],
        came=[entries[mark.participant].key for mark in moved if mark.participant in entries],
        went=[mark.key for mark in moved if mark.key is not None],
    )
    names = [bucket.name for bucket in board.rank_buckets]
    found = []
    for one in news:
        last = known.get(one.participant)
        waits = _waits(concerned, one.participant, last)
        # The cuts and the ranks are not read at one moment: an event does not contradict itself.
        first_place, last_place = place_range(board, names.index(one.bucket or ""), view.total)
        rank = max(first_place, min(ranks.now(keys[one.participant]), last_place))
        if last is not None and waits and (last.bucket, last.rank) == (one.bucket, rank):
            found.append(last)
            continue
        if last is not None and waits:
            maybe = _was_maybe_told(concerned, one.participant, last, one.bucket)
            previous_rank = last.rank if maybe else last.previous_rank
        else:
            previous_rank = None if one.previous is None else ranks.before(old_keys[one.participant])
        found.append(replace(one, rank=rank, previous_rank=previous_rank))
    return found


def _read_entries(
    db: Database, board: Board, standings: str, participants: Iterable[str]
) -> dict[str, _Standing]:
    """Read those who take a rank from the table itself, which never lags."""
    keys: list[Key] = [{"participant": {"S": one}, "standings": {"S": standings}} for one in participants]
    found = {}
    for item in batch_get(db, db.tables.scores, keys, consistent=True):
        entry = without_foreign_shard(board, sanitize_item(standings, item))
        if entry is not None and is_ranked(entry):
            found[item["participant"]["S"]] = _Standing(bytes(entry["rank_key"]["B"]), written_at(entry))
    return found


def _bucket(board: Board, cuts: Cuts, key: bytes) -> str:
    return board.rank_buckets[bucket_at(cuts, key)].name
