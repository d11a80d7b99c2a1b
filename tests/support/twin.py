"""A board in the database and its oracle: both are written to, and every read is compared."""

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import pytest

from core.archives.read import archive_entries
from core.archives.write import begin_archive, write_archive
from core.boards import Boards
from core.counters.cache import CounterCache
from core.domain import rank_key
from core.domain.board import define_board
from core.domain.entry_item import entry_key
from core.domain.errors import EntryNotFound, EntryRemoved, InvalidScore
from core.domain.keys import rank_shard, shard_of, standings_key
from core.domain.model import Board, Entry, Page, Rank, RankStrategy, ScoreKind, SubmitResult
from core.moderation.correct import correct_entry
from core.moderation.forget import erase_from_archives, forget_participant
from core.moderation.moderate import hide_entry, remove_entry, restore_entry
from core.ranking.pages import entries
from core.ranking.queries import around, entries_of, entry, participant_entries, size, top
from core.ranking.ranks import rank_entries
from core.records.audit import AuditContext
from core.records.jobs import Job, pending_jobs
from core.storage.database import Database, batch_write
from core.submissions.submit import Submission, submit_score
from tests.support.oracle import Bucket, Oracle, OutOfBounds, Place, Removed, Standing

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
ALL_TIME = "all-time"
ABSENT = "nobody"
EXACT = (RankStrategy.INDEX, RankStrategy.TREE, RankStrategy.LADDER, RankStrategy.AUTO)
LONG_AGO = AuditContext("tests", datetime(1970, 1, 1, tzinfo=UTC))  # a removal that holds no score back
BY_OPERATOR = AuditContext("tests", NOW + timedelta(days=1), "wrong")
YESTERDAY = NOW - timedelta(days=1)
_numbers = itertools.count()


