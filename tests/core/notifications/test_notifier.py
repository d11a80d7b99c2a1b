"""Who is notified of a new rank bucket, when, and what the event says; step by step against the oracle."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from core import stream
from core.boards import Boards
from core.domain.board import define_board
from core.domain.keys import live_partition
from core.domain.model import CounterMode, RankBucket, ScorePolicy, TieBreak
from core.entries.texts import update_entry
from core.moderation.forget import erase_from_archives, forget_participant
from core.notifications import findings, movers, notifier
from core.notifications.events import Event, Published, RankChange, RankChangeCause
from core.notifications.notifier import NextPass
from core.notifications.outbox import Pending, delete_outgoing, read_pending, write_pending
from core.ranking import top
from core.ranking.queries import size
from core.ranking.queries import top as best
from core.records.audit import AuditContext
from core.records.jobs import Job, pending_jobs
from core.storage.database import Database, metered
from core.stream import process
from core.tree import shape
from tests.support.audience import Audience, places
from tests.support.deliveries import Records
from tests.support.growing import Grower
from tests.support.twin import ALL_TIME, NOW, Twin, put_entries

OWN, OTHERS = RankChangeCause.OWN_SCORE, RankChangeCause.OTHERS
BUCKETS = [
    RankBucket("one", to=1),
    RankBucket("ten", to=10),
    RankBucket("half", top_percent=50),
    RankBucket("rest"),
]
START = 1_800_000_000_000


@dataclass
class Scenario:
    """A board, its oracle, a clock, and all that its subscribers receive."""

    db: Database
    boards: Boards
    twin: Twin
    records: Records
    audience: Audience = field(default_factory=Audience)
    now: int = START
    down: bool = False
    next_pass: NextPass | None = None

    def count(self) -> bool:
        """Count what was written; return whether a pass is due."""
        records = self.records.new()
        due = process(self.db, self.boards, "shard", records).due if records else ()
        return self.twin.standings in due

    def run_pass(self, empty_passes: int = 0) -> list[Event]:
        """Run one pass, a second later; return what it published."""
        self.now += 1_001
        before = len(self.audience.received)
        self.next_pass = notifier.notify(
            self.db, self.twin.board, self.twin.standings, self._publish, empty_passes=empty_passes
        )
        return self.audience.received[before:]

    def settle(self) -> list[RankChange]:
        """Count, and run passes until nothing is left to do; return the rank changes published."""
        self.count()
        received = self.run_pass()
        while self.next_pass:
            self.now += int(self.next_pass.after_seconds * 1000)
            received += self.run_pass(self.next_pass.empty_passes)
        return [event for event in received if isinstance(event, RankChange)]

    def check(self) -> None:
        """Every participant knows the bucket that they are in."""
        for participant in self.twin.oracle.entries:
            place = self.twin.oracle.place(participant)
            if place:
                assert self.audience.newest[participant].bucket == place.bucket, participant
        assert self.audience.doubled == []

    def _publish(self, events: Sequence[Event]) -> Published:
        return Published() if self.down else self.audience.receive(events)


@pytest.fixture
def make_scenario(db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch) -> Any:
    records = Records(db)

    def make(**definition: Any) -> Scenario:
        definition.setdefault("rank_buckets", BUCKETS)
        scenario = Scenario(db, boards, Twin.make(db, boards, **definition), records)
        monkeypatch.setattr(notifier, "now_ms", lambda: scenario.now)
        return scenario

    return make


def summary(event: RankChange) -> tuple[Any, ...]:
    return event.previous_bucket, event.bucket, event.previous_rank, event.rank, event.cause


def fill(scenario: Scenario, entries: int) -> None:
    """Let p0, p1 and so on submit 1000, 999 and so on."""
    for number in range(entries):
        scenario.twin.submit(f"p{number}", 1000 - number)
    scenario.settle()
    scenario.check()


# Who is notified


def test_a_climber_pushes_others_over_every_boundary(make_scenario: Any) -> None:
    scenario = make_scenario()
    fill(scenario, 30)
    scenario.twin.submit("p29", 2000)
    changes = {event.participant_id: summary(event) for event in scenario.settle()}
    assert changes == {
        "p29": ("rest", "one", 30, 1, OWN),
        "p0": ("one", "ten", 1, 2, OTHERS),
        "p9": ("ten", "half", 10, 11, OTHERS),
        "p14": ("half", "rest", 15, 16, OTHERS),
    }
    scenario.check()


def test_a_participant_who_leaves_lets_others_in(make_scenario: Any) -> None:
    scenario = make_scenario()
    fill(scenario, 30)
    scenario.twin.remove("p0")
    changes = {event.participant_id: summary(event) for event in scenario.settle()}
    assert changes == {"p1": ("ten", "one", 2, 1, OTHERS), "p10": ("half", "ten", 11, 10, OTHERS)} | {
        event.participant_id: summary(event) for event in scenario.audience.of("p15")[1:]
    }
    scenario.check()


def test_a_new_entry_has_no_previous_bucket(make_scenario: Any) -> None:
    scenario = make_scenario()
    fill(scenario, 12)
    scenario.twin.submit("new", 995)
    [event] = [event for event in scenario.settle() if event.participant_id == "new"]
    assert summary(event) == (None, "ten", None, 6, OWN)


def test_a_bucket_of_a_share_grows_with_the_board(make_scenario: Any) -> None:
    """Entries that are added at the end lift those in the middle into the better half."""
    scenario = make_scenario(rank_buckets=[RankBucket("half", top_percent=50), RankBucket("rest")])
    fill(scenario, 10)
    scenario.twin.submit("last", 1)
    assert {event.participant_id: summary(event) for event in scenario.settle()} == {
        "last": (None, "rest", None, 11, OWN),
        "p5": ("rest", "half", 6, 6, OTHERS),
    }
    scenario.twin.remove("last")
    [event] = scenario.settle()
    assert (event.participant_id, summary(event)) == ("p5", ("half", "rest", 6, 6, OTHERS))
    scenario.check()


def test_ties_at_a_boundary_share_the_better_bucket_until_they_break(make_scenario: Any) -> None:
    """Three share rank 10. When one climbs, nobody crosses the boundary, but the others are 11th."""
    scenario = make_scenario(rank_buckets=[RankBucket("ten", to=10), RankBucket("rest")])
    for number in range(9):
        scenario.twin.submit(f"p{number}", 100 - number)
    for one in ("a", "b", "c"):
        scenario.twin.submit(one, 50)
    scenario.settle()
    scenario.check()
    assert scenario.audience.newest["c"].bucket == "ten"
    scenario.twin.submit("a", 99)  # from the tie to rank 2: b and c are 11th
    changes = {event.participant_id: summary(event) for event in scenario.settle()}
    assert changes == {"b": ("ten", "rest", 10, 11, OTHERS), "c": ("ten", "rest", 10, 11, OTHERS)}
    scenario.check()


def test_nothing_is_published_or_written_while_no_bucket_changes(make_scenario: Any) -> None:
    scenario = make_scenario()
    fill(scenario, 40)
    for participant, score in [("p39", 965), ("p30", 972)]:
        scenario.twin.submit(participant, score)
        assert not scenario.count()
        with metered() as meter:
            assert scenario.run_pass() == []
        assert meter.write_units == 0
    scenario.twin.submit("p0", 5000)  # the leader climbs: the first boundary moves, crossing nobody
    scenario.count()
    assert [event for event in scenario.run_pass() if isinstance(event, RankChange)] == []
    scenario.check()


def test_a_participant_who_leaves_is_not_notified_and_comes_back_as_new(make_scenario: Any) -> None:
    scenario = make_scenario()
    fill(scenario, 4)
    for leave, come_back in [
        (scenario.twin.remove, lambda who: scenario.twin.submit(who, 1)),
        (scenario.twin.hide, scenario.twin.restore),
    ]:
        leave("p3")
        del scenario.audience.newest["p3"]
        assert "p3" not in {event.participant_id for event in scenario.settle()}
        come_back("p3")
        [event] = [event for event in scenario.settle() if event.participant_id == "p3"]
        assert summary(event) == (None, "ten", None, 4, OWN)
        scenario.check()


def test_nothing_that_a_forgotten_participant_was_sent_is_kept(
    make_scenario: Any, db: Database, boards: Boards
) -> None:
    scenario = make_scenario()
    fill(scenario, 12)

    def kept(participant: str) -> list[str]:
        return [
            item["node"]["S"]
            for item in db.client.query(
                TableName=db.tables.counters,
                KeyConditionExpression="standings = :live",
                ExpressionAttributeValues={":live": {"S": live_partition(scenario.twin.standings)}},
            )["Items"]
            if participant in repr(item)
        ]

    scenario.twin.submit("Zoe", 2000)
    scenario.settle()
    assert kept("Zoe") == ["outbox:Zoe"]
    assert forget_participant(db, boards, "Zoe", AuditContext("ops", NOW)) == 1
    assert kept("Zoe") == []
    scenario.twin.oracle.remove("Zoe")
    scenario.settle()
    [(_, name, job)] = pending_jobs(db, Job.FORGET)
    assert erase_from_archives(db, boards, name, job, 1e9)
    assert kept("Zoe") == []
    scenario.check()


def test_no_notifications_of_a_recreated_board_or_changed_buckets_themselves(
    make_scenario: Any, db: Database, boards: Boards
) -> None:
    scenario = make_scenario(id="again")
    fill(scenario, 12)
    twin = scenario.twin
    twin.board = boards.update("again", 1, rank_buckets=[RankBucket("five", to=5), RankBucket("rest")])
    twin.submit("p11", 989)
    assert scenario.settle() == []
    twin.submit("p11", 1500)
    assert {event.participant_id: summary(event)[:2] for event in scenario.settle()} == {
        "p11": ("rest", "five"),
        "p4": ("five", "rest"),
    }
    twin.submit("p10", 1600)
    db.client.delete_item(TableName=db.tables.boards, Key={"board": {"S": "again"}})
    boards.create(define_board(id="again", now=NOW))
    assert not scenario.count()


# In any state of the board


@pytest.mark.parametrize(
    ("mode", "kept"),
    [
        (CounterMode.STREAM, 3),
        (CounterMode.STREAM, top.TOP_KEPT),
        (CounterMode.TRANSACTIONAL, 3),
        (CounterMode.INLINE, 3),
    ],
)
def test_everyone_knows_their_bucket_after_each_step(
    make_scenario: Any, monkeypatch: pytest.MonkeyPatch, mode: CounterMode, kept: int
) -> None:
    """With many ties, and boundaries in the top and behind it. Ranks agree with the oracle too."""
    monkeypatch.setattr(top, "TOP_KEPT", kept)
    scenario = make_scenario(counter_mode=mode, peak_writes_per_second=700, tie_break=TieBreak.LATEST)
    chance = random.Random(f"{mode} {kept}")
    people = [f"p{at}" for at in range(40)]
    for step in range(8):
        for _ in range(chance.choice([1, 1, 2, 5])):
            one = chance.choice(people)
            if chance.random() < 0.15:
                scenario.twin.remove(one)
                scenario.audience.newest.pop(one, None)
            else:
                scenario.twin.submit(
                    one, chance.choice([1, 2, 3, 50, 51, 52, chance.randrange(400)]), at=step
                )
        for event in scenario.settle():
            place = scenario.twin.oracle.place(event.participant_id)
            assert place
            assert (event.rank, event.bucket) == (place.rank, place.bucket)
            assert event.bucket != event.previous_bucket
        scenario.check()


def test_boundaries_deep_in_a_grown_tree(
    make_scenario: Any, monkeypatch: pytest.MonkeyPatch, drain: Any
) -> None:
    buckets = [RankBucket("hundred", to=100), RankBucket("most", top_percent=70), RankBucket("rest")]
    scenario = make_scenario(rank_buckets=buckets)
    grower = Grower.make(monkeypatch, drain, grow_at=1000, inner=8)
    for number in range(160):
        scenario.twin.submit(f"p{number}", 600_000 + 7 * number)
    drain()
    for at in (shape, stream):
        monkeypatch.setattr(at, "GROW_AT", 12)
    assert grower.grow(scenario.twin) == 3
    scenario.records.new()  # they are counted
    scenario.settle()
    scenario.twin.submit("p0", 10**6)
    changes = {event.participant_id: summary(event) for event in scenario.settle()}
    assert changes == {
        "p0": ("rest", "hundred", 160, 1, OWN),
        "p60": ("hundred", "most", 100, 101, OTHERS),
        "p48": ("most", "rest", 112, 113, OTHERS),
    }


def test_a_boundary_inside_a_tie_that_fills_many_leaves_is_behind_its_last_entry(
    make_scenario: Any, monkeypatch: pytest.MonkeyPatch, drain: Any
) -> None:
    """Also for those who join the tie later, and when its better part leaves."""
    scenario = make_scenario(rank_buckets=[RankBucket("hundred", to=100), RankBucket("rest")])
    grower = Grower.make(monkeypatch, drain, grow_at=1000, inner=8)
    for number in range(160):
        scenario.twin.submit(f"p{number}", 100, at=number)
    drain()
    for at in (shape, stream):
        monkeypatch.setattr(at, "GROW_AT", 12)
    monkeypatch.setattr(shape, "TIES_GROW_AT", 12)
    assert grower.grow(scenario.twin) > 1
    scenario.records.new()  # they are counted
    scenario.settle()
    for number in range(20):
        scenario.twin.submit(f"q{number}", 100, at=200 + number)
    changes = scenario.settle()
    assert {summary(event)[:2] for event in changes} == {(None, "hundred")}
    assert len(changes) == 20
    for number in range(100):
        scenario.twin.submit(f"first{number}", 200)
    assert len(scenario.settle()) == 100 + 180
    assert scenario.audience.newest["p0"].bucket == "rest"


class Hiding:
    """A client whose index does not show some participants yet."""

    def __init__(self, client: Any, hidden: set[str]) -> None:
        self._client, self._hidden = client, hidden

    def __getattr__(self, name: str) -> Any:
        return self.query if name == "query" else getattr(self._client, name)

    def query(self, **arguments: Any) -> Any:
        answer = self._client.query(**arguments)
        shown = [one for one in answer["Items"] if one.get("participant", {}).get("S") not in self._hidden]
        return {**answer, "Items": shown}


def test_a_participant_whom_the_index_does_not_show_yet_is_found_when_it_is_read_again(
    make_scenario: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(top, "TOP_KEPT", 3)
    scenario = make_scenario(rank_buckets=[RankBucket("ten", to=10), RankBucket("rest")])
    fill(scenario, 30)
    hidden = {"p9"}
    client: Any = Hiding(scenario.db.client, hidden)
    scenario.db = Database(client, scenario.db.tables)
    scenario.twin.submit("p29", 2000)
    scenario.count()
    assert [event.participant_id for event in scenario.run_pass() if isinstance(event, RankChange)] == ["p29"]
    hidden.clear()
    [event] = scenario.settle()
    assert (event.participant_id, summary(event)) == ("p9", ("ten", "rest", 11, 11, OTHERS))
    scenario.check()


def test_all_whom_the_index_did_not_show_are_found_however_many(
    make_scenario: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than one pass looks at, on both sides of where the boundary is by then."""
    monkeypatch.setattr(findings, "MAX_CANDIDATES", 10)
    monkeypatch.setattr(top, "TOP_KEPT", 3)
    scenario = make_scenario(rank_buckets=[RankBucket("forty", to=40), RankBucket("rest")])
    fill(scenario, 100)
    hidden = {f"p{number}" for number in range(10, 75)}
    plain = scenario.db
    client: Any = Hiding(plain.client, hidden)
    scenario.db = Database(client, plain.tables)
    scenario.twin.submit("p99", 2000)
    scenario.count()
    scenario.run_pass()
    for number in range(30):  # while it is uncertain, the boundary moves on
        scenario.twin.submit(f"q{number}", 2000 + number)
    scenario.count()
    for _ in range(3):
        scenario.run_pass()
    hidden.clear()
    scenario.settle()
    assert scenario.next_pass is None
    scenario.check()


