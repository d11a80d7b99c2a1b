"""Who is told of a new rank bucket, when, and of what; step by step against the oracle."""

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import pytest

from core import stream
from core.boards import Boards
from core.domain import rank_key
from core.domain.board import define_board
from core.domain.entry_item import entry_key
from core.domain.keys import live_partition, rank_shard, shard_of
from core.domain.model import CounterMode, RankBucket, TieBreak
from core.entries.edit import update_entry
from core.moderation.forget import erase_from_archives, forget_participant
from core.notifications import movers, notifier
from core.notifications.events import Event, Published, RankChange, RankChangeCause
from core.notifications.notifier import Again
from core.notifications.outbox import Pending, read_pending, write_pending
from core.ranking import top
from core.ranking.queries import size
from core.ranking.queries import top as best
from core.records.audit import AuditContext
from core.records.jobs import Job, pending_jobs
from core.storage.database import Database, batch_write, metered
from core.stream import process
from core.tree import shape
from tests.support.audience import Audience, places
from tests.support.deliveries import Records
from tests.support.growing import Grower
from tests.support.twin import ALL_TIME, NOW, Twin

OWN, OTHERS = RankChangeCause.OWN_SCORE, RankChangeCause.OTHERS
EDGES = [
    RankBucket("one", to=1),
    RankBucket("ten", to=10),
    RankBucket("half", top_percent=50),
    RankBucket("rest"),
]
START = 1_800_000_000_000


@dataclass
class Theatre:
    """A board, its oracle, a clock, and all that its audience hears."""

    db: Database
    boards: Boards
    twin: Twin
    records: Records
    audience: Audience = field(default_factory=Audience)
    now: int = START
    down: bool = False
    again: Again | None = None
    ticks: int = 0

    def deliver(self) -> bool:
        """Count what was written; says whether a tick is due."""
        records = self.records.new()
        due = process(self.db, self.boards, "shard", records).due if records else ()
        return self.twin.standings in due

    def tick(self, looks: int = 0) -> list[Event]:
        """Make one tick, a second later; give what it told."""
        self.now += 1_001
        self.ticks += 1
        before = len(self.audience.heard)
        self.again = notifier.notify(
            self.db, self.twin.board, self.twin.standings, self._publish, looks=looks
        )
        return self.audience.heard[before:]

    def play(self) -> list[RankChange]:
        """Count, and tick until nothing is left to do; give whose bucket changed, as they were told."""
        self.deliver()
        heard = self.tick()
        while self.again:
            self.now += int(self.again.after * 1000)
            heard += self.tick(self.again.looks)
        return [event for event in heard if isinstance(event, RankChange)]

    def check(self) -> None:
        """Everyone knows the bucket that they are in."""
        for participant in self.twin.oracle.entries:
            place = self.twin.oracle.place(participant)
            if place:
                assert self.audience.newest[participant].bucket == place.bucket, participant
        assert self.audience.doubled == []

    def _publish(self, events: Sequence[Event]) -> Published:
        return Published() if self.down else self.audience.hear(events)


@pytest.fixture
def stage(db: Database, boards: Boards, monkeypatch: pytest.MonkeyPatch) -> Any:
    records = Records(db)

    def make(**definition: Any) -> Theatre:
        definition.setdefault("rank_buckets", EDGES)
        theatre = Theatre(db, boards, Twin.make(db, boards, **definition), records)
        monkeypatch.setattr(notifier, "now_ms", lambda: theatre.now)
        return theatre

    return make


def said(event: RankChange) -> tuple[Any, ...]:
    return event.previous_bucket, event.bucket, event.previous_rank, event.rank, event.cause


def fill(theatre: Theatre, entries: int) -> None:
    """Let p0, the best, and so on submit 1000, 999 and so on."""
    for number in range(entries):
        theatre.twin.submit(f"p{number}", 1000 - number)
    theatre.play()
    theatre.check()


# Whom it concerns


