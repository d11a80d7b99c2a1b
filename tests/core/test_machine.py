"""State machine: random actions on a board, compared with the oracle after each step.

With few participants and few scores there are many ties. The stream is delivered as an event source may do
it: in batches of any size, and again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from core.boards import Boards
from core.domain.board import ComponentInput
from core.domain.entry_item import entry_key
from core.domain.model import CounterMode, RankBucket, ScoreKind, ScorePolicy, SortOrder, TieBreak
from core.ranking import top as materialised
from core.storage.database import Database
from core.stream import process
from local.stack.stream_reader import connect_streams
from tests.support.twin import ALL_TIME, Twin

PARTICIPANTS = ["a", "b", "B", "é", "ב", "🏁", "a#b", "zz"]
PAGE_SIZES = [1, 2, 3, 7, 1000]
BUCKETS = [
    None,
    [RankBucket("first", to=1), RankBucket("third", top_percent=33.3), RankBucket("half", top_percent=50)],
    [RankBucket("most", top_percent=70), RankBucket("ten", to=10), RankBucket("rest")],
]

components = st.builds(
    lambda kind, order, bounded: ComponentInput(
        kind=kind,
        order=order,
        decimals={ScoreKind.DECIMAL: 1, ScoreKind.DURATION: 3, ScoreKind.TIMESTAMP: 0}.get(kind),
        min=None if kind is ScoreKind.TIMESTAMP else "-500" if bounded else "-100000",
        max=None if kind is ScoreKind.TIMESTAMP or not bounded else "500",
    ),
    st.sampled_from(ScoreKind),
    st.sampled_from(SortOrder),
    st.booleans(),
)


@st.composite
def definitions(draw: st.DrawFn) -> dict[str, Any]:
    policy = draw(st.sampled_from(ScorePolicy))
    parts = draw(st.lists(components, min_size=1, max_size=3))
    if policy is ScorePolicy.SUM:  # instants cannot be summed
        parts = [part for part in parts if part.kind is not ScoreKind.TIMESTAMP] or [ComponentInput()]
    return {
        "components": [
            ComponentInput(f"c{at}", part.kind, part.order, part.decimals, part.min, part.max)
            for at, part in enumerate(parts)
        ],
        "policy": policy,
        "tie_break": draw(st.sampled_from(TieBreak)),
        "rank_buckets": draw(st.sampled_from(BUCKETS)),
        "peak_writes_per_second": draw(st.sampled_from([1, 700, 1000])),
    }


@dataclass(frozen=True)
class Write:
    """A score to submit, or None to remove the participant."""

    participant: str
    score: tuple[int, ...] | None
    at: int


participants = st.sampled_from(PARTICIPANTS)
scores = st.tuples(*[st.sampled_from([-300, -1, 0, 1, 2, 300])] * 3)
writes = st.builds(Write, participants, st.one_of(scores, scores, scores, st.none()), st.integers(0, 3))


class Stream:
    """The records of a table's stream, and how far they have been delivered."""

    def __init__(self, db: Database, boards: Boards) -> None:
        self._db = db
        self._boards = boards
        self._client = connect_streams(db)
        self._records: dict[str, list[Any]] = {}
        self._delivered: dict[str, int] = {}
        self._iterators: dict[str, str] = {}

    def deliver(self, cuts: Sequence[int] = (), back: int = 0) -> None:
        """Deliver the last `back` records once more and all new ones, cut into batches."""
        for shard, records in self._read().items():
            start = max(0, self._delivered.get(shard, 0) - back)
            ends = sorted({min(start + cut, len(records)) for cut in cuts} | {len(records)})
            for end in ends:
                if start < end:
                    process(self._db, self._boards, shard, records[start:end])
                start = end
            self._delivered[shard] = len(records)

    def deliver_and_die(self, count: int) -> None:
        """Deliver the first new records to a consumer that dies before it stores its checkpoint."""
        for shard, records in self._read().items():
            start = self._delivered.get(shard, 0)
            if records[start : start + count]:
                process(self._db, self._boards, shard, records[start : start + count])

    def _read(self) -> dict[str, list[Any]]:
        if not self._iterators:
            table = self._db.client.describe_table(TableName=self._db.tables.scores)["Table"]
            arn = table["LatestStreamArn"]
            for shard in self._client.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
                self._records[shard["ShardId"]] = []
                self._iterators[shard["ShardId"]] = self._client.get_shard_iterator(
                    StreamArn=arn, ShardId=shard["ShardId"], ShardIteratorType="TRIM_HORIZON"
                )["ShardIterator"]
        for shard_id, records in self._records.items():
            more = True
            while more:
                answer = self._client.get_records(ShardIterator=self._iterators[shard_id])
                self._iterators[shard_id] = answer["NextShardIterator"]
                records.extend(answer["Records"])
                more = bool(answer["Records"])
        return self._records