@pytest.mark.parametrize("remembered", [True, False])
def test_a_participant_whose_move_is_counted_late_is_notified(
    make_scenario: Any, monkeypatch: pytest.MonkeyPatch, *, remembered: bool
) -> None:
    """A boundary passes where they were, five seconds and more before the stream brings their move."""
    monkeypatch.setattr(top, "TOP_KEPT", 3)
    scenario = make_scenario(
        policy=ScorePolicy.LATEST, rank_buckets=[RankBucket("thirty", to=30), RankBucket("rest")]
    )
    for number in range(60):
        scenario.twin.submit(f"p{number}", 1000 - number)
    scenario.settle()
    if not remembered:  # what they were sent is so long ago that the outbox holds it no more
        delete_outgoing(scenario.db, [scenario.twin.standings], "p27")
    for number in range(5):
        scenario.twin.submit(f"p{50 + number}", 2000 + number)
    scenario.twin.submit("p27", 1)
    records = scenario.records.new()
    process(scenario.db, scenario.boards, "shard", records[:5])
    scenario.run_pass()
    while scenario.next_pass:
        scenario.now += int(scenario.next_pass.after_seconds * 1000)
        scenario.run_pass(scenario.next_pass.empty_passes)
    assert scenario.audience.newest["p27"].bucket == "thirty"
    process(scenario.db, scenario.boards, "shard", records[5:])
    scenario.settle()
    assert summary(scenario.audience.newest["p27"])[:2] == ("thirty", "rest")
    scenario.check()