def test_who_climbs_pushes_others_over_every_edge(stage: Any) -> None:
    theatre = stage()
    fill(theatre, 30)
    theatre.twin.submit("p29", 2000)
    told = {event.participant_id: said(event) for event in theatre.play()}
    assert told == {
        "p29": ("rest", "one", 30, 1, OWN),
        "p0": ("one", "ten", 1, 2, OTHERS),
        "p9": ("ten", "half", 10, 11, OTHERS),
        "p14": ("half", "rest", 15, 16, OTHERS),
    }
    theatre.check()


def test_who_leaves_lets_others_in(stage: Any) -> None:
    theatre = stage()
    fill(theatre, 30)
    theatre.twin.remove("p0")
    told = {event.participant_id: said(event) for event in theatre.play()}
    assert told == {"p1": ("ten", "one", 2, 1, OTHERS), "p10": ("half", "ten", 11, 10, OTHERS)} | {
        event.participant_id: said(event) for event in theatre.audience.of("p15")[1:]
    }
    theatre.check()


def test_a_new_entry_has_no_previous_bucket(stage: Any) -> None:
    theatre = stage()
    fill(theatre, 12)
    theatre.twin.submit("new", 995)
    [event] = [event for event in theatre.play() if event.participant_id == "new"]
    assert said(event) == (None, "ten", None, 6, OWN)


def test_a_share_grows_with_the_board(stage: Any) -> None:
    """Others who enter at the end of the board lift those in the middle into the better half."""
    theatre = stage(rank_buckets=[RankBucket("half", top_percent=50), RankBucket("rest")])
    fill(theatre, 10)
    theatre.twin.submit("last", 1)
    assert {event.participant_id: said(event) for event in theatre.play()} == {
        "last": (None, "rest", None, 11, OWN),
        "p5": ("rest", "half", 6, 6, OTHERS),
    }
    theatre.twin.remove("last")
    [event] = theatre.play()
    assert (event.participant_id, said(event)) == ("p5", ("half", "rest", 6, 6, OTHERS))
    theatre.check()


def test_ties_at_an_edge_share_the_better_bucket_until_they_break(stage: Any) -> None:
    """Three share rank 10. When one of them climbs, nobody crosses the edge, and yet the others are 11th."""
    theatre = stage(rank_buckets=[RankBucket("ten", to=10), RankBucket("rest")])
    for number in range(9):
        theatre.twin.submit(f"p{number}", 100 - number)
    for one in ("a", "b", "c"):
        theatre.twin.submit(one, 50)
    theatre.play()
    theatre.check()
    assert theatre.audience.newest["c"].bucket == "ten"
    theatre.twin.submit("a", 99)  # from the tie to rank 2: b and c are 11th
    told = {event.participant_id: said(event) for event in theatre.play()}
    assert told == {"b": ("ten", "rest", 10, 11, OTHERS), "c": ("ten", "rest", 10, 11, OTHERS)}
    theatre.check()


def test_where_no_bucket_changes_nothing_is_told_or_written(stage: Any) -> None:
    theatre = stage()
    fill(theatre, 40)
    for participant, score in [("p39", 965), ("p30", 972)]:
        theatre.twin.submit(participant, score)
        assert not theatre.deliver()
        with metered() as meter:
            assert theatre.tick() == []
        assert meter.write_units == 0
    theatre.twin.submit("p0", 5000)  # the leader climbs: the edge of the first place moves, past nobody
    theatre.deliver()
    assert [event for event in theatre.tick() if isinstance(event, RankChange)] == []
    theatre.check()


def test_who_leaves_is_told_nothing_and_comes_back_as_new(stage: Any) -> None:
    theatre = stage()
    fill(theatre, 4)
    for leave, come_back in [
        (theatre.twin.remove, lambda who: theatre.twin.submit(who, 1)),
        (theatre.twin.hide, theatre.twin.restore),
    ]:
        leave("p3")
        del theatre.audience.newest["p3"]
        assert "p3" not in {event.participant_id for event in theatre.play()}
        come_back("p3")
        [event] = [event for event in theatre.play() if event.participant_id == "p3"]
        assert said(event) == (None, "ten", None, 4, OWN)
        theatre.check()


