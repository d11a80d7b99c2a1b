"""Subscribers to rank changes, passes over their standings, and what each must have received in the end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from core.domain.model import Board
from core.domain.rank_key import participant_of, score_bytes
from core.notifications.events import Event, Published, RankChange, TopChange
from core.notifications.notifier import notify
from core.storage.database import Database
from tests.support.deliveries import Deliveries
from tests.support.interleaving import Killed, Process, World
from tests.support.oracle import Bucket, bucket_of


@dataclass
class Audience:
    """Subscribers of one board that drop, as the contract asks, any event no newer than the last one."""

    received: list[Event] = field(default_factory=list)
    newest: dict[str, RankChange] = field(default_factory=dict)
    doubled: list[RankChange] = field(default_factory=list)  # events that repeat the newest one
    top: TopChange | None = None

    def receive(self, events: Sequence[Event]) -> Published:
        """Take all events."""
        for event in events:
            self.received.append(event)
            if isinstance(event, TopChange):
                if self.top is None or event.version > self.top.version:
                    self.top = event
                continue
            last = self.newest.get(event.participant_id)
            if last is None or event.version > last.version:
                move = (last.previous_bucket, last.bucket) if last else None
                if move == (event.previous_bucket, event.bucket) and event.previous_bucket is not None:
                    self.doubled.append(event)  # not of a new entry: a participant may leave and come back
                self.newest[event.participant_id] = event
        return Published(events)

    def of(self, participant: str) -> list[RankChange]:
        """Return what one participant received."""
        return [
            event
            for event in self.received
            if isinstance(event, RankChange) and event.participant_id == participant
        ]


def places(board: Board, keys: Sequence[bytes]) -> dict[str, tuple[int, str]]:
    """Return each participant's rank and bucket, from the plain list of all rank keys."""
    size = score_bytes(board)
    scores = sorted(key[:size] for key in keys)
    buckets = [Bucket(one.name, one.to, one.top_percent) for one in board.rank_buckets]
    found = {}
    for key in keys:
        rank = scores.index(key[:size]) + 1
        found[participant_of(board, key)] = (rank, bucket_of(buckets, rank, len(keys))[0].name)
    return found


@dataclass
class PassRunner:
    """Runs the passes that are due over some standings, in processes that race, fail to publish and die."""

    world: World
    board: Board
    standings: str
    deliveries: Deliveries
    audience: Audience
    fails: Callable[[], bool] = lambda: False  # whether an event fails to be published now
    scheduled: list[tuple[int, int]] = field(default_factory=list)  # when, and the empty passes by then

    def take_due(self) -> tuple[int, int] | None:
        """Take a pass that is due now."""
        if self.standings in self.deliveries.due:
            self.deliveries.due.discard(self.standings)
            return 0, 0
        for scheduled in sorted(self.scheduled):
            if scheduled[0] <= self.world.now:
                self.scheduled.remove(scheduled)
                return scheduled
        return None

    def run(self, process: Process) -> None:
        """Run passes for ever."""
        while True:
            due = self.take_due()
            if due is None:
                process.sleep(0.3)
                continue
            try:
                self.run_pass(process.db, due[1], process)
            except Killed:
                self.scheduled.append((self.world.now + 2_000, 0))  # the queue delivers the message again
                process.restart()

    def run_pass(self, db: Database, empty_passes: int, process: Process | None = None) -> None:
        """Run one pass, and schedule the next."""

        def publish(events: Sequence[Event]) -> Published:
            if process is not None:
                process.stop()
                if process.fate == "before":
                    raise Killed
            lost = [event for event in events if self.fails()]
            published = self.audience.receive([event for event in events if event not in lost])
            if process is not None and process.fate == "after":
                raise Killed
            # Of some lost events it is only the answer that is lost.
            uncertain = [event for event in lost if self.world.random.random() < 0.5]
            self.audience.receive([event for event in uncertain if self.world.random.random() < 0.5])
            return Published(published.done, uncertain)

        following = notify(db, self.board, self.standings, publish, empty_passes=empty_passes)
        if following:
            at = self.world.now + int(following.after_seconds * 1000) + 1
            self.scheduled.append((at, following.empty_passes))

    def finish(self, db: Database) -> None:
        """Run all passes that are left, undisturbed."""
        for _ in range(400):
            due = self.take_due()
            if due is not None:
                self.run_pass(db, due[1])
            elif self.scheduled:
                self.world.now = min(at for at, _ in self.scheduled)
            else:
                return
        raise AssertionError("passes never end")


class LaggingIndex:
    """A client whose rank index does not show all entries that were written within the last seconds."""

    def __init__(self, client: Any, world: World, scores: str, milliseconds: int = 4_000) -> None:
        self._client, self._world, self._scores, self._lag = client, world, scores, milliseconds

    def __getattr__(self, name: str) -> Any:
        return self.query if name == "query" else getattr(self._client, name)

    def query(self, **arguments: Any) -> Any:
        answer = self._client.query(**arguments)
        if "IndexName" in arguments:
            answer["Items"] = [item for item in answer["Items"] if not self._hides(item)]
        return answer

    def _hides(self, item: Any) -> bool:
        if "participant" not in item or self._world.random.random() > 0.6:
            return False
        key = {"participant": item["participant"], "standings": item["standings"]}
        entry = self._client.get_item(TableName=self._scores, Key=key).get("Item", {})
        written = int(entry.get("written_at", {"N": "0"})["N"])
        return bool(written > self._world.now - self._lag)