class BoardMachine(RuleBasedStateMachine):
    """Random actions on one board."""

    def __init__(self, db: Database, boards: Boards, stream: Stream) -> None:
        super().__init__()
        self._db, self._boards, self._stream = db, boards, stream
        self._steps = 0

    @initialize(definition=definitions())
    def create(self, definition: dict[str, Any]) -> None:
        self.twin = Twin.make(self._db, self._boards, **definition)
        self._stream.deliver()

    @rule(batch=st.lists(writes, min_size=1, max_size=6))
    def write(self, batch: Sequence[Write]) -> None:
        self._do(batch)
        self._stream.deliver()

    @rule(batch=st.lists(writes, min_size=1, max_size=6), cuts=st.lists(st.integers(1, 8), max_size=3))
    def write_and_deliver_in_pieces(self, batch: Sequence[Write], cuts: Sequence[int]) -> None:
        self._do(batch)
        self._stream.deliver(cuts)

    @rule(
        batch=st.lists(writes, min_size=1, max_size=6),
        tries=st.lists(st.integers(1, 8), max_size=3),
        cuts=st.lists(st.integers(1, 8), max_size=3),
    )
    def write_and_deliver_with_crashes(
        self, batch: Sequence[Write], tries: Sequence[int], cuts: Sequence[int]
    ) -> None:
        self._do(batch)
        for count in tries:
            self._stream.deliver_and_die(count)
        self._stream.deliver(cuts)

    @rule(back=st.integers(1, 40), cuts=st.lists(st.integers(1, 40), max_size=3))
    def deliver_again(self, back: int, cuts: Sequence[int]) -> None:
        self._stream.deliver(cuts, back)

    @rule(participant=participants)
    def remove(self, participant: str) -> None:
        self.twin.remove(participant)
        self._stream.deliver()

    @rule(participant=participants, at=st.integers(0, 3))
    def remove_with_its_late_retries(self, participant: str, at: int) -> None:
        """Scores achieved by then are refused from now on, also once the participant stands again."""
        self.twin.remove(participant, at)
        self._stream.deliver()

    @rule(participant=participants, cuts=st.lists(st.integers(1, 8), max_size=3))
    def hide_or_restore(self, participant: str, cuts: Sequence[int]) -> None:
        if participant in self.twin.oracle.hidden:
            self.twin.restore(participant)
        elif participant in self.twin.oracle.entries:
            self.twin.hide(participant)
        self._stream.deliver(cuts)

    @rule(
        participant=participants,
        score=scores,
        at=st.none() | st.integers(0, 3),
        cuts=st.lists(st.integers(1, 8), max_size=3),
    )
    def correct(self, participant: str, score: tuple[int, ...], at: int | None, cuts: Sequence[int]) -> None:
        """To any score, up or down, whatever the policy; hidden or not."""
        self.twin.correct(participant, *score[: len(self.twin.board.components)], at=at)
        self._stream.deliver(cuts)

    @rule(participant=participants, at=st.integers(0, 3))
    def forget(self, participant: str, at: int) -> None:
        """Forgotten on every board, also on those of earlier examples."""
        self.twin.forget(participant, at)
        self._stream.deliver()

    @rule()
    def archive(self) -> None:
        """An archive has the standings and ranks of now, and keeps them."""
        self.twin.check_archives()

    @invariant()
    def every_read_agrees(self) -> None:
        if hasattr(self, "twin"):
            self._steps += 1
            self.twin.check(page_sizes=[PAGE_SIZES[self._steps % len(PAGE_SIZES)]], radii=[self._steps % 4])

    def _do(self, batch: Sequence[Write]) -> None:
        width = len(self.twin.board.components)
        for write in batch:
            if write.score is None:
                self.twin.remove(write.participant)
            else:
                self.twin.submit(write.participant, *write.score[:width], at=write.at)