def test_nothing_that_a_forgotten_participant_was_told_is_kept(
    stage: Any, db: Database, boards: Boards
) -> None:
    theatre = stage()
    fill(theatre, 12)

    def kept(participant: str) -> list[str]:
        return [
            item["node"]["S"]
            for item in db.client.query(
                TableName=db.tables.counters,
                KeyConditionExpression="standings = :live",
                ExpressionAttributeValues={":live": {"S": live_partition(theatre.twin.standings)}},
            )["Items"]
            if participant in repr(item)
        ]

    theatre.twin.submit("Zoe", 2000)
    theatre.play()
    assert kept("Zoe") == ["of:Zoe"]
    assert forget_participant(db, boards, "Zoe", AuditContext("ops", NOW)) == 1
    assert kept("Zoe") == []
    theatre.twin.oracle.remove("Zoe")
    theatre.play()
    [(_, name, job)] = pending_jobs(db, Job.FORGET)
    assert erase_from_archives(db, boards, name, job, 1e9)
    assert kept("Zoe") == []
    theatre.check()


def test_a_board_made_anew_and_changed_buckets_begin_in_silence(
    stage: Any, db: Database, boards: Boards
) -> None:
    theatre = stage(id="again")
    fill(theatre, 12)
    twin = theatre.twin
    twin.board = boards.update("again", 1, rank_buckets=[RankBucket("five", to=5), RankBucket("rest")])
    twin.submit("p11", 989)
    assert theatre.play() == []
    twin.submit("p11", 1500)
    assert {event.participant_id: said(event)[:2] for event in theatre.play()} == {
        "p11": ("rest", "five"),
        "p4": ("five", "rest"),
    }
    twin.submit("p10", 1600)
    db.client.delete_item(TableName=db.tables.boards, Key={"board": {"S": "again"}})
    boards.create(define_board(id="again", now=NOW))
    assert not theatre.deliver()


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
    stage: Any, monkeypatch: pytest.MonkeyPatch, mode: CounterMode, kept: int
) -> None:
    """Ties abound; with edges in the top, and behind it in the counter tree. Ranks are the oracle's too."""
    monkeypatch.setattr(top, "TOP_KEPT", kept)
    theatre = stage(counter_mode=mode, peak_writes_per_second=700, tie_break=TieBreak.LATEST)
    chance = random.Random(f"{mode} {kept}")
    people = [f"p{at}" for at in range(40)]
    for step in range(8):
        for _ in range(chance.choice([1, 1, 2, 5])):
            one = chance.choice(people)
            if chance.random() < 0.15:
                theatre.twin.remove(one)
                theatre.audience.newest.pop(one, None)
            else:
                theatre.twin.submit(one, chance.choice([1, 2, 3, 50, 51, 52, chance.randrange(400)]), at=step)
        for event in theatre.play():
            place = theatre.twin.oracle.place(event.participant_id)
            assert place
            assert (event.rank, event.bucket) == (place.rank, place.bucket)
            assert event.bucket != event.previous_bucket
        theatre.check()


def test_edges_deep_in_a_grown_tree(stage: Any, monkeypatch: pytest.MonkeyPatch, drain: Any) -> None:
    buckets = [RankBucket("hundred", to=100), RankBucket("most", top_percent=70), RankBucket("rest")]
    theatre = stage(rank_buckets=buckets)
    grower = Grower.make(monkeypatch, drain, grow_at=1000, inner=8)
    for number in range(160):
        theatre.twin.submit(f"p{number}", 600_000 + 7 * number)
    drain()
    for at in (shape, stream):
        monkeypatch.setattr(at, "GROW_AT", 12)
    assert grower.grow(theatre.twin) == 3
    theatre.records.new()  # they are counted
    theatre.play()
    theatre.twin.submit("p0", 10**6)
    told = {event.participant_id: said(event) for event in theatre.play()}
    assert told == {
        "p0": ("rest", "hundred", 160, 1, OWN),
        "p60": ("hundred", "most", 100, 101, OTHERS),
        "p48": ("most", "rest", 112, 113, OTHERS),
    }


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