@dataclass
class Twin:
    """A board in one period, in the database and as an oracle. Scores are in units of the last decimal."""

    db: Database
    boards: Boards
    board: Board
    period: str = ALL_TIME
    oracle: Oracle = field(init=False)
    forgotten: list[str] = field(default_factory=list)
    archived: dict[str, tuple[int, list[tuple[Standing, Place | None]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.oracle = Oracle(
            orders=[component.order.value for component in self.board.components],
            bounds=[(component.low, component.high) for component in self.board.components],
            policy=self.board.policy.value,
            tie_break=self.board.tie_break.value,
            buckets=[
                Bucket(bucket.name, bucket.to, bucket.top_percent) for bucket in self.board.rank_buckets
            ],
        )

    @classmethod
    def make(cls, db: Database, boards: Boards, **definition: Any) -> "Twin":
        """Create a board, by default of one INTEGER component, under an id of its own."""
        definition.setdefault("id", f"board-{next(_numbers)}")
        return cls(db, boards, boards.create(define_board(now=NOW, **definition)))

    # Writes, to both

    def submit(self, participant: str, *score: int, at: int = 0) -> bool:
        """Submit a score reached `at` seconds after noon; board and oracle must treat it alike."""
        achieved_at = NOW + timedelta(seconds=at)
        before = self.oracle.entries.get(participant)
        try:
            expected = self.oracle.submit(participant, score, achieved_at)
        except (OutOfBounds, Removed) as refusal:
            with pytest.raises(InvalidScore if isinstance(refusal, OutOfBounds) else EntryRemoved):
                submit_to(self.db, self.board, participant, score, achieved_at)
            return False
        result = submit_to(self.db, self.board, participant, score, achieved_at)
        assert result.accepted is expected
        assert not result.duplicate
        assert result.previous_score == (before.score if before else None)
        assert [standing_of(one) for one in result.entries] == [self.oracle.entries[participant]]
        return expected

    def remove(self, participant: str, at: int | None = None) -> None:
        """Remove a participant, `at` seconds after noon or long ago."""
        audit = LONG_AGO if at is None else replace(LONG_AGO, at=NOW + timedelta(seconds=at))
        expected = self.oracle.remove(participant, audit.at)
        removed = remove_entry(self.db, self.board, participant, audit)
        assert (standing_of(removed) if removed else None) == expected

    def hide(self, participant: str) -> None:
        """Hide an entry: it keeps its score and takes no rank."""
        self.oracle.hidden.add(participant)
        hidden = hide_entry(self.db, self.board, participant, LONG_AGO)
        assert hidden.hidden
        assert standing_of(hidden) == self.oracle.entries[participant]

    def restore(self, participant: str) -> None:
        """Restore a hidden entry."""
        self.oracle.hidden.remove(participant)
        restored = restore_entry(self.db, self.board, participant, LONG_AGO)
        assert not restored.hidden
        assert standing_of(restored) == self.oracle.entries[participant]

    def correct(self, participant: str, *score: int, at: int | None = None) -> None:
        """Correct a score, achieved `at` seconds after noon, or when the entry says."""
        achieved_at = None if at is None else NOW + timedelta(seconds=at)
        before = self.oracle.entries.get(participant)
        expected = self.oracle.correct(participant, score, achieved_at)
        changes = partial(
            correct_entry,
            self.db,
            self.board,
            participant,
            written_score(self.board, score),
            BY_OPERATOR,
            achieved_at=achieved_at,
            period=self.period,
        )
        if expected is None:
            with pytest.raises(EntryNotFound):
                changes()
            return
        old = entry(self.db, self.board, self.period, participant, lambda _: True)
        (corrected,) = changes()
        assert standing_of(corrected) == expected
        assert corrected == entry(self.db, self.board, self.period, participant, lambda _: True)
        assert old is not None
        assert corrected.version == old.version + (expected != before)

    def forget(self, participant: str, at: int) -> None:
        """Forget a participant, `at` seconds after noon, in archives too."""
        audit = replace(LONG_AGO, at=NOW + timedelta(seconds=at))
        self.oracle.remove(participant, audit.at)
        forget_participant(self.db, self.boards, participant, audit)
        for _, name, job in pending_jobs(self.db, Job.FORGET):
            assert erase_from_archives(self.db, self.boards, name, job, 1e9)
        self.forgotten.append(participant)

    # Reads, compared

    def check_archives(self) -> None:
        """Write an archive; it and all earlier ones must be as written, without forgotten participants."""
        name = begin_archive(
            self.db, self.board, self.period, YESTERDAY + timedelta(minutes=len(self.archived))
        )
        assert write_archive(self.db, name, 1e9)
        ranked = [(standing, self.oracle.place(standing.participant)) for standing in self.oracle.ranked()]
        self.archived[name] = (len(self.forgotten), ranked)
        for archive, (before, then) in self.archived.items():
            gone = set(self.forgotten[before:])
            found = archive_entries(self.db, archive, 1000).items
            assert [
                (entry.participant_id, entry.score, entry.achieved_at, place_of(rank))
                for entry, rank in found
            ] == [
                ("" if old.participant in gone else old.participant, old.score, old.achieved_at, place)
                for old, place in then
            ]

    @property
    def standings(self) -> str:
        return standings_key(self.board.id, self.period, self.board.generation)

    def check(
        self,
        page_sizes: Sequence[int] = (2,),
        radii: Sequence[int] = (1,),
        participants: Sequence[str] | None = None,
    ) -> None:
        """Compare every read of the board with the oracle; the stream must have been counted.

        `participants` (default: all) are those whose own entry and window are compared.
        """
        found = self.check_reads(page_sizes, radii, participants)
        for run in found:
            self.check_ranks(run, RankStrategy.INDEX)
        self.check_ranks([entry for run in found for entry in run], RankStrategy.AUTO)

    def check_strategies(
        self,
        page_sizes: Sequence[int] = (17,),
        radii: Sequence[int] = (2,),
        participants: Sequence[str] | None = None,
    ) -> None:
        """Compare every read as `check` does, and all ranks by each strategy, also of one entry alone."""
        self.db.cache(CounterCache).ladders.clear()  # a cached one may be behind
        runs = self.check_reads(page_sizes, radii, participants)
        runs.append(self.check_subset(list(self.oracle.entries)[:100]))
        every = [entry for run in runs for entry in run]
        places = {name: self.oracle.place(name) for name in {entry.participant_id for entry in every}}
        for found in (every, every[-1:]):
            for strategy in EXACT:
                self.check_ranks(found, strategy, places)
            self.check_bounds(found, places)

    def check_reads(
        self, page_sizes: Sequence[int], radii: Sequence[int], participants: Sequence[str] | None
    ) -> list[Sequence[Entry]]:
        chosen = list(self.oracle.entries) if participants is None else participants
        assert size(self.db, self.board, self.period) == self.oracle.size()
        return [
            *(self.check_top(limit) for limit in (1, 3, 100)),
            *(page for limit in page_sizes for page in self.check_pages(limit)),
            *(self.check_around(each, radius) for radius in radii for each in [*chosen, ABSENT]),
            self.check_subset([*chosen, ABSENT]),
            *(self.check_own(each) for each in [*chosen, ABSENT]),
        ]

    def check_top(self, limit: int) -> Sequence[Entry]:
        found = top(self.db, self.board, self.period, limit)
        assert standings_of(found) == self.oracle.top(limit)
        return found

    def check_pages(self, limit: int) -> Sequence[Sequence[Entry]]:
        pages = list(walk(partial(entries, self.db, self.board, self.period, limit)))
        assert [standings_of(page) for page in pages] == (self.oracle.pages(limit) or [[]])
        return pages

    def check_around(self, participant: str, radius: int) -> Sequence[Entry]:
        found = around(self.db, self.board, self.period, participant, radius)
        expected = self.oracle.around(participant, radius)
        assert (None if found is None else standings_of(found)) == expected
        return found or []

    def check_subset(self, participants: Sequence[str]) -> Sequence[Entry]:
        found = entries_of(self.db, self.board, self.period, participants)
        assert standings_of(found) == self.oracle.entries_of(participants)
        return found

    def check_own(self, participant: str) -> Sequence[Entry]:
        """Compare a participant's entry, read alone and among all entries of the participant."""
        owner = participant.__eq__  # sees the participant's hidden entry, as others do not
        if participant in self.oracle.hidden:
            assert entry(self.db, self.board, self.period, participant) is None
        found = entry(self.db, self.board, self.period, participant, owner)
        expected = self.oracle.entries.get(participant)
        assert (standing_of(found) if found else None) == expected
        assert found is None or found.hidden == (participant in self.oracle.hidden)
        pages = walk(partial(participant_entries, self.db, self.boards, participant, 100, sees_hidden=owner))
        here = [
            own
            for page in pages
            for own in page
            if (own.board.id, own.period) == (self.board.id, self.period)
        ]
        assert standings_of(here) == ([expected] if expected else [])
        return [found, *here] if found else []

    def check_ranks(
        self, found: Sequence[Entry], strategy: RankStrategy, places: Mapping[str, Place | None] | None = None
    ) -> None:
        if places is None:
            places = {entry.participant_id: self.oracle.place(entry.participant_id) for entry in found}
        ranked = rank_entries(self.db, self.board, self.period, found, strategy)
        assert [rank and place_of(rank) for rank in ranked] == [
            places[entry.participant_id] for entry in found
        ]
        assert all(
            rank.exact and rank.lower_bound == rank.upper_bound == rank.rank
            for rank in ranked
            if rank is not None
        )

    def check_bounds(self, found: Sequence[Entry], places: Mapping[str, Place | None]) -> None:
        """Compare APPROXIMATE ranks: the true one is within the bounds, and equal where they are exact."""
        ranked = rank_entries(self.db, self.board, self.period, found, RankStrategy.APPROXIMATE)
        for each, rank in zip(found, ranked, strict=True):
            place = places[each.participant_id]
            assert (rank is None) == (place is None)
            if rank is None or place is None:
                continue
            assert 1 <= rank.lower_bound <= place.rank <= rank.upper_bound <= place.total
            assert rank.lower_bound <= rank.rank <= rank.upper_bound
            assert rank.exact == (rank.lower_bound == rank.upper_bound)
            assert rank.position in (None, place.position)
            assert rank.total == place.total
            assert 0 <= rank.percentile <= 100 * (place.total - rank.rank) / place.total


def submit_to(
    db: Database, board: Board, participant: str, score: Sequence[int], achieved_at: datetime
) -> SubmitResult:
    """Submit a score as a client would write it."""
    return submit_score(
        db,
        board,
        Submission(
            participant,
            written_score(board, score),
            achieved_at=achieved_at,
        ),
        now=max(achieved_at, NOW + timedelta(days=1)),
    )


def written_score(board: Board, score: Sequence[int]) -> list[str]:
    """Return a score of scaled integers as a client writes it."""
    return [
        written(component.kind, value, component.decimals)
        for component, value in zip(board.components, score, strict=True)
    ]


def put_entries(twin: Twin, scores: dict[str, int]) -> list[bytes]:
    """Write entries as an import by other tools does; return their rank keys."""
    keys = {one: rank_key.encode(twin.board, [score], NOW, one) for one, score in scores.items()}
    puts: list[Any] = [
        {
            "PutRequest": {
                "Item": {
                    **entry_key(twin.board, ALL_TIME, one),
                    "rank_key": {"B": key},
                    "rank_shard": {"S": rank_shard(twin.standings, shard_of(twin.board, one))},
                    "achieved_at": {"N": "1"},
                    "written_at": {"N": str(time.time_ns() // 1_000_000)},
                    "submissions": {"N": "1"},
                    "version": {"N": "1"},
                }
            }
        }
        for one, key in keys.items()
    ]
    batch_write(twin.db, twin.db.tables.scores, puts)
    return list(keys.values())


def written(kind: ScoreKind, scaled: int, decimals: int) -> str:
    """Return a scaled integer as a client writes it, with every decimal (at most 6 for a TIMESTAMP)."""
    if kind is ScoreKind.TIMESTAMP:
        since_1970 = timedelta(microseconds=scaled * 10**6 // 10**decimals)
        return (datetime(1970, 1, 1, tzinfo=UTC) + since_1970).isoformat()
    digits = str(abs(scaled)).rjust(decimals + 1, "0")
    whole, fraction = digits[: len(digits) - decimals], digits[len(digits) - decimals :]
    return ("-" if scaled < 0 else "") + whole + ("." + fraction if decimals else "")


def walk(read: Callable[[str | None], Page[Entry]]) -> Iterator[Sequence[Entry]]:
    """Yield the items of every page."""
    token: str | None = None
    while True:
        page = read(token)
        yield page.items
        token = page.next_token
        if token is None:
            return


def standing_of(found: Entry) -> Standing:
    return Standing(found.participant_id, found.score, found.achieved_at, found.submissions)


def standings_of(found: Sequence[Entry]) -> list[Standing]:
    return [standing_of(entry) for entry in found]


def place_of(rank: Rank) -> Place:
    return Place(
        rank.rank,
        rank.position or 0,
        rank.total,
        rank.percentile,
        rank.bucket.name,
        rank.bucket_from or 0,
        rank.bucket_to,
    )