@pytest.mark.parametrize("examples", [3, pytest.param(12, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("kept", [3, materialised.TOP_KEPT])
def test_a_board_agrees_with_the_oracle_after_each_step(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch, kept: int, examples: int
) -> None:
    """With a top that holds the whole board, and with one that does not."""
    monkeypatch.setattr(materialised, "TOP_KEPT", kept)
    stream = Stream(db, boards)
    run_state_machine_as_test(
        cast("type[BoardMachine]", partial(BoardMachine, db, boards, stream)),
        settings=settings(
            max_examples=examples,
            stateful_step_count=12,
            deadline=None,
            # No shrinking: on a real engine it takes minutes, and the steps are few and readable as they are.
            phases=[Phase.reuse, Phase.generate],
            suppress_health_check=list(HealthCheck),
            print_blob=True,
        ),
    )


# Single deliveries


def test_a_batch_that_is_delivered_again_with_more_records_is_counted_once(
    db: Database, boards: Boards
) -> None:
    """As after a crash before the checkpoint; the longer batch adds up to no change of the count."""
    twin, stream = Twin.make(db, boards), Stream(db, boards)
    twin.submit("p", 1)
    stream.deliver()
    twin.submit("q", 2)
    twin.remove("q")
    stream.deliver_and_die(1)
    stream.deliver()
    twin.check()


def test_a_malformed_record_stops_no_other(db: Database, boards: Boards) -> None:
    """Foreign items may be anything that the table accepts."""
    twin, stream = Twin.make(db, boards), Stream(db, boards)
    for name in ["#", "##", "#all-time#0", "none", "\x01#all-time#0", "x" * 300 + "#all-time#0", "a#b#c#d"]:
        key: dict[str, Any] = {"participant": {"S": "foreign"}, "standings": {"S": name}}
        numbers: dict[str, Any] = {field: {"N": "1"} for field in ("achieved_at", "submissions", "version")}
        ranked: dict[str, Any] = {"rank_shard": {"S": "s"}, "rank_key": {"B": b"\x00"}}
        db.client.put_item(TableName=db.tables.scores, Item=key)
        db.client.put_item(TableName=db.tables.scores, Item={**key, **numbers, **ranked})
        db.client.delete_item(TableName=db.tables.scores, Key=key)
    twin.submit("p", 1)
    stream.deliver()
    twin.check()


@pytest.mark.parametrize("repaired", [True, False])
def test_an_entry_without_rank_key_is_not_counted_until_repaired(
    db: Database, boards: Boards, *, repaired: bool
) -> None:
    """It is not on the rank index and takes no rank."""
    twin, stream = Twin.make(db, boards), Stream(db, boards)
    twin.submit("p", 1)
    twin.submit("q", 2)
    stream.deliver()
    key = entry_key(twin.board, ALL_TIME, "q")
    whole = db.client.get_item(TableName=db.tables.scores, Key=key)["Item"]
    db.client.put_item(
        TableName=db.tables.scores, Item={name: whole[name] for name in whole if name != "rank_key"}
    )
    stream.deliver()
    if repaired:
        db.client.put_item(TableName=db.tables.scores, Item=whole)
    else:
        db.client.delete_item(TableName=db.tables.scores, Key=key)
        twin.oracle.remove("q")
    stream.deliver()
    twin.check()


def test_a_board_created_again_is_counted_by_a_consumer_that_has_cached_the_old_one(db: Database) -> None:
    caching = Boards(db, cache_seconds=3600)
    stream = Stream(db, caching)
    old = Twin.make(db, caching, id="again")
    old.submit("p", 1)
    stream.deliver()
    db.client.delete_item(TableName=db.tables.boards, Key={"board": {"S": "again"}})
    new = Twin.make(db, Boards(db), id="again")
    new.submit("q", 2)
    stream.deliver()
    new.check()


def test_late_records_of_a_deleted_board_count_nowhere(db: Database, boards: Boards) -> None:
    stream = Stream(db, boards)
    old = Twin.make(db, boards, id="again")
    old.submit("p", 1)
    db.client.delete_item(TableName=db.tables.boards, Key={"board": {"S": "again"}})
    new = Twin.make(db, boards, id="again")
    old.submit("r", 3)
    new.submit("q", 2)
    stream.deliver()
    new.check()


def test_standings_that_cannot_be_counted_stop_no_other(
    db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """If this code fails on one board, all others go on, and the failure is logged."""
    broken, sound, stream = Twin.make(db, boards), Twin.make(db, boards), Stream(db, boards)
    follow = materialised.update_top

    def fail(*arguments: Any) -> None:
        if arguments[3] == broken.standings:
            raise IndexError("list index out of range")
        follow(*arguments)

    monkeypatch.setattr("core.stream.update_top", fail)
    for twin in (broken, sound):
        twin.submit("p", 1)
    stream.deliver()
    sound.check()
    assert any("rebuild its counters" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("mode", CounterMode)
def test_a_participant_without_an_entry_can_be_removed(
    db: Database, boards: Boards, mode: CounterMode
) -> None:
    twin = Twin.make(db, boards, counter_mode=mode)
    twin.remove("nobody")