def test_who_the_index_does_not_show_yet_is_found_by_a_second_look(
    stage: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(top, "TOP_KEPT", 3)
    theatre = stage(rank_buckets=[RankBucket("ten", to=10), RankBucket("rest")])
    fill(theatre, 30)
    hidden = {"p9"}
    client: Any = Hiding(theatre.db.client, hidden)
    theatre.db = Database(client, theatre.db.tables)
    theatre.twin.submit("p29", 2000)
    theatre.deliver()
    assert [event.participant_id for event in theatre.tick() if isinstance(event, RankChange)] == ["p29"]
    hidden.clear()
    [event] = theatre.play()
    assert (event.participant_id, said(event)) == ("p9", ("ten", "rest", 11, 11, OTHERS))
    theatre.check()


class Interrupted:
    """A client that lets something else happen just before a tick notes what it has told."""

    def __init__(self, client: Any, happen: Callable[[], object]) -> None:
        self._client, self._happen = client, happen

    def __getattr__(self, name: str) -> Any:
        return self.put_item if name == "put_item" else getattr(self._client, name)

    def put_item(self, **arguments: Any) -> Any:
        if arguments["Item"].get("leased_until") == {"N": "0"}:
            self._happen()
        return self._client.put_item(**arguments)


@pytest.mark.parametrize("kept", [3, top.TOP_KEPT])
def test_who_moves_back_while_being_told_is_told_that_too(
    stage: Any, monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    """By the old edges they were in all the time, so the consumer must know of the new ones."""
    monkeypatch.setattr(top, "TOP_KEPT", kept)
    theatre = stage(rank_buckets=[RankBucket("ten", to=10), RankBucket("rest")])
    for number in range(30):
        theatre.twin.submit(f"p{number}", 1000 - 10 * number)
    theatre.play()
    theatre.twin.submit("p29", 2000)
    theatre.deliver()
    plain, done = theatre.db, []

    def move_back() -> None:
        theatre.db = plain
        done.append(theatre.twin.submit("p9", 925))  # over p8, who is the tenth
        assert theatre.deliver()

    client: Any = Interrupted(plain.client, move_back)
    theatre.db = Database(client, plain.tables)
    theatre.tick()
    assert done == [True]
    assert theatre.audience.newest["p9"].bucket == "rest"
    theatre.play()
    assert theatre.audience.newest["p9"].bucket == "ten"
    theatre.check()


# Once, in order, and none lost


def test_report_15_a_batch_that_comes_again_in_other_pieces_is_told_once(stage: Any, db: Database) -> None:
    theatre = stage()
    fill(theatre, 12)
    for one in ("p11", "p10", "p9"):
        theatre.twin.submit(one, 2000)
    records = theatre.records.new()
    given = partial(process, db, theatre.boards, "shard")
    given(records[:1])
    theatre.tick()
    given(records)
    theatre.tick()
    told = len(theatre.audience.heard)
    for piece in (records, records[1:], records[:1], records[:2], records):
        given(piece)
        theatre.play()
    assert len(theatre.audience.heard) == told
    theatre.check()


def test_report_10_versions_grow(stage: Any) -> None:
    theatre = stage(rank_buckets=[RankBucket("one", to=1), RankBucket("rest")])
    for step in range(8):
        theatre.twin.submit("ab"[step % 2], step)
        theatre.play()
        theatre.now -= 20_000  # another process, whose clock is behind
    versions = [event.version for event in theatre.audience.of("a")]
    assert len(versions) >= 7
    assert versions == sorted(set(versions))


def test_at_most_one_event_a_second_and_none_lost(stage: Any) -> None:
    """All that happens within a second comes to one event, of where it ended."""
    theatre = stage(rank_buckets=[RankBucket("one", to=1), RankBucket("rest")])
    fill(theatre, 2)
    for score in (1001, 1002, 1003, 1004):
        theatre.twin.submit("p1" if score % 2 else "p0", score)
        theatre.deliver()
        theatre.now -= 1_001 - 100  # ticks that come after a tenth of a second
        theatre.tick()
    at = [event.at for event in theatre.audience.of("p1")]
    assert all((later - earlier).total_seconds() >= 1 for earlier, later in pairwise(at))
    theatre.play()
    theatre.check()


def test_a_burst_of_500_is_told_in_bounded_ticks(stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notifier, "_AT_ONCE", 200)
    monkeypatch.setattr(movers, "MOVERS_PER_ITEM", 50)
    theatre = stage()
    chance = random.Random(5)
    for _ in range(2):  # all enter, then all move
        keys = put_entries(theatre, {f"p{at}": chance.randrange(10**6) for at in range(500)})
        theatre.deliver()
        ticks = 0
        while ticks == 0 or theatre.again:
            with metered() as meter:
                told = theatre.tick()
            assert len(told) <= 3 * 250
            assert meter.write_units < 900
            theatre.now += int(theatre.again.after * 1000) if theatre.again else 0
            ticks += 1
        assert ticks > 2
        truth = places(theatre.twin.board, keys)
        heard = theatre.audience.newest
        assert {one: heard[one].bucket for one in truth} == {
            one: bucket for one, (_, bucket) in truth.items()
        }
    assert theatre.audience.doubled == []


def test_an_edge_that_moves_far_is_followed_tick_by_tick(stage: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """By more entries than one tick looks at, out and back in, where nobody's own score moves."""
    monkeypatch.setattr(notifier, "_AT_ONCE", 20)
    theatre = stage(rank_buckets=[RankBucket("half", top_percent=50), RankBucket("rest")])
    fill(theatre, 100)
    for number in range(100):
        theatre.twin.submit(f"q{number}", 500 - number)
    told = theatre.play()
    assert {f"p{number}" for number in range(50, 100)} <= {event.participant_id for event in told}
    theatre.check()
    for number in range(100):
        theatre.twin.remove(f"q{number}")
    assert {event.participant_id for event in theatre.play()} == {f"p{number}" for number in range(50, 100)}
    theatre.check()


def put_entries(theatre: Theatre, scores: dict[str, int]) -> list[bytes]:
    """Write entries as an import by other tools does; give their rank keys."""
    board, standings = theatre.twin.board, theatre.twin.standings
    keys = {one: rank_key.encode(board, [score], NOW, one) for one, score in scores.items()}
    puts: list[Any] = [
        {
            "PutRequest": {
                "Item": {
                    **entry_key(board, ALL_TIME, one),
                    "rank_key": {"B": key},
                    "rank_shard": {"S": rank_shard(standings, shard_of(board, one))},
                    "achieved_at": {"N": "1"},
                    "written_at": {"N": str(time.time_ns() // 1_000_000)},
                    "submissions": {"N": "1"},
                    "version": {"N": "1"},
                }
            }
        }
        for one, key in keys.items()
    ]
    batch_write(theatre.db, theatre.db.tables.scores, puts)
    return list(keys.values())


def test_after_an_outage_everyone_hears_where_they_are(stage: Any) -> None:
    """Half a minute of it: counting goes on, and what went and came back is nobody's news."""
    theatre = stage()
    fill(theatre, 30)
    before = len(theatre.audience.heard)
    theatre.down = True
    for second in range(12):
        theatre.twin.submit(f"p{20 + second % 5}", 2000 + second)
        if second == 3:
            theatre.twin.submit("p0", 9000)  # back to where it was
        theatre.deliver()
        theatre.now += 1_500
        theatre.tick()
        assert theatre.again
        assert theatre.again.after <= 5
    assert size(theatre.db, theatre.twin.board, ALL_TIME) == 30
    assert [one.participant_id for one in best(theatre.db, theatre.twin.board, ALL_TIME, 2)] == ["p0", "p21"]
    theatre.down = False
    theatre.play()
    heard = [event for event in theatre.audience.heard[before:] if isinstance(event, RankChange)]
    assert len(heard) == len({event.participant_id for event in heard})
    assert "p0" not in {event.participant_id for event in heard}
    theatre.check()
    for event in heard:
        place = theatre.twin.oracle.place(event.participant_id)
        assert place
        assert (event.rank, event.bucket) == (place.rank, place.bucket)


@pytest.mark.parametrize("id_bytes", [6, 36, 256])
def test_however_many_wait_the_list_of_them_fits_into_its_item(
    stage: Any, db: Database, id_bytes: int
) -> None:
    """Through a long outage, with short ids or long, and if it is unsure of all whether they were told."""
    twin = stage().twin
    waiting = Pending()
    while waiting.room > 0:  # a tick that finds room
        found = min(1_000, waiting.room)
        ids = (f"{at:0{id_bytes}}" for at in range(len(waiting.since), len(waiting.since) + found))
        since = {**waiting.since, **dict.fromkeys(ids, START + 123_456_789)}
        waiting = Pending(since, frozenset(since))
    assert len(waiting.since) > 1_300
    write_pending(db, twin.board, twin.standings, waiting)
    assert read_pending(db, twin.standings) == waiting


def test_one_tick_at_a_time_and_a_dead_ones_order_is_taken_over(stage: Any) -> None:
    theatre = stage()
    fill(theatre, 3)
    theatre.twin.submit("p2", 5000)
    theatre.deliver()

    def die(_: Sequence[Event]) -> Published:
        assert theatre.tick() == []  # another process, in the meantime
        assert theatre.again
        raise ConnectionError

    theatre.now += 1_001
    with pytest.raises(ConnectionError):
        notifier.notify(theatre.db, theatre.twin.board, theatre.twin.standings, die)
    assert theatre.tick() == []
    theatre.now += notifier._LEASE
    theatre.play()
    theatre.check()


def test_who_may_have_been_told_hears_of_moving_back(stage: Any) -> None:
    """A process that dies after publishing has noted nothing; by what is noted nothing has changed."""
    theatre = stage()
    fill(theatre, 12)
    theatre.twin.submit("p11", 2000)
    theatre.deliver()

    def publish_and_die(events: Sequence[Event]) -> Published:
        theatre.audience.hear(events)
        raise ConnectionError

    theatre.now += 1_001
    with pytest.raises(ConnectionError):
        notifier.notify(theatre.db, theatre.twin.board, theatre.twin.standings, publish_and_die)
    assert theatre.audience.newest["p0"].bucket == "ten"
    theatre.twin.remove("p11")
    theatre.deliver()
    theatre.now += notifier._LEASE
    theatre.play()
    assert said(theatre.audience.newest["p0"])[:2] == ("ten", "one")
    theatre.check()


# The top


def test_the_top_is_told_when_it_shows_something_else(stage: Any, db: Database) -> None:
    theatre = stage()
    fill(theatre, 60)
    assert theatre.audience.top
    entries = [(rank, entry.participant_id) for rank, entry in theatre.audience.top.entries]
    assert entries == [(at + 1, f"p{at}") for at in range(25)]
    version = theatre.audience.top.version
    theatre.twin.submit("p59", 960)  # far below
    theatre.play()
    assert theatre.audience.top.version == version
    update_entry(db, theatre.twin.board, "p3", display_name="Ann", now=NOW)
    assert theatre.deliver()
    assert [type(event).__name__ for event in theatre.tick()] == ["TopChange"]
    assert theatre.audience.top.entries[3][1].display_name == "Ann"
    theatre.twin.submit("p59", 998)
    theatre.play()
    ranks = [rank for rank, _ in theatre.audience.top.entries]
    assert ranks[:5] == [1, 2, 3, 3, 5]


def test_everything_of_an_order_is_in_one_partition(stage: Any, db: Database) -> None:
    """So that whoever deletes a board finds it."""
    theatre = stage()
    fill(theatre, 3)
    items = db.client.scan(TableName=db.tables.counters)["Items"]
    partition = live_partition(theatre.twin.standings)
    live = {item["node"]["S"] for item in items if item["standings"]["S"] == partition}
    assert live == {"told", "of:p0", "of:p1", "of:p2"}
    assert {item["standings"]["S"] for item in items} == {theatre.twin.standings, partition}