class Interrupted:
    """A client that lets something else happen just before a pass stores what it has announced."""

    def __init__(self, client: Any, happen: Callable[[], object]) -> None:
        self._client, self._happen = client, happen

    def __getattr__(self, name: str) -> Any:
        return self.put_item if name == "put_item" else getattr(self._client, name)

    def put_item(self, **arguments: Any) -> Any:
        if arguments["Item"].get("leased_until") == {"N": "0"}:
            self._happen()
        return self._client.put_item(**arguments)


@pytest.mark.parametrize("kept", [3, top.TOP_KEPT])
def test_a_participant_who_moves_back_during_the_pass_is_notified_of_that_too(
    make_scenario: Any, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    """By the old boundaries their bucket never changed, so the consumer must know the new ones."""
    monkeypatch.setattr(top, "TOP_KEPT", kept)
    scenario = make_scenario(rank_buckets=[RankBucket("ten", to=10), RankBucket("rest")])
    for number in range(30):
        scenario.twin.submit(f"p{number}", 1000 - 10 * number)
    scenario.settle()
    scenario.twin.submit("p29", 2000)
    scenario.count()
    plain, done = scenario.db, []

    def move_back() -> None:
        scenario.db = plain
        done.append(scenario.twin.submit("p9", 925))  # over p8, who is the tenth
        assert scenario.count()

    client: Any = Interrupted(plain.client, move_back)
    scenario.db = Database(client, plain.tables)
    scenario.run_pass()
    assert done == [True]
    assert scenario.audience.newest["p9"].bucket == "rest"
    scenario.settle()
    assert scenario.audience.newest["p9"].bucket == "ten"
    scenario.check()


@pytest.mark.parametrize("kept", [3, top.TOP_KEPT])
@pytest.mark.parametrize("entries", [5, 30])
def test_a_new_entry_that_is_hidden_and_restored_at_once_is_notified(
    make_scenario: Any, monkeypatch: pytest.MonkeyPatch, kept: int, entries: int
) -> None:
    """The pass after its creation finds it hidden already; the rest comes in one batch, to the same key."""
    monkeypatch.setattr(top, "TOP_KEPT", kept)
    scenario = make_scenario()
    fill(scenario, entries)
    scenario.twin.submit("new", 5)
    scenario.twin.hide("new")
    created, *hidden = scenario.records.new()
    process(scenario.db, scenario.boards, "shard", [created])
    scenario.run_pass()
    assert scenario.audience.of("new") == []
    scenario.twin.restore("new")
    process(scenario.db, scenario.boards, "shard", [*hidden, *scenario.records.new()])
    scenario.settle()
    [event] = scenario.audience.of("new")
    assert event.previous_bucket is None
    scenario.check()


# Each once, in order, none lost


def test_report_15_a_batch_delivered_again_in_other_pieces_is_published_once(
    make_scenario: Any, db: Database
) -> None:
    scenario = make_scenario()
    fill(scenario, 12)
    for one in ("p11", "p10", "p9"):
        scenario.twin.submit(one, 2000)
    records = scenario.records.new()
    given = partial(process, db, scenario.boards, "shard")
    given(records[:1])
    scenario.run_pass()
    given(records)
    scenario.run_pass()
    received = len(scenario.audience.received)
    for piece in (records, records[1:], records[:1], records[:2], records):
        given(piece)
        scenario.settle()
    assert len(scenario.audience.received) == received
    scenario.check()


def test_report_10_versions_grow(make_scenario: Any) -> None:
    scenario = make_scenario(rank_buckets=[RankBucket("one", to=1), RankBucket("rest")])
    for step in range(8):
        scenario.twin.submit("ab"[step % 2], step)
        scenario.settle()
        scenario.now -= 20_000  # another process, whose clock is behind
    versions = [event.version for event in scenario.audience.of("a")]
    assert len(versions) >= 7
    assert versions == sorted(set(versions))


def test_at_most_one_event_a_second_and_none_lost(make_scenario: Any) -> None:
    """All changes within a second merge into one event, which says where they ended."""
    scenario = make_scenario(rank_buckets=[RankBucket("one", to=1), RankBucket("rest")])
    fill(scenario, 2)
    for score in (1001, 1002, 1003, 1004):
        scenario.twin.submit("p1" if score % 2 else "p0", score)
        scenario.count()
        scenario.now -= 1_001 - 100  # passes a tenth of a second apart
        scenario.run_pass()
    at = [event.at for event in scenario.audience.of("p1")]
    assert all((later - earlier).total_seconds() >= 1 for earlier, later in pairwise(at))
    scenario.settle()
    scenario.check()


def test_a_burst_of_500_is_published_in_bounded_passes(
    make_scenario: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "MAX_CANDIDATES", 200)
    monkeypatch.setattr(movers, "MOVERS_PER_ITEM", 50)
    scenario = make_scenario()
    chance = random.Random(5)
    for _ in range(2):  # all enter, then all move
        keys = put_entries(scenario.twin, {f"p{at}": chance.randrange(10**6) for at in range(500)})
        scenario.count()
        passes = 0
        while passes == 0 or scenario.next_pass:
            with metered() as meter:
                events = scenario.run_pass()
            assert len(events) <= 3 * 250
            assert meter.write_units < 900
            scenario.now += int(scenario.next_pass.after_seconds * 1000) if scenario.next_pass else 0
            passes += 1
        assert passes > 2
        truth = places(scenario.twin.board, keys)
        newest = scenario.audience.newest
        assert {one: newest[one].bucket for one in truth} == {
            one: bucket for one, (_, bucket) in truth.items()
        }
    assert scenario.audience.doubled == []


def test_a_burst_of_small_batches_is_published_to_its_end(make_scenario: Any) -> None:
    """More of them than one page of the query holds, while notifying was away."""
    scenario = make_scenario(rank_buckets=[RankBucket("ten", to=10), RankBucket("rest")])
    put_entries(scenario.twin, {f"p{at}": at for at in range(250)})
    for record in scenario.records.new():
        process(scenario.db, scenario.boards, "shard", [record])
    scenario.settle()
    assert len(scenario.audience.newest) == 250


def test_a_boundary_that_moves_far_is_followed_pass_by_pass(
    make_scenario: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By more entries than one pass looks at, out and back in, while nobody's own score moves."""
    monkeypatch.setattr(findings, "MAX_CANDIDATES", 20)
    scenario = make_scenario(rank_buckets=[RankBucket("half", top_percent=50), RankBucket("rest")])
    fill(scenario, 100)
    for number in range(100):
        scenario.twin.submit(f"q{number}", 500 - number)
    changes = scenario.settle()
    assert {f"p{number}" for number in range(50, 100)} <= {event.participant_id for event in changes}
    scenario.check()
    for number in range(100):
        scenario.twin.remove(f"q{number}")
    assert {event.participant_id for event in scenario.settle()} == {
        f"p{number}" for number in range(50, 100)
    }
    scenario.check()


def test_after_an_outage_everyone_is_notified_of_where_they_are(make_scenario: Any) -> None:
    """Half a minute long: counting goes on, and moves that lead back to the start are not published."""
    scenario = make_scenario()
    fill(scenario, 30)
    before = len(scenario.audience.received)
    scenario.down = True
    for second in range(12):
        scenario.twin.submit(f"p{20 + second % 5}", 2000 + second)
        if second == 3:
            scenario.twin.submit("p0", 9000)  # back to where it was
        scenario.count()
        scenario.now += 1_500
        scenario.run_pass()
        assert scenario.next_pass
        assert scenario.next_pass.after_seconds <= 5
    assert size(scenario.db, scenario.twin.board, ALL_TIME) == 30
    assert [one.participant_id for one in best(scenario.db, scenario.twin.board, ALL_TIME, 2)] == [
        "p0",
        "p21",
    ]
    scenario.down = False
    scenario.settle()
    changes = [event for event in scenario.audience.received[before:] if isinstance(event, RankChange)]
    assert len(changes) == len({event.participant_id for event in changes})
    assert "p0" not in {event.participant_id for event in changes}
    scenario.check()
    for event in changes:
        place = scenario.twin.oracle.place(event.participant_id)
        assert place
        assert (event.rank, event.bucket) == (place.rank, place.bucket)


def test_pending_changes_that_lead_back_come_to_nothing_however_many_wait(
    make_scenario: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a participant whom the pass looks at for another reason, before the turn of their event."""
    monkeypatch.setattr(findings, "MAX_CANDIDATES", 1)
    scenario = make_scenario(rank_buckets=[RankBucket("two", to=2), RankBucket("rest")])
    fill(scenario, 4)
    before = len(scenario.audience.received)
    scenario.down = True
    for participant in ("p3", "p2"):  # p0 and p1 are pushed out
        scenario.twin.submit(participant, 2000)
        scenario.count()
        for _ in range(4):
            scenario.run_pass()
    scenario.twin.submit("p1", 9000)
    scenario.count()
    scenario.run_pass()
    scenario.down = False
    scenario.settle()
    changes = [event for event in scenario.audience.received[before:] if isinstance(event, RankChange)]
    assert sorted(event.participant_id for event in changes) == ["p0", "p2", "p3"]
    scenario.check()


@pytest.mark.parametrize("id_bytes", [6, 36, 256])
def test_the_pending_list_always_fits_into_its_item(make_scenario: Any, db: Database, id_bytes: int) -> None:
    """In a long outage, with short ids or long, and with every outcome unknown."""
    twin = make_scenario().twin
    pending = Pending()
    while pending.room > 0:  # a pass that finds room
        found = min(1_000, pending.room)
        ids = (f"{at:0{id_bytes}}" for at in range(len(pending.since), len(pending.since) + found))
        since = {**pending.since, **dict.fromkeys(ids, START + 123_456_789)}
        pending = Pending(since, frozenset(since))
    assert len(pending.since) > 1_300
    write_pending(db, twin.board, twin.standings, pending)
    assert read_pending(db, twin.standings) == pending


def test_passes_exclude_one_another_and_a_dead_ones_claim_ends(make_scenario: Any) -> None:
    scenario = make_scenario()
    fill(scenario, 3)
    scenario.twin.submit("p2", 5000)
    scenario.count()

    def die(_: Sequence[Event]) -> Published:
        assert scenario.run_pass() == []  # another process, in the meantime
        assert scenario.next_pass
        raise ConnectionError

    scenario.now += 1_001
    with pytest.raises(ConnectionError):
        notifier.notify(scenario.db, scenario.twin.board, scenario.twin.standings, die)
    assert scenario.run_pass() == []
    scenario.now += notifier._LEASE
    scenario.settle()
    scenario.check()


def test_an_event_of_unknown_outcome_is_taken_back(make_scenario: Any) -> None:
    """A process that dies after publishing stores nothing; by what is stored no bucket has changed."""
    scenario = make_scenario()
    fill(scenario, 12)
    scenario.twin.submit("p11", 2000)
    scenario.count()

    def publish_and_die(events: Sequence[Event]) -> Published:
        scenario.audience.receive(events)
        raise ConnectionError

    scenario.now += 1_001
    with pytest.raises(ConnectionError):
        notifier.notify(scenario.db, scenario.twin.board, scenario.twin.standings, publish_and_die)
    assert scenario.audience.newest["p0"].bucket == "ten"
    scenario.twin.remove("p11")
    scenario.count()
    scenario.now += notifier._LEASE
    scenario.settle()
    assert summary(scenario.audience.newest["p0"])[:2] == ("ten", "one")
    scenario.check()


# The top


def test_the_top_is_published_when_it_shows_something_else(make_scenario: Any, db: Database) -> None:
    scenario = make_scenario()
    fill(scenario, 60)
    assert scenario.audience.top
    entries = [(rank, entry.participant_id) for rank, entry in scenario.audience.top.entries]
    assert entries == [(at + 1, f"p{at}") for at in range(25)]
    version = scenario.audience.top.version
    scenario.twin.submit("p59", 960)  # far below
    scenario.settle()
    assert scenario.audience.top.version == version
    update_entry(db, scenario.twin.board, "p3", display_name="Ann", now=NOW)
    assert scenario.count()
    assert [type(event).__name__ for event in scenario.run_pass()] == ["TopChange"]
    assert scenario.audience.top.entries[3][1].display_name == "Ann"
    scenario.twin.submit("p59", 998)
    scenario.settle()
    ranks = [rank for rank, _ in scenario.audience.top.entries]
    assert ranks[:5] == [1, 2, 3, 3, 5]


def test_all_items_of_some_standings_are_in_one_partition(make_scenario: Any, db: Database) -> None:
    """So that deleting a board finds them."""
    scenario = make_scenario()
    fill(scenario, 3)
    items = db.client.scan(TableName=db.tables.counters)["Items"]
    partition = live_partition(scenario.twin.standings)
    live = {item["node"]["S"] for item in items if item["standings"]["S"] == partition}
    assert live == {"announced", "outbox:p0", "outbox:p1", "outbox:p2"}
    assert {item["standings"]["S"] for item in items} == {scenario.twin.standings, partition}


def test_the_top_of_a_board_that_goes_quiet_is_read_again(
    make_scenario: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries leave the top while the index does not show one that belongs behind them."""
    scenario = make_scenario()
    fill(scenario, 60)
    plain = scenario.db
    client: Any = Hiding(plain.client, {"p27"})
    scenario.db = Database(client, plain.tables)
    for participant in ("p0", "p1", "p2"):
        scenario.twin.hide(participant)
    assert scenario.count()
    scenario.db = plain
    shown = [one.participant_id for one in best(plain, scenario.twin.board, ALL_TIME, 25)]
    assert "p27" not in shown
    scenario.settle()
    shown = [one.participant_id for one in best(plain, scenario.twin.board, ALL_TIME, 25)]
    assert shown == [f"p{number}" for number in range(3, 28)]
    assert [entry.participant_id for _, entry in scenario.audience.top.entries] == shown
    with metered() as meter:
        scenario.run_pass()
    assert scenario.next_pass is None
    assert meter.write_units == 0


def test_a_pass_waits_until_the_top_can_be_read_again(
    make_scenario: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = make_scenario()
    monkeypatch.setattr(top, "now_ms", lambda: scenario.now)
    fill(scenario, 60)
    for participant in ("p0", "p1", "p2"):
        scenario.twin.hide(participant)
    assert scenario.count()
    scenario.run_pass()
    assert 3 < scenario.next_pass.after_seconds <= 5
    scenario.run_pass()
    assert 2 < scenario.next_pass.after_seconds <= 4.1
